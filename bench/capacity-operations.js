// The operations that `npm run bench:capacity` measures.
const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { checkRequest, loginRequest } = require('./callers');
const { ask, startHelper } = require('./processes');
const { count } = require('./report');

const WEBHOOKS = 10;
/** Autovacuum begins after changes of 2 % of the sessions and 1,000 more. */
const TOUCHED = 2_200;

const NEW_SESSIONS = `
  select uuid_v7() as session_id, user_id, user_type, carrier_id, name, roles
  from users
  where user_type = 'carrier' and status = 'active' and deleted_at is null
  order by md5(name)
  limit $1`;
const SESSIONS = `
  insert into sessions (session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, last_seen_at,
    expires_at, absolute_expires_at, ip, user_agent)
  select made.session_id, user_id, user_type, carrier_id, decode(hash, 'hex'), now(), now() + $3::interval,
    now() + interval '2 days', now() + interval '30 days', '192.0.2.0'::inet + number % 250,
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/' || number % 20 || '.0.0.0'
  from unnest($1::uuid[], $2::text[], $4::uuid[]) with ordinality made (session_id, hash, owner, number)
  join users on user_id = owner`;
const EVENTS = `
  insert into events (event_type, actor_id, actor_type, target_type, target_id, carrier_id, ip, request_id, changes)
  select $2, user_id, 'user', $3, user_id, carrier_id, '192.0.2.1', md5(name), $4
  from users where user_type = 'carrier' order by md5(name) limit $1`;
/** Changes sessions as refreshes and notes do. */
const TOUCH = `
  update sessions
  set last_seen_at = last_seen_at + interval '1 second'
  where session_id in (select session_id from sessions order by md5(session_id::text || now()) limit $1)`;
const LOCALE = '{"locale": {"before": null, "after": "de"}}';

/** Opens sessions with signed tokens for the rounds of each operation. Returns their tokens. */
async function openSessions({ environment, database: { client }, pinned }, amounts, rounds) {
  const wanted = Object.values(amounts).reduce((sum, amount) => sum + amount, 0) * rounds;
  const { rows: sessions } = await client.query(NEW_SESSIONS, [wanted]);
  if (sessions.length < wanted) throw new Error(`--users is too small for ${count(wanted)} sessions`);
  const signer = startHelper('signer.js', pinned);
  const signed = await ask(signer, 'sign', { environment, sessions });
  signer.disconnect();
  const pools = {};
  for (const [name, amount] of Object.entries(amounts)) {
    const own = sessions.splice(0, amount * rounds);
    pools[name] = signed.splice(0, amount * rounds);
    // Activity in the future is never noted. The first check notes that of ten minutes ago.
    const seen = name === 'notes' ? '-10 minutes' : '1 hour';
    const columns = [own.map(({ session_id }) => session_id), pools[name].map(({ hash }) => hash)];
    await client.query(SESSIONS, [...columns, seen, own.map(({ user_id }) => user_id)]);
  }
  const take = (name) => pools[name].splice(0, amounts[name]);
  return { take, memory: pools.checks.slice(0, 128) };
}

/** Waits until no job is due: the mails of an operation are part of its cost. */
async function drained(client) {
  const due = 'select from graphile_worker.jobs where run_at <= now() and attempts < max_attempts limit 1';
  while ((await client.query(due)).rowCount > 0) await delay(50);
}

/** Defines the operations: `requests` of a round, or `work` of a number of units. */
function defineOperations({ client, url, known, strangers, caller, sessions }) {
  let number = 0;
  let received = 0;
  const target = http.createServer((request, response) => {
    received++;
    request.resume().once('end', () => response.writeHead(204).end());
  });
  const { headers } = caller;
  const write = (method, path, body, sent = headers) => ({ method, path, headers: sent, body: JSON.stringify(body) });
  const next = (amount, toRequest) => () => Array.from({ length: amount }, () => toRequest(number++));
  const create = (own) => {
    const names = {
      name: `created.${own}`,
      email: `created.${own}@example.org`,
      first_name: 'Test',
      last_name: 'User',
    };
    const rest = { user_type: 'carrier', carrier_id: `carrier-${own % 200}`, roles: ['carrier_user'] };
    return write('POST', '/user/create', { ...names, ...rest });
  };
  const list = (query) => ({ method: 'GET', path: `/user/list?${query}`, headers });
  const byName = (own) => list(`order_by=name&order_dir=asc&status=active&carrier_id=carrier-${own % 200}`);
  const check = ({ access_token }) => checkRequest(access_token);
  const refresh = ({ refresh_token }) => write('POST', '/auth/check-token', { refresh_token }, {});
  const logout = ({ access_token }) => write('POST', '/auth/logout', {}, { authorization: `Bearer ${access_token}` });
  const openWebhooks = async () => {
    if (target.listening) return;
    await new Promise((resolve) => target.listen(0, '127.0.0.1', resolve));
    target.unref();
    const { port } = target.address();
    for (let index = 0; index < WEBHOOKS; index++) {
      const body = JSON.stringify({ url: `http://127.0.0.1:${port}/${index}`, type_in: ['user.restored'] });
      await caller.request('POST', '/webhook/create', { body });
    }
  };
  const deliver = async (units) => {
    received = 0;
    await client.query(EVENTS, [units / WEBHOOKS, 'user.restored', 'user', LOCALE]);
    while (received < units) await delay(20);
  };
  const follow = async (units) => {
    for (let [read, after] = [0, '']; read < units;) {
      const { items, next_cursor } = await caller.request('GET', `/change/list?per_page=1000${after}`);
      [read, after] = [read + items.length, `&after=${next_cursor}`];
    }
  };
  return [
    { name: 'login', requests: next(640, (own) => loginRequest(known[own % known.length])) },
    {
      name: 'login from a new address, and its mail',
      requests: () => strangers.splice(0, 320).map(loginRequest),
      after: () => drained(client),
    },
    { name: 'check from memory', requests: () => Array.from({ length: 320 }, () => sessions.memory.map(check)).flat() },
    { name: 'check that reads', requests: () => sessions.take('checks').map(check) },
    {
      name: 'check that reads, and its note',
      requests: () => sessions.take('notes').map(check),
      after: () => delay(1_500),
    },
    { name: 'refresh', requests: () => sessions.take('refreshes').map(refresh) },
    { name: 'logout', requests: () => sessions.take('logouts').map(logout) },
    { name: 'create, and its invitation', requests: next(480, create), after: () => drained(client) },
    {
      name: 'change of a user',
      requests: next(960, (own) =>
        write('PATCH', `/user/${known[own % known.length].user_id}`, { job_title: `Title ${own}` }),
      ),
    },
    { name: 'list of 50, newest', requests: next(960, () => list('count=none')) },
    { name: 'list of 50, carrier by name, total', requests: next(480, byName) },
    {
      name: 'vacuum, per changed session',
      units: TOUCHED,
      before: () => client.query('vacuum sessions').then(() => client.query(TOUCH, [TOUCHED])),
      work: () => client.query('vacuum sessions'),
    },
    { name: 'webhook delivery', units: 2_000, before: openWebhooks, work: deliver },
    { name: 'change read from the feed', units: 20_000, work: follow },
  ].map((one) => ({ ...one, url }));
}

module.exports = { defineOperations, EVENTS, LOCALE, openSessions };
