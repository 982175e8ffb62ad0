// Two carriers for `bench:neighbour`: one attacks, the other does its ordinary work.
const fs = require('node:fs');
const path = require('node:path');
const { clearInterval, setInterval } = require('node:timers');
const { hash } = require('@node-rs/argon2');
const { ARGON2, PASSWORD, withoutIndexes } = require('./fill');
const { DIST } = require('./instances');
const { MadeSessions } = require('./logins');
const { rssMiB } = require('./processes');

const GROUP = 1_000;
const ADDRESSES = 8;
/** Sessions that are refreshed in turn: enough for a response time of six seconds. */
const CHAINS = 32;
const CHECKED = 50;
const MEMORY_EVERY_MS = 500;
const FRESH_TOKENS_PER_SECOND = 5;

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
const CREDENTIALS =
  'insert into credentials (user_id, password_hash) select user_id, $1 from users on conflict do nothing';
const EVENTS = `
  insert into events (event_type, actor_id, actor_type, target_type, target_id, carrier_id)
  select 'user.updated', user_id, 'user', 'user', user_id, carrier_id
  from users cross join generate_series(1, 2)
  where carrier_id = 'attacker'`;
const SESSIONS = `
  with added as (
    insert into sessions (
      session_id, user_id, user_type, carrier_id, refresh_token_hash,
      refreshed_at, expires_at, absolute_expires_at
    )
    select gen_random_uuid(), user_id, user_type, carrier_id, '',
      now(), now() + interval '1 day', now() + interval '30 days'
    from users
    where name = any($1)
    returning session_id, user_id
  )
  select session_id, user_id, user_type, carrier_id, name, roles from added join users using (user_id)`;
const REFRESH_TOKENS = `
  update sessions
  set refresh_token_hash = minted.hash
  from unnest($1::uuid[], $2::bytea[]) minted (session_id, hash)
  where sessions.session_id = minted.session_id`;

/** Mints the first refresh tokens of sessions, as the service does. */
async function mintTokens(client, { APP_SECRET }, sessions) {
  const { RefreshTokens } = require(path.join(DIST, 'sessions', 'refresh-token.js'));
  const { hashToken } = require(path.join(DIST, 'common', 'random.js'));
  const ids = sessions.map(({ session_id }) => session_id);
  const minter = new RefreshTokens(APP_SECRET);
  const minted = ids.map((session_id) => minter.mint(session_id));
  await client.query(REFRESH_TOKENS, [ids, minted.map(hashToken)]);
  return minted;
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
  const made = await MadeSessions.start({ database: { client }, environment, pinned });
  const open = async (names) => made.sign((await client.query(SESSIONS, [names])).rows);
  const named = (carrier, from, count) => Array.from({ length: count }, (_, index) => `${carrier}-${from + index}`);
  const people = await open([
    'attacker.manager',
    'attacker.auditor',
    'neighbour.manager',
    'platform.administrator',
    'attacker-1',
  ]);
  const tokens = Object.fromEntries(
    people.map(({ name, access_token }) => [name.split(/[.-]/).join('_'), access_token]),
  );
  const tokensOf = (sessions) => sessions.map(({ access_token }) => access_token);
  const openChains = async (names) => mintTokens(client, environment, await open(names));
  const world = {
    tokens,
    self: people.find(({ name }) => name === 'attacker-1').user_id,
    checked: tokensOf(await open(named('neighbour', 3_100, CHECKED))),
    fresh: tokensOf(await open(named('neighbour', 1, Math.ceil(FRESH_TOKENS_PER_SECOND * (seconds + 1))))),
    refresh: await openChains(named('neighbour', 3_200, CHAINS)),
    logins: named('neighbour', 3_300, 100),
    refreshOfAttacker: await openChains(named('attacker', 100, CHAINS)),
    ids: (await client.query(`select user_id from users where carrier_id = 'attacker' limit 500`)).rows.map(
      ({ user_id }) => user_id,
    ),
  };
  made.signer.disconnect();
  await client.query('vacuum analyze');
  return world;
}

/** Returns the streams of the neighbour's ordinary work (see paced-load.js). */
function ordinaryWork({ tokens, checked, fresh, refresh, logins }, seconds, tag = 'work') {
  const bearer = (token) => ({ authorization: `Bearer ${token}` });
  const manager = { headers: bearer(tokens.neighbour_manager) };
  const administrator = { headers: bearer(tokens.platform_administrator) };
  const check = (token) => ({ method: 'POST', path: '/auth/check-token', body: JSON.stringify({ token }) });
  const get = (path) => ({ ...manager, method: 'GET', path });
  const patch = (path, body, by = manager) => ({ ...by, method: 'PATCH', path, body: JSON.stringify(body) });
  const create = (index) => ({
    user_type: 'carrier',
    carrier_id: 'neighbour',
    name: `${tag}-${index}`,
    email: `${tag}-${index}@example.com`,
    roles: ['carrier_user'],
  });
  const rowOf = (file, row) => `carrier,${tag}-${file}-${row},${tag}-${file}-${row}@example.com,neighbour\n`;
  const file = (number) =>
    `user_type,name,email,carrier_id\n${Array.from({ length: 50 }, (_, row) => rowOf(number, row)).join('')}`;
  const half = CHAINS / 2;
  const chains = tag === 'warm' ? refresh.slice(half) : refresh.slice(0, half);
  const many = (toRequest) => Array.from({ length: seconds + 1 }, (_, index) => toRequest(index));
  const lists = [
    'count=none',
    'order_by=name&order_dir=asc',
    'q=neighbour 31',
    'job_title=Line-1&count=exact',
    'page=20',
  ];
  const streams = {
    ready: [5, [{ method: 'GET', path: '/health/ready' }]],
    check: [95, checked.map(check)],
    'check new': [FRESH_TOKENS_PER_SECOND, (tag === 'warm' ? checked : fresh).map(check)],
    // Users of one carrier log in from several addresses, to stay below the limit per address.
    login: [
      2,
      logins.map((login, index) => ({
        method: 'POST',
        path: '/auth/login',
        body: JSON.stringify({ login, password: PASSWORD }),
        from: `127.0.1.${2 + (index % ADDRESSES)}`,
      })),
    ],
    refresh: [5, chains.map((token) => ({ ...check(), body: JSON.stringify({ refresh_token: token }) }))],
    list: [5, lists.map((query) => get(`/user/list?${encodeURI(query)}`))],
    create: [
      1,
      many((index) => ({ ...manager, method: 'POST', path: '/user/create', body: JSON.stringify(create(index)) })),
    ],
    'bulk 1,000': [
      0.3,
      many((index) => patch(`/user/all?job_title=Line-${index % 3}`, { locale: index % 2 === 0 ? 'fr' : 'de' })),
    ],
    import: [
      0.3,
      many((index) => ({
        method: 'POST',
        path: '/user/import',
        body: file(index),
        headers: { ...manager.headers, 'content-type': 'text/csv' },
      })),
    ],
    export: [0.3, [get('/user/export?job_title=Line-0')]],
    role: [
      0.3,
      many((index) =>
        patch('/role/fleet_viewer', { permissions: index % 2 === 0 ? ['fleet:read'] : [] }, administrator),
      ),
    ],
    // One change of 1,000 users or more, in the background if they are more than 10,000.
    'large bulk': [0.9 / seconds, [patch('/user/all?job_title_like=Crew', { timezone: 'Europe/Rome' })]],
  };
  if (tag === 'warm') delete streams['large bulk'];
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
