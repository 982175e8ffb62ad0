// Measures the preview, the change and the undo of bulk changes against bare SQL, and the latency
// of other requests while all users are being changed.
const path = require('node:path');
const { changeBare, CHANGES, LIVE_SESSIONS, TENTH, undoBare } = require('./bulk-changes');
const { addSessions, choose } = require('./fill');
const { Logins } = require('./logins');
const { ask, startNode } = require('./processes');
const { count, quantile, target } = require('./report');
const { chosen, tell } = require('./stage');

const BULK_TARGET = target.ratioAtMost(1.5);
const OTHERS_P99_MS = 100;

/** @returns measures for the table; `caller` is a System User's `Operations` */
async function measureBulk({ database: { client }, service, pinned }, caller, { rounds, only }) {
  const changes = chosen(CHANGES, only);
  if (changes.length === 0) return [];
  const bystanders = startNode([path.join(__dirname, 'bystanders.js')], { measured: false, pinned, ipc: true });
  const others = await requestsOfOthers(client, service.url, caller);
  const [{ user_id: actor_id }] = await choose(client, `roles @> '{administrator}'`, 1);
  await addSessions(client, LIVE_SESSIONS, TENTH.where);
  const measures = [];
  for (const change of changes) {
    const { rows } = await client.query(
      `select count(*) from users where deleted_at is null and ${change.found.where}`,
    );
    const bench = { client, caller, change, actor_id, watch: watchOthers(bystanders, others) };
    const [ours, bare] = [[], []];
    for (let round = 1; round <= rounds; round++) {
      // Alternates the order: the second run reuses the free space of the first.
      for (const first of [round % 2 === 1, round % 2 === 0]) {
        await reset(client);
        if (first) ours.push(await changeOurs(bench));
        else bare.push(await changeInSql(bench));
      }
      const seconds = ({ change, undo }) => `${(change / 1000).toFixed(1)} s, undo ${(undo / 1000).toFixed(1)} s`;
      tell(`${change.name}, round ${round} of ${rounds}: ${seconds(ours.at(-1))}; bare ${seconds(bare.at(-1))}`);
    }
    measures.push(...toMeasures(change, Number(rows[0].count), ours, bare));
  }
  return measures;
}

function toMeasures({ name, found }, users, ours, bare) {
  const of = (samples, field) => samples.map((sample) => sample[field]);
  const measure = (what, field, demand) => ({
    name: what,
    unit: 'ms',
    ours: of(ours, field),
    bare: of(bare, field),
    demand,
  });
  const measures = [
    measure(`${name}: ${count(users)} users`, 'change', BULK_TARGET),
    measure(`${name}: undo`, 'undo', BULK_TARGET),
    // A preview must be faster than the change itself.
    { ...measure(`${name}: preview, beside the change`, 'preview', target.ratioAtMost(1)), bare: of(ours, 'change') },
  ];
  if (found.where !== 'true') return measures;
  const kinds = Object.keys(ours[0].others);
  const p99 = (kind) => ({
    name: `meanwhile ${kind}, p99`,
    unit: 'ms',
    ours: ours.map(({ others }) => quantile(others[kind], 0.99)),
    bare: bare.map(({ others }) => quantile(others[kind], 0.99)),
    demand: target.atMost(OTHERS_P99_MS, 'ms'),
  });
  const p50 = (kind) => ({
    name: `meanwhile ${kind}, p50`,
    unit: 'ms',
    ours: ours.map(({ others }) => quantile(others[kind], 0.5)),
    bare: bare.map(({ others }) => quantile(others[kind], 0.5)),
    demand: target.none,
  });
  return [...measures, ...kinds.flatMap((kind) => [p50(kind), p99(kind)])];
}

async function changeOurs({ client, caller, change: { found, body }, watch }) {
  const method = body === null ? 'DELETE' : 'PATCH';
  const sent = body === null ? {} : { body: JSON.stringify(body) };
  const start = performance.now();
  await caller.request(method, `/user/all?${found.query}&dry_run=true`, sent);
  const preview = performance.now() - start;
  const [changed, others] = await watch(() => caller.carryOut(method, `/user/all?${found.query}`, sent));
  await settle(client);
  const undone = await caller.carryOut('POST', `/user/operation/${changed.operation.operation_id}/undo`);
  return { preview, change: changed.ms, undo: undone.ms, others };
}

async function changeInSql({ client, change, actor_id, watch }) {
  const timed = async (work) => {
    const start = performance.now();
    const result = await work();
    return { result, ms: performance.now() - start };
  };
  const [changed, others] = await watch(() => timed(() => changeBare(client, change, actor_id)));
  await settle(client);
  const undone = await timed(() => undoBare(client, change, actor_id, changed.result));
  return { change: changed.ms, undo: undone.ms, others };
}

/** Runs work while the bystanders send requests. Returns their latencies by name. */
function watchOthers(bystanders, connections) {
  return async (work) => {
    await ask(bystanders, 'start', connections);
    const result = await work();
    const done = await ask(bystanders, 'stop');
    return [result, Object.fromEntries(done.map(({ name, latencies }) => [name, latencies]))];
  };
}

/** Four connections: one user, a token check, the newest users, one carrier's users. */
async function requestsOfOthers(client, service, caller) {
  const logins = new Logins(
    service,
    await choose(client, `status = 'active' and user_type = 'carrier' and not ${TENTH.where}`, 16),
  );
  const tokens = (await logins.openMany(16)).map(({ access_token }) => access_token);
  const ids = (await choose(client, `not ${TENTH.where}`, 500)).map(({ user_id }) => user_id);
  const get = (way) => ({ url: `${service}${way}`, method: 'GET', headers: caller.headers });
  const check = (token) => ({
    url: `${service}/auth/check-token`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return [
    { name: 'GET /user/{user_id}', requests: ids.map((user_id) => get(`/user/${user_id}`)) },
    { name: 'check-token', requests: tokens.map(check) },
    { name: 'list, newest', requests: [get('/user/list')] },
    { name: 'list, carrier_id', requests: [get('/user/list?carrier_id=carrier-7')] },
  ];
}

/** Resets the database to an empty log, live sessions and no dead rows. */
async function reset(client) {
  // The trigger keeps the log append-only, so the owner of the table disables it.
  await client.query('alter table events disable trigger events_no_truncate');
  await client.query('truncate events');
  await client.query('alter table events enable trigger events_no_truncate');
  await client.query(
    `update sessions
     set ended_at = null, ended_reason = null, ended_by = null
     where ended_reason in ('user_disabled', 'user_deleted')`,
  );
  await settle(client);
}

/** Does the maintenance that the database would otherwise start during the next measurement. */
async function settle(client) {
  await client.query('vacuum analyze');
  await client.query('checkpoint').catch(() => undefined);
}

module.exports = { measureBulk, settle };
