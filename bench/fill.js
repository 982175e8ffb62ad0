// Users of the benchmark: 200 carriers of very different sizes, all statuses, some deleted users,
// and timestamps over two years. Identical in each run.

/** Password of all users. */
const PASSWORD = 'correct horse battery staple';
/** Parameters of the service's hashes (src/auth/passwords/password-hashing.ts). */
const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const FIRST_NAMES =
  'Ada Alan Barbara Konrad Donald Edsger Frances Grace Hedy Ivan ' +
  'Jean Katherine Linus Margaret Niklaus Olga Radia Sophie Tim Yuri';
const LAST_NAMES =
  'Allen Backus Cerf Dijkstra Engelbart Floyd Goldberg Hopper Iverson Johnson ' +
  'Knuth Lamarr Moore Naur Perlman Ritchie Sutherland Torvalds Wirth Zuse';

/** Inserts users with a UUIDv7 of their creation time, in this order, as the service does. */
const USERS = `
  insert into users (
    user_id,
    user_type, name, email, email_verified_at, first_name, last_name,
    phone, job_title, locale, timezone,
    carrier_id, roles, status, attributes,
    created_at, updated_at, last_login_at, last_login_ip, last_seen_at, password_changed_at, deleted_at
  )
  select
    (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0')
      || '7' || substr(digest, 1, 3) || '8' || substr(digest, 4, 15))::uuid,
    case when is_system then 'system' else 'carrier' end,
    lower(first_name || '.' || last_name || '.' || i),
    lower(first_name || '.' || last_name || i || '@example.com'),
    created_at, first_name, last_name,
    '+4312' || lpad(i::text, 8, '0'),
    case when i % 1000 = 3 then 'Fleet auditor' end,
    (array['de-AT', 'en', 'fr'])[1 + i % 3],
    (array['Europe/Vienna', 'Europe/London', 'Asia/Tokyo'])[1 + i % 3],
    case when not is_system then 'carrier-' || floor(200 * power(carrier_share, 2)) end,
    case
      when i = 1 then '{administrator}'
      when is_system then '{operator}'
      when i % 50 = 0 then '{carrier_administrator,carrier_user}'
      else '{carrier_user}'
    end::text[],
    case when i = 1 or status_share < 0.85 then 'active' when status_share < 0.95 then 'disabled' else 'invited' end,
    jsonb_build_object('tier', (array['basic', 'business', 'premium'])[1 + i % 3], 'customer_number', i),
    created_at, created_at + age * random(), seen_at, '192.0.2.1', seen_at, created_at,
    case when i > 1 and i % 50 = 7 then $4::timestamptz end
  from (
    select i, i % 200 = 1 as is_system, md5(i::text) as digest, random() as carrier_share, random() as status_share,
      ($2::text[])[1 + i % 20] as first_name, ($3::text[])[1 + (i / 20) % 20] as last_name,
      age, $4::timestamptz - age as created_at,
      case when i % 10 < 7 then $4::timestamptz - age * random() end as seen_at
    from (select i, interval '730 days' * random() as age from generate_series(1, $1::integer) i order by age desc) made
  ) people`;

/** All users share one hash, because 100,000 hashes would take 15 minutes. */
const CREDENTIALS = `
  insert into credentials (user_id, password_hash)
  select user_id, $1 from users where status <> 'invited'
  on conflict do nothing`;

/** Inserts many users within seconds, by building the indexes after the rows. */
async function withoutIndexes(client, insert) {
  const { rows: indexes } = await client.query(`select indexname, indexdef from pg_indexes
    where tablename in ('users', 'user_search', 'user_logins', 'user_seen')
      and indexname not in (select conname from pg_constraint)`);
  await client.query(`set maintenance_work_mem = '256MB'`);
  await client.query('begin');
  for (const { indexname } of indexes) await client.query(`drop index ${indexname}`);
  await insert();
  for (const { indexdef } of indexes) await client.query(indexdef);
  await client.query('commit');
}

/**
 * Fills a migrated database with users. The rows are identical in each run, except for `now`, the
 * end of the two years.
 */
async function fillUsers(client, count, now) {
  await client.query('select setseed(0.5)');
  await withoutIndexes(client, () => client.query(USERS, [count, FIRST_NAMES.split(' '), LAST_NAMES.split(' '), now]));
  await client.query('vacuum analyze users, user_search, user_logins, user_seen');
}

/** Fills a migrated database with users and credentials, ready to be measured. */
async function fill(client, count, passwordHash) {
  await fillUsers(client, count, new Date());
  await client.query(CREDENTIALS, [passwordHash]);
  await settle(client);
}

/** Does the maintenance that the database would otherwise start during a measurement. */
async function settle(client) {
  await client.query('vacuum analyze');
  await client.query('checkpoint').catch(() => undefined);
}

/** Returns users that match a condition, in an order that is identical in each run. */
async function choose(client, condition, count) {
  const { rows } = await client.query(
    `select user_id, name, email from users where deleted_at is null and ${condition} order by md5(name) limit $1`,
    [count],
  );
  return rows;
}

/** Adds a session to each user of a selection. Returns the sessions with their users. */
async function addSessionsTo(client, selection, values) {
  const { rows } = await client.query(
    `with added as (
       insert into sessions (
         session_id, user_id, user_type, carrier_id, refresh_token_hash,
         refreshed_at, expires_at, absolute_expires_at
       )
       select gen_random_uuid(), user_id, user_type, carrier_id, '',
         now(), now() + interval '1 day', now() + interval '30 days'
       from users
       where ${selection}
       returning session_id, user_id
     )
     select session_id, user_id, user_type, carrier_id, name, roles from added join users using (user_id)`,
    values,
  );
  return rows;
}

/** Adds a session to each of `count` Carrier Users in an order. */
function addSessions(client, count, condition = 'true', order = 'user_id') {
  const selection = `user_type = 'carrier' and deleted_at is null and ${condition} order by ${order} limit $1`;
  return addSessionsTo(client, selection, [count]);
}

/** Adds a session to each of the users with these names. */
function addSessionsOf(client, names) {
  return addSessionsTo(client, 'name = any($1)', [names]);
}

/** Resets the refresh tokens of sessions. Returns their first tokens. */
async function resetSessions(client, sessions) {
  const session_ids = sessions.map(({ session_id }) => session_id);
  await client.query(
    `update sessions
     set refresh_token_hash = sha256((session_id || '.first')::bytea)
     where session_id = any($1::uuid[])`,
    [session_ids],
  );
  return session_ids.map((session_id) => `${session_id}.first`);
}

module.exports = {
  addSessions,
  addSessionsOf,
  ARGON2,
  choose,
  CREDENTIALS,
  fill,
  fillUsers,
  PASSWORD,
  resetSessions,
  settle,
  withoutIndexes,
};
