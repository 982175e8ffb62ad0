// `npm run bench:scale`: measures what activity notes, refreshes and logins cost the database.
//   --users 1000000
//   --sessions 300000 (live)
//   --rounds 5
// Sends the notes of the service in its batches, each round for other sessions, in turn with a bare
// UPDATE of a narrow table. Logins and refreshes go over HTTP, one at a time.
// The WAL includes full-page images, whose number depends on the time since the last checkpoint. A
// server with `full_page_writes = off` (BENCH_DATABASE_URL) writes none.
const path = require('node:path');
const { parseArgs } = require('node:util');
const { choose, PASSWORD } = require('./fill');
const { DIST } = require('./instances');
const { count, quantile } = require('./report');
const { prepare, run, tell } = require('./stage');

const BATCH = 1_000;
const REQUESTS = 200;
const IDLE_SECONDS = { system: 1_800, carrier: 86_400 };

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '1000000' },
    sessions: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '5' },
  },
});
const [users, live, rounds] = [options.users, options.sessions, options.rounds].map(Number);

/** Sessions that were seen within the last hour, so that a note of each is due. */
const SESSIONS = `
  insert into sessions (
    session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, last_seen_at,
    expires_at, absolute_expires_at, ip, user_agent
  )
  select
    gen_random_uuid(), user_id, user_type, carrier_id, sha256(user_id::text::bytea), now(),
    now() - interval '2 minutes' - interval '1 hour' * random(), now() + interval '1 day', now() + interval '30 days',
    '192.0.2.1', 'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0'
  from users
  where user_type = 'carrier' and status = 'active' and deleted_at is null
  limit $1`;

/** The narrow table that the notes are compared with. */
const BARE = `
  create table bare_seen (user_id uuid primary key, last_seen_at timestamptz(3)) with (fillfactor = 80);
  insert into bare_seen select user_id, last_seen_at from user_seen;
  create index on bare_seen (last_seen_at, user_id)`;

/** Returns the position in the WAL, and the number of its full-page images. */
async function walOf(client) {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query(
    'select pg_current_wal_insert_lsn() as lsn, wal_fpi::float8 as pages from pg_stat_wal',
  );
  return rows[0];
}

/** Runs work, and returns its seconds and the WAL that all backends wrote meanwhile. */
async function measured(client, work) {
  const [before, start] = [await walOf(client), performance.now()];
  await work();
  const seconds = (performance.now() - start) / 1_000;
  const after = await walOf(client);
  const { rows } = await client.query('select pg_wal_lsn_diff($1, $2)::float8 as bytes', [after.lsn, before.lsn]);
  return { seconds, bytes: rows[0].bytes, pages: after.pages - before.pages };
}

/** Returns the line of the table for samples of `items` each. */
function line(name, results, items) {
  const median = (value) =>
    quantile(
      results.map(value).sort((a, b) => a - b),
      0.5,
    );
  return {
    name,
    'per second': count(Math.round(items / median(({ seconds }) => seconds))),
    'WAL bytes': Math.round(median(({ bytes }) => bytes / items)),
    'full pages': Number(median(({ pages }) => pages / items).toFixed(3)),
  };
}

async function inBatches(items, work) {
  for (let from = 0; from < items.length; from += BATCH) await work(items.slice(from, from + BATCH));
}

async function post(service, url, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${service.url}${url}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Returns the indexes with an entry for each version of a live row. */
async function indexesOf(client, table) {
  const { rows } = await client.query(
    'select indexrelid::regclass::text as name from pg_index where indrelid = $1::regclass and indpred is null',
    [table],
  );
  return rows.map(({ name }) => name);
}

/** Measures notes and the bare UPDATE in turn. @returns a line for each */
async function measureNotes(client, sessions) {
  const { LiveLoginsRepository } = require(path.join(DIST, 'logins', 'live-logins.repository.js'));
  const send = async (fragment) => (await client.query(fragment.toQuery())).rows;
  const logins = new LiveLoginsRepository({ run: send });
  const note = (batch) =>
    logins.note(
      batch.map((session) => ({ ...session, ago_ms: 0 })),
      IDLE_SECONDS,
    );
  const bare = (batch) =>
    client.query('update bare_seen set last_seen_at = now() where user_id = any($1::uuid[])', [
      batch.map(({ user_id }) => user_id),
    ]);
  const [notes, updates] = [[], []];
  const share = Math.floor(sessions.length / (rounds + 1));
  for (let round = 0; round <= rounds; round++) {
    const own = sessions.slice(round * share, (round + 1) * share);
    const results = [
      await measured(client, () => inBatches(own, note)),
      await measured(client, () => inBatches(own, bare)),
    ];
    tell(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
    if (round === 0) continue;
    notes.push(results[0]);
    updates.push(results[1]);
  }
  return [line('activity note', notes, share), line('bare UPDATE', updates, share)];
}

/** Measures requests, one at a time. */
async function measureRequests(client, name, bodies, send) {
  const sendAll = async (some) => {
    for (const body of some) await send(body);
  };
  await sendAll(bodies.slice(0, REQUESTS));
  return line(name, [await measured(client, () => sendAll(bodies.slice(REQUESTS)))], REQUESTS);
}

async function main() {
  const { about, database, service } = await prepare({ users });
  const { client } = database;
  await client.query(SESSIONS, [live]);
  await client.query(BARE);
  await client.query('vacuum analyze');
  const { rows: sessions } = await client.query(
    'select session_id, user_id from sessions where ended_at is null order by session_id',
  );
  const lines = await measureNotes(client, sessions);
  // Autovacuum would otherwise add its WAL to the requests.
  await client.query('vacuum analyze');
  const people = await choose(client, `status = 'active' and user_type = 'carrier'`, 2 * REQUESTS);
  const tokens = [];
  const login = async ({ name }) =>
    tokens.push((await post(service, '/auth/login', { login: name, password: PASSWORD })).refresh_token);
  const refresh = (refresh_token) => post(service, '/auth/check-token', { refresh_token });
  lines.push(await measureRequests(client, 'login', people, login));
  lines.push(await measureRequests(client, 'refresh', tokens, refresh));
  console.log(`\n${about}; ${count(sessions.length)} live sessions`);
  console.table(Object.fromEntries(lines.map(({ name, ...rest }) => [name, rest])));
  for (const table of ['sessions', 'user_seen', 'user_logins', 'session_search']) {
    const { rows } = await client.query(
      `select pg_size_pretty(pg_table_size($1)) as own, pg_size_pretty(pg_indexes_size($1)) as indexes`,
      [table],
    );
    const names = await indexesOf(client, table);
    console.log(
      `${table}: ${rows[0].own}, ${names.length} indexes of live rows with ${rows[0].indexes}: ${names.join(', ')}`,
    );
  }
}

run(main);
