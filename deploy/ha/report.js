// What a fault did to the clients of the service, beside the goals.
const { setTimeout: delay } = require('node:timers/promises');
const { LEASE_SECONDS } = require('./instances');

/** Seconds that the service may add to a failover. */
const CHECKS_ADD = 2;
const WRITES_ADD = 3;
/** Time for mails, the feed and the bulk change after the load has stopped. */
const SETTLE_MS = { synchronous: 90_000, asynchronous: 20_000 };
/** Time until another instance continues the jobs of one that was killed, and the job itself. */
const JOBS_WITHIN_SECONDS = 65;

const CHANGES = `
  select event_id, event_type in ('user.created', 'session.ended') as has_webhook
  from events
  where target_type in ('user', 'session', 'role', 'key') and occurred_at >= $1`;

/** Returns the longest time without a success after a time, in seconds. */
function longestGap(times, from, to) {
  const sorted = times.toSorted((one, other) => one - other);
  const before = sorted.filter((time) => time < from).at(-1) ?? from;
  const moments = [before, ...sorted.filter((time) => time >= from), to];
  return Math.max(...moments.slice(1).map((time, index) => time - moments[index])) / 1_000;
}

/** Waits until a time or until a function returns an empty list, and returns its last result. */
async function untilNone(end, missing) {
  for (;;) {
    const left = await missing();
    if (left.length === 0 || Date.now() > end) return left;
    await delay(500);
  }
}

/** Returns the ids of acknowledged writes that the database lacks. */
async function lostWrites(cluster, load) {
  const lost = async (writes, query) => {
    const ids = writes.map(({ id }) => id);
    const rows = await cluster.rows(query, [ids]);
    const found = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !found.has(id));
  };
  const sessions = 'select session_id as id from sessions where session_id = any($1::uuid[])';
  const users = 'select user_id as id from users where user_id = any($1::uuid[])';
  return [
    await lost(load.created, users),
    await lost(load.ended, `${sessions} and ended_at is not null`),
    await lost(load.loggedIn, sessions),
    await lost(load.disabledUsers, `${users} and status = 'disabled'`),
  ].flat();
}

/** Returns how the bulk change ended. */
async function bulkResult(cluster, load, expected, end) {
  const query = `
    select
      (select status from operations where operation_id = $1) as status,
      (select extract(epoch from finished_at - created_at)::float from operations where operation_id = $1) as seconds,
      (select count(*)::integer from users where carrier_id = 'bulk' and attributes ->> 'drill' = $2) as users,
      (select count(*)::integer from events where operation_id = $1 and event_type = 'user.changed') as events`;
  const read = async () => (await cluster.rows(query, [load.operation, load.name]))[0];
  await untilNone(end, async () => (['done', 'failed', 'cancelled'].includes((await read()).status) ? [] : [1]));
  const { status, seconds, users, events } = await read();
  return { isOnce: status === 'done' && users === expected && events === expected, status, seconds, users, events };
}

/** Collects the figures of a fault, after the load has stopped. */
async function collect({ cluster, instances, sinks, feed, load, probe, faultAt, endedAt, fault, name }) {
  const end = Date.now() + SETTLE_MS[fault.isAsynchronous ? 'asynchronous' : 'synchronous'];
  const bulk = await bulkResult(cluster, load, instances.bulkUsers, end);
  const { mails } = sinks.mails;
  const unmailed = await untilNone(end, async () => load.created.filter(({ email }) => !mails.has(email)));
  const changes = await cluster.rows(CHANGES, [new Date(load.startedAt)]);
  const missedBy = (received, ids) => untilNone(end, async () => ids.filter((id) => !received.has(id)));
  const ids = changes.map(({ event_id }) => event_id);
  const hooked = changes.filter(({ has_webhook }) => has_webhook).map(({ event_id }) => event_id);
  const times = (received, wanted) => wanted.reduce((sum, id) => sum + Math.max(0, (received.get(id) ?? 0) - 1), 0);
  const gap = (...kinds) => Math.max(...kinds.map((kind) => longestGap(load.successes[kind] ?? [], faultAt, endedAt)));
  const delays = load.created.flatMap(({ email, end }) => (mails.get(email) ?? []).slice(0, 1).map((at) => at - end));
  const watched = name === 'kill-instance' ? ['checks 1'] : ['checks 1', 'checks 2'];
  const ready = name === 'kill-instance' ? ['ready 1'] : ['ready 1', 'ready 2'];
  return {
    title: fault.title,
    atNodes: longestGap(probe.nodes, faultAt, endedAt),
    failover: longestGap(cluster.variant === 'hosts' ? probe.nodes : probe.balanced, faultAt, endedAt),
    checks: gap(...watched),
    logins: gap('logins'),
    writes: gap('creates'),
    ready: gap(...ready),
    acknowledged: load.created.length + load.ended.length + load.loggedIn.length + load.disabledUsers.length,
    lost: await lostWrites(cluster, load),
    revoked: load.ended.length + load.disabledUsers.length,
    stale: load.stale,
    staleMs: Math.max(0, ...load.stale.map(({ ms }) => ms)),
    bulk,
    mails: load.created.length,
    unmailed: unmailed.length,
    twice: load.created.filter(({ email }) => (mails.get(email) ?? []).length > 1).length,
    mailSeconds: Math.max(0, ...delays) / 1_000,
    feedMissed: (await missedBy(feed.received, ids)).length,
    feedTwice: times(feed.received, ids),
    changes: ids.length,
    hooksMissed: (await missedBy(sinks.webhooks.received, hooked)).length,
    hooksAgain: times(sinks.webhooks.received, hooked),
    hooks: hooked.length,
    unexpected: load.unexpected,
    unavailable: load.unavailable,
    unanswered: load.unanswered,
    connections: probe.connections,
  };
}

/**
 * Returns the goals that a fault missed. Asynchronous replication has none.
 * @param isTimed whether times have goals: not if other tests use the machine
 */
function missedGoals(result, { isAsynchronous }, isTimed) {
  if (isAsynchronous) return [];
  const errors = result.unexpected.filter(({ status }) => status >= 500);
  const failover = Math.max(result.failover, result.atNodes);
  const times = {
    [`gap of checks ${result.checks.toFixed(1)} s`]: result.checks <= failover + CHECKS_ADD,
    [`gap of logins ${result.logins.toFixed(1)} s`]: result.logins <= failover + WRITES_ADD,
    [`gap of writes ${result.writes.toFixed(1)} s`]: result.writes <= failover + WRITES_ADD,
    [`a mail waited ${result.mailSeconds.toFixed(0)} s`]: result.mailSeconds <= failover + JOBS_WITHIN_SECONDS,
  };
  const goals = {
    ...(isTimed ? times : {}),
    [`${result.lost.length} writes lost`]: result.lost.length === 0,
    [`a session accepted ${result.staleMs} ms after its end`]: result.staleMs <= LEASE_SECONDS * 1_000,
    [`${errors.length} responses with 5xx: ${JSON.stringify(errors[0])}`]: errors.length === 0,
    [`bulk change not once: ${JSON.stringify(result.bulk)}`]: result.bulk.isOnce,
    [`${result.unmailed} mails missing, ${result.twice} sent twice`]: result.unmailed + result.twice === 0,
    [`feed: ${result.feedMissed} missed, ${result.feedTwice} twice`]: result.feedMissed + result.feedTwice === 0,
    [`webhook: ${result.hooksMissed} missed`]: result.hooksMissed === 0,
  };
  return Object.keys(goals).filter((goal) => !goals[goal]);
}

const seconds = (value) => value.toFixed(1);

/** Columns of the table. */
const COLUMNS = {
  fault: ({ title }) => title,
  'failover, s': ({ failover, atNodes }) =>
    seconds(failover) === seconds(atNodes) ? seconds(failover) : `${seconds(failover)} (nodes ${seconds(atNodes)})`,
  'checks, s': ({ checks }) => seconds(checks),
  'logins, s': ({ logins }) => seconds(logins),
  'writes, s': ({ writes }) => seconds(writes),
  'not ready, s': ({ ready }) => seconds(ready),
  'writes lost': ({ lost, acknowledged }) => `${lost.length} of ${acknowledged}`,
  'accepted after the end': ({ stale, staleMs, revoked }) => `${stale.length}, ≤ ${staleMs} ms (${revoked} ended)`,
  bulk: ({ bulk }) =>
    bulk.isOnce ? `once, ${seconds(bulk.seconds)} s` : `**${bulk.status}** ${bulk.users}/${bulk.events}`,
  'mails missing, twice': ({ unmailed, twice, mails, mailSeconds }) =>
    `${unmailed}, ${twice} of ${mails}; ≤ ${seconds(mailSeconds)} s`,
  'feed missed, twice': ({ feedMissed, feedTwice, changes }) => `${feedMissed}, ${feedTwice} of ${changes}`,
  'webhook missed, again': ({ hooksMissed, hooksAgain, hooks }) => `${hooksMissed}, ${hooksAgain} of ${hooks}`,
  '503 / other 5xx / none': ({ unavailable, unexpected, unanswered }) =>
    `${unavailable} / ${unexpected.filter(({ status }) => status >= 500).length} / ${unanswered}`,
  connections: ({ connections }) => String(connections),
};

/** Returns the results as a Markdown table. */
function table(results) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  const titles = Object.keys(COLUMNS);
  const lines = results.map((result) => row(titles.map((title) => COLUMNS[title](result))));
  return [row(titles), row(titles.map(() => '---')), ...lines].join('\n');
}

module.exports = { collect, missedGoals, table };
