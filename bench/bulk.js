// The bulk change of `bench:users`: preview, change and undo of all users beside bare SQL with
// events, and the latency of other requests meanwhile.
const { randomUUID } = require('node:crypto');
const { checkRequest, keepSending, Logins } = require('./callers');
const { choose, settle } = require('./fill');
const { startHelper } = require('./processes');
const { figure, quantile, target } = require('./report');
const { chosen, tell } = require('./stage');

const BULK_TARGET = target.ratioAtMost(1.5);
const OTHERS_P99_MS = 100;
/** Requests per second of each stream of bystanders. */
const OTHERS_RATE = 10;
const PATH = '/user/all?everyone=true';
const SENT = { body: JSON.stringify({ attributes: { wave: 1 } }) };
const VALUE = `attributes || '{"wave": 1}'`;
/** Records one event per row of `changed`. */
const RECORD = `
  insert into events (
    event_type, actor_id, actor_type, target_type, target_id, carrier_id, operation_id, request_id,
    changes, target_version
  )
  select 'user.updated', $2, 'user', 'user', user_id, carrier_id, $1, 'bare',
    jsonb_build_object('attributes', jsonb_build_object('before', before, 'after', after)), version
  from changed`;
const CHANGE = `
  with changed as (
    update users set attributes = ${VALUE}, updated_at = now(), version = version + 1
    where deleted_at is null and attributes is distinct from ${VALUE}
    returning user_id, carrier_id, version, old.attributes as before, new.attributes as after
  ) ${RECORD}`;
const UNDO = `
  with changed as (
    update users
    set attributes = before.changes -> 'attributes' -> 'before', updated_at = now(), version = users.version + 1
    from events before
    where before.operation_id = $3
      and before.target_id = users.user_id
      and before.target_version = users.version
    returning users.user_id, users.carrier_id, users.version, old.attributes as before, new.attributes as after
  ) ${RECORD}`;

/** Returns the result of work and its duration. */
async function timed(work) {
  const start = performance.now();
  const result = await work();
  return { result, ms: performance.now() - start };
}

async function measureInSql({ client, actor_id, watch }) {
  const operation_id = randomUUID();
  const [changed, others] = await watch(() => timed(() => client.query(CHANGE, [operation_id, actor_id])));
  await settle(client);
  const undone = await timed(() => client.query(UNDO, [randomUUID(), actor_id, operation_id]));
  return { change: changed.ms, undo: undone.ms, others };
}

async function measureOurs({ client, caller, watch }) {
  const preview = await timed(() => caller.request('PATCH', `${PATH}&dry_run=true`, SENT));
  const [changed, others] = await watch(() => caller.carryOut('PATCH', PATH, SENT));
  await settle(client);
  const undone = await caller.carryOut('POST', `/user/operation/${changed.operation.operation_id}/undo`);
  return { preview: preview.ms, change: changed.ms, undo: undone.ms, others };
}

/** @returns measures for the table; `caller` is a System User's `Operations` */
async function measureBulk({ database: { client }, service, pinned }, caller, { rounds, only }) {
  if (chosen([{ name: 'bulk' }], only).length === 0) return [];
  const [{ user_id: actor_id }] = await choose(client, `roles @> '{administrator}'`, 1);
  const generator = startHelper('paced-load.js', pinned);
  const watch = watchOthers(generator, service.url, await requestsOfOthers(client, service.url, caller));
  const bench = { client, caller, actor_id, watch };
  const [ours, bare] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    // Alternates the order: the second run reuses the free space of the first.
    for (const first of [round % 2 === 1, round % 2 === 0]) {
      await reset(client);
      if (first) ours.push(await measureOurs(bench));
      else bare.push(await measureInSql(bench));
    }
    tell(`bulk, round ${round} of ${rounds}: ${Math.round(ours.at(-1).change)} ms`);
  }
  const of = (samples, field) => samples.map((sample) => sample[field]);
  const p99 = (samples, kind) => samples.map(({ others }) => quantile(others[kind], 0.99));
  return [
    figure('bulk: change of all users', 'ms', of(ours, 'change'), BULK_TARGET, of(bare, 'change')),
    figure('bulk: undo', 'ms', of(ours, 'undo'), BULK_TARGET, of(bare, 'undo')),
    // A preview must be faster than the change itself.
    figure('bulk: preview, beside the change', 'ms', of(ours, 'preview'), target.ratioAtMost(1), of(ours, 'change')),
    ...Object.keys(ours[0].others).map((kind) =>
      figure(`meanwhile ${kind}, p99`, 'ms', p99(ours, kind), target.atMost(OTHERS_P99_MS, 'ms'), p99(bare, kind)),
    ),
  ];
}

/** Runs work while bystanders send requests. Returns their latencies by name. */
function watchOthers(generator, url, others) {
  return async (work) => {
    const stop = keepSending(generator, url, () => others, 1);
    const result = await work();
    const sent = await stop();
    if (sent.some(({ failed }) => failed > 0)) throw new Error('a request of a bystander failed');
    return [result, Object.fromEntries(others.map(({ name }, index) => [name, sent[index].latencies]))];
  };
}

/** Returns four streams: one user, a token check, the newest users, one carrier's users. */
async function requestsOfOthers(client, service, { headers }) {
  const people = await choose(client, `status = 'active' and user_type = 'carrier'`, 16);
  const opened = await new Logins(service, people).openMany(16);
  const ids = (await choose(client, 'true', 500)).map(({ user_id }) => user_id);
  const get = (path) => ({ method: 'GET', path, headers });
  const streams = {
    'GET /user/{user_id}': ids.map((user_id) => get(`/user/${user_id}`)),
    'check-token': opened.map(({ access_token }) => checkRequest(access_token)),
    'list, newest': [get('/user/list')],
    'list, carrier_id': [get('/user/list?carrier_id=carrier-7')],
  };
  return Object.entries(streams).map(([name, requests]) => ({ name, requests, rate: OTHERS_RATE }));
}

/** Resets the database to an empty log and no dead rows. */
async function reset(client) {
  // Triggers of each partition keep the log append-only, so the owner of the table disables them.
  const { rows } = await client.query(`select relid::regclass as name from pg_partition_tree('events')`);
  for (const { name } of rows) await client.query(`alter table ${name} disable trigger user`);
  await client.query('truncate events');
  for (const { name } of rows) await client.query(`alter table ${name} enable trigger user`);
  await settle(client);
}

module.exports = { measureBulk };
