// Two carriers for `bench:neighbour`: one attacks, the other does its ordinary work.
const fs = require('node:fs');
const { clearInterval, setInterval } = require('node:timers');
const { hash } = require('@node-rs/argon2');
const { checkRequest, loginRequest } = require('./callers');
const { addSessionsOf, ARGON2, CREDENTIALS, PASSWORD, withoutIndexes } = require('./fill');
const { ask, rssMiB, startHelper } = require('./processes');

const GROUP = 1_000;
const ADDRESSES = 8;
/** Sessions that are refreshed in turn: enough for a response time of six seconds. */
const CHAINS = 32;
const CHECKED = 50;
const MEMORY_EVERY_MS = 500;
const FRESH_TOKENS_PER_SECOND = 5;
const LISTS = [
  'count=none',
  'order_by=name&order_dir=asc',
  'q=neighbour 31',
  'job_title=Line-1&count=exact',
  'page=20',
];

const ROLES = `
  insert into roles (name, description, user_types, permissions, may_grant) values
    ('tenant_manager', 'All that a carrier can have', '{carrier}', '{user:read,user:create,user:update,user:delete,
user:import,user:export,user:reset_factors,session:read,session:revoke,role:read,audit:read,key:manage,mail:manage}',
      '{carrier_user}'),
    ('fleet_viewer', 'Changes during the measurement', '{carrier}', '{}', '{}')`;
/**
 * Groups of 1,000 users by job title; the 200 "Heavy" users have attributes of 12 KB each. The
 * "Desk" users log in. Bulk changes of the neighbour exclude them, because a login waits at most
 * 2 s for a bulk change.
 */
const USERS = `
  insert into users (user_id, user_type, name, email, carrier_id, roles, status, first_name, job_title, attributes)
  select
    uuid_v7(), 'carrier', $1 || '-' || i, $1 || '-' || i || '@example.com', $1, '{carrier_user}', 'active', 'Ada',
    case
      when i > $2 - 200 then 'Heavy'
      when i <= 3 * $3 then 'Line-' || (i - 1) / $3
      when i <= 4 * $3 then 'Desk'
      else 'Crew-' || i % 4
    end,
    case when i > $2 - 200
      then jsonb_build_object('note', (select string_agg(md5(random()::text), '') from generate_series(1, 375)))
      else jsonb_build_object('number', i) end
  from generate_series(1, $2::integer) i`;
const PEOPLE = `
  insert into users (user_id, user_type, name, email, carrier_id, carrier_scope, roles, status)
  select uuid_v7(), type, name, name || '@example.com', carrier, scope, roles, 'active'
  from (values
    ('carrier', 'attacker.manager', 'attacker', null::text[], '{tenant_manager,carrier_user}'::text[]),
    ('carrier', 'neighbour.manager', 'neighbour', null, '{tenant_manager,carrier_user}'),
    ('system', 'attacker.auditor', null, '{attacker}', '{auditor}'),
    ('system', 'platform.administrator', null, null, '{administrator}')
  ) people (type, name, carrier, scope, roles)`;
const EVENTS = `
  insert into events (event_type, actor_id, actor_type, target_type, target_id, carrier_id)
  select 'user.updated', user_id, 'user', 'user', user_id, carrier_id
  from users cross join generate_series(1, 2)
  where carrier_id = 'attacker'`;
const REFRESH_TOKENS = `
  update sessions
  set refresh_token_hash = decode(minted.hash, 'hex')
  from unnest($1::uuid[], $2::text[]) minted (session_id, hash)
  where sessions.session_id = minted.session_id`;

const range = (carrier, from, amount) => Array.from({ length: amount }, (_, index) => `${carrier}-${from + index}`);

/** Opens a session for each name. Returns a function that returns a field of each session. */
async function openSessions(client, environment, pinned, names) {
  const sessions = await addSessionsOf(client, names);
  const signer = startHelper('signer.js', pinned);
  const signed = await ask(signer, 'sign', { environment, sessions });
  signer.disconnect();
  await client.query(REFRESH_TOKENS, [sessions.map(({ session_id }) => session_id), signed.map(({ hash }) => hash)]);
  const byName = new Map(sessions.map((session, index) => [session.name, { ...session, ...signed[index] }]));
  return (field, some) => some.map((name) => byName.get(name)[field]);
}

/**
 * Fills a migrated database, and signs access tokens.
 * @returns the input of the load processes, as JSON
 */
async function createWorld(client, environment, { attackers, neighbours, seconds, pinned }) {
  await client.query(ROLES);
  await withoutIndexes(client, async () => {
    await client.query(USERS, ['attacker', attackers, GROUP]);
    await client.query(USERS, ['neighbour', neighbours, GROUP]);
  });
  await client.query(PEOPLE);
  await client.query(CREDENTIALS, [await hash(PASSWORD, ARGON2)]);
  await client.query(EVENTS);
  const people = ['attacker.manager', 'attacker.auditor', 'neighbour.manager', 'platform.administrator', 'attacker-1'];
  const checked = range('neighbour', 3_100, CHECKED);
  const fresh = range('neighbour', 1, FRESH_TOKENS_PER_SECOND * (seconds + 1));
  const chains = ['neighbour', 'attacker'].map((carrier) => range(carrier, 3_200, CHAINS));
  const names = [people, checked, fresh, chains].flat(2);
  const fieldOf = await openSessions(client, environment, pinned, names);
  const { rows } = await client.query(`select user_id from users where carrier_id = 'attacker' limit 500`);
  const world = {
    tokens: Object.fromEntries(
      fieldOf('access_token', people).map((token, index) => [people[index].replace(/[.-]/, '_'), token]),
    ),
    self: fieldOf('user_id', ['attacker-1'])[0],
    checked: fieldOf('access_token', checked),
    fresh: fieldOf('access_token', fresh),
    refresh: fieldOf('refresh_token', chains[0]),
    logins: range('neighbour', 3_300, 100),
    refreshOfAttacker: fieldOf('refresh_token', chains[1]),
    ids: rows.map(({ user_id }) => user_id),
  };
  await client.query('vacuum analyze');
  return world;
}

/** Returns the streams of the neighbour's ordinary work (see paced-load.js). */
function ordinaryWork({ tokens, checked, fresh, refresh, logins }, seconds, tag = 'work') {
  const isWarmUp = tag === 'warm';
  const headersOf = (token) => ({ authorization: `Bearer ${token}` });
  const [manager, administrator] = [tokens.neighbour_manager, tokens.platform_administrator].map(headersOf);
  const get = (path) => ({ method: 'GET', path, headers: manager });
  const send = (method, path, body, headers = manager) => ({ method, path, headers, body: JSON.stringify(body) });
  const row = (name) => ['carrier', name, `${name}@example.com`, 'neighbour'];
  const create = (index) => {
    const [user_type, name, email, carrier_id] = row(`${tag}-${index}`);
    return send('POST', '/user/create', { user_type, carrier_id, name, email, roles: ['carrier_user'] });
  };
  const upload = (number) => ({
    method: 'POST',
    path: '/user/import',
    body: [
      ['user_type,name,email,carrier_id'],
      ...Array.from({ length: 50 }, (_, own) => row(`${tag}-${number}-${own}`)),
    ]
      .map((line) => `${line}\n`)
      .join(''),
    headers: { ...manager, 'content-type': 'text/csv' },
  });
  const refreshOf = (refresh_token) => ({ ...checkRequest(), body: JSON.stringify({ refresh_token }) });
  // Users of one carrier log in from several addresses, to stay below the limit per address.
  const login = (name, index) => ({ ...loginRequest({ name }), from: `127.0.1.${2 + (index % ADDRESSES)}` });
  const even = (index, one, other) => (index % 2 === 0 ? one : other);
  const locale = (index) => send('PATCH', `/user/all?job_title=Line-${index % 3}`, { locale: even(index, 'fr', 'de') });
  const role = (index) =>
    send('PATCH', '/role/fleet_viewer', { permissions: even(index, ['fleet:read'], []) }, administrator);
  const many = (toRequest) => Array.from({ length: seconds + 1 }, (_, index) => toRequest(index));
  /** Rates in requests per second, and the requests. */
  const streams = {
    ready: [5, [{ method: 'GET', path: '/health/ready' }]],
    check: [95, checked.map(checkRequest)],
    'check new': [FRESH_TOKENS_PER_SECOND, (isWarmUp ? checked : fresh).map(checkRequest)],
    login: [2, logins.map(login)],
    refresh: [5, refresh.slice(...(isWarmUp ? [CHAINS / 2] : [0, CHAINS / 2])).map(refreshOf)],
    list: [5, LISTS.map((query) => get(`/user/list?${encodeURI(query)}`))],
    create: [1, many(create)],
    'bulk 1,000': [0.3, many(locale)],
    import: [0.3, many(upload)],
    export: [0.3, [get('/user/export?job_title=Line-0')]],
    role: [0.3, many(role)],
  };
  // One change of 1,000 users or more, in the background if they are more than 10,000.
  if (!isWarmUp)
    streams['large bulk'] = [
      0.9 / seconds,
      [send('PATCH', '/user/all?job_title_like=Crew', { timezone: 'Europe/Rome' })],
    ];
  return Object.entries(streams).map(([name, [rate, requests]]) => ({
    name,
    rate,
    chain: name === 'refresh',
    requests: requests.map((request) => ({ from: '127.0.1.1', ...request })),
  }));
}

/** Samples the memory of a service, and the private memory of all backends of its database. */
async function watchMemory(child, client, database) {
  const peak = { service: 0, database: 0 };
  const privateMiB = (pid) => {
    try {
      const [, kibibytes] = /^Anonymous:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
      return Number(kibibytes) / 1_024;
    } catch {
      return 0;
    }
  };
  const look = async () => {
    const { rows } = await client.query('select pid from pg_stat_activity where datname = $1', [database]);
    peak.database = Math.max(
      peak.database,
      rows.reduce((sum, { pid }) => sum + privateMiB(pid), 0),
    );
    if (child.exitCode === null) peak.service = Math.max(peak.service, rssMiB(child));
  };
  await look();
  const idle = { ...peak };
  const timer = setInterval(() => void look().catch(() => undefined), MEMORY_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await look();
    return { service: peak.service - idle.service, database: peak.database - idle.database };
  };
}

module.exports = { createWorld, ordinaryWork, watchMemory };
