// `npm run bench:upgrade -- --from COMMIT`: upgrades the database of an earlier commit while an
// instance of that commit serves requests. Shows how long the migrations hold each lock, and how
// long requests waited.
//   --users 300000
//   --sessions 300000
//   --events 1000000
// Needs git.
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { hash } = require('@node-rs/argon2');
const { checkRequest, keepSending, loginRequest, Logins } = require('./callers');
const { choose, CREDENTIALS } = require('./fill');
const { startHelper, stopChildren } = require('./processes');
const { count, grid, quantile } = require('./report');
const stage = require('./stage');

const { atEnd, optionsOf, run, startInstance, tell } = stage;

const ROOT = path.join(__dirname, '..');
const ROUND_SECONDS = 5;
const SESSIONS = `
  insert into sessions (
    session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at
  )
  select
    gen_random_uuid(), user_id, user_type, carrier_id, '',
    now(), now() + interval '1 day', now() + interval '30 days'
  from users cross join generate_series(0, $1::integer / (select count(*)::integer from users))
  limit $1`;
/** Events over 13 months, in the order of their times, about the users. */
const EVENTS = `
  insert into events (
    event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id, carrier_id, changes
  )
  select
    (lpad(to_hex((extract(epoch from occurred_at) * 1000)::bigint), 12, '0')
      || '7' || substr(digest, 1, 3) || '8' || substr(digest, 4, 15))::uuid,
    'user.changed', occurred_at, user_id, 'user', 'user', user_id, carrier_id,
    '{"last_name": {"before": "Hopper", "after": "Lovelace"}}'
  from (
    select md5(random()::text) as digest, i, now() - interval '395 days' * (1 - i / $1::float8) as occurred_at
    from generate_series(1, $1::integer) i
  ) made
  join (select row_number() over () as number, user_id, carrier_id from users) people
    on number = 1 + i % (select count(*) from users)`;
/** Locks that conflict with the lock of an INSERT, UPDATE or DELETE. */
const HELD = `
  select distinct relation::regclass || ', ' || locks.mode as name
  from pg_locks locks
  join pg_stat_activity using (pid)
  where application_name = 'carrier-identity migrations'
    and locktype = 'relation'
    and granted
    and locks.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and relation in (select oid from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace)`;
const LOOK_EVERY_MS = 5;

const sizes = { users: 300_000, sessions: 300_000, events: 1_000_000 };
const { from, users, sessions, events } = optionsOf({ from: 'd4043a5', ...sizes });

/** Checks the commit out beside this tree, and builds it with its own packages. */
function buildCommit(commit, directory) {
  const tree = path.join(directory, 'old');
  const git = (...args) => execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const npm = (...args) => execFileSync('npm', args, { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] });
  tell(`building ${commit}`);
  git('worktree', 'add', '--detach', tree, commit);
  atEnd(() => git('worktree', 'remove', '--force', tree));
  npm('ci', '--no-audit', '--no-fund', '--loglevel=error');
  npm('run', '-s', 'build');
  return tree;
}

/** Fills the database of the commit, with the code of that commit. */
async function fillOld(client, tree) {
  const { fillUsers, ARGON2, PASSWORD } = require(path.join(tree, 'bench', 'fill.js'));
  await fillUsers(client, users, new Date());
  await client.query(CREDENTIALS, [await hash(PASSWORD, ARGON2)]);
  await client.query(SESSIONS, [sessions]);
  await client.query(EVENTS, [events]);
  await client.query('vacuum analyze');
  tell(`filled a database of ${from}: ${count(users)} users, ${count(events)} events`);
}

/** Returns a function that returns the streams of a round: checks, changes and logins. */
async function defineTraffic(client, url) {
  const logins = new Logins(url, await choose(client, `status = 'active' and user_type = 'carrier'`, 200));
  const [administrator] = await choose(client, `roles @> '{administrator}' and name <> 'administrator'`, 1);
  const headers = { authorization: `Bearer ${(await logins.open(administrator)).access_token}` };
  const checks = (await logins.openMany(60)).map(({ access_token }) => checkRequest(access_token));
  const people = await choose(client, `user_type = 'carrier'`, 2_000);
  let number = 0;
  const change = ({ user_id }) => {
    const body = JSON.stringify({ phone: `+43${1e9 + number++}` });
    return { method: 'PATCH', path: `/user/${user_id}`, headers, body };
  };
  return () => [
    { rate: 300, requests: checks },
    { rate: 20, requests: people.map(change) },
    { rate: 5, requests: logins.take(5 * ROUND_SECONDS).map(loginRequest) },
  ];
}

/**
 * Polls the locks of the migrations until the returned function is called, which returns the
 * longest time in ms per table and lock.
 */
function watchLocks(client) {
  const [since, longest] = [new Map(), new Map()];
  let stopped = false;
  const poll = async () => {
    while (!stopped) {
      const held = new Set((await client.query(HELD)).rows.map(({ name }) => name));
      const now = performance.now();
      for (const name of held) if (!since.has(name)) since.set(name, now);
      for (const [name, start] of since) {
        longest.set(name, Math.max(longest.get(name) ?? 0, now - start));
        if (!held.has(name)) since.delete(name);
      }
      await delay(LOOK_EVERY_MS);
    }
    return [...longest].sort(([, one], [, other]) => other - one);
  };
  const done = poll();
  return () => {
    stopped = true;
    return done;
  };
}

async function main() {
  const directory = stage.makeDirectory();
  const tree = buildCommit(from, directory);
  const url = await stage.createDatabase(path.join(directory, 'database'));
  atEnd(stopChildren);
  const environment = stage.environmentFor(url, directory);
  const client = await stage.connect(url);
  const dist = path.join(tree, 'dist', 'src');
  const old = await startInstance(environment, { measured: false, pinned: false, dist });
  await fillOld(client, tree);
  const streams = await defineTraffic(client, old.url);
  const stopSending = keepSending(startHelper('paced-load.js', false), old.url, streams, ROUND_SECONDS);
  await delay(ROUND_SECONDS * 1_000);
  const stopWatching = watchLocks(client);
  const options = { measured: false, pinned: false, stdout: 'inherit', withinMs: 30 * 60_000 };
  const fresh = await startInstance({ ...environment, LOG_LEVEL: 'info' }, options);
  tell(`upgraded in ${(fresh.readyMs / 1_000).toFixed(1)} s`);
  const held = await stopWatching();
  await delay(ROUND_SECONDS * 1_000);
  const sent = await stopSending();

  const locks = held.map(([name, ms]) => [name, ms.toFixed(0)]);
  console.log(`\n${grid(['lock', 'held ms'], locks, [0])}\n`);
  const latencies = sent.flatMap((stream) => stream.latencies);
  console.log(
    `The old instance responded to ${count(latencies.length)} requests meanwhile, ` +
      `${sent.reduce((sum, { failed }) => sum + failed, 0)} failed; ` +
      `p99 ${quantile(latencies, 0.99).toFixed(0)} ms, longest ${quantile(latencies, 1).toFixed(0)} ms.`,
  );
}

run(main);
