// `npm run bench:upgrade -- --from COMMIT`: upgrades the database of an earlier commit while an
// instance of that commit serves requests. Shows how long the migrations hold each lock, how long
// requests waited, and that no row was lost.
//   --users 300000
//   --sessions 300000
//   --events 1000000
// Needs git. BENCH_DATABASE_URL selects a server other than the embedded one.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Client } = require('pg');
const { hash } = require('@node-rs/argon2');
const { loginRequest } = require('./auth-paths');
const { choose } = require('./fill');
const { environmentFor, startInstance } = require('./instances');
const { LockWatch } = require('./lock-watch');
const { Logins } = require('./logins');
const { ask, startNode, stopChildren } = require('./processes');
const { count, quantile } = require('./report');
const { atEnd, createDatabase, run, tell } = require('./stage');

const ROOT = path.join(__dirname, '..');
const ROUND_SECONDS = 5;
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
/** Rows and checksum of each table, without values that the instances change meanwhile. */
const CHECKSUMS = {
  users: 'select count(*), sum(hashtext(user_id::text || name || email || created_at)::bigint) from users',
  credentials: 'select count(*), sum(hashtext(user_id::text)::bigint) from credentials',
  sessions: `select count(*), sum(hashtext(session_id::text || user_id || created_at)::bigint)
    from sessions where created_at < $1`,
  events: `select count(*), sum(hashtext(event_id::text || occurred_at || changes::text)::bigint)
    from events where occurred_at < $1`,
};

const { values: options } = parseArgs({
  options: {
    from: { type: 'string', default: '4dc150f' },
    users: { type: 'string', default: '300000' },
    sessions: { type: 'string', default: '300000' },
    events: { type: 'string', default: '1000000' },
  },
});
const [users, sessions, events] = [options.users, options.sessions, options.events].map(Number);

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

/** Sends checks, logins and changes to an instance, in rounds, until it is stopped. */
function sendTraffic(url, { tokens, people, logins }, generator) {
  const state = { stopped: false, latencies: [], failed: 0, requests: 0 };
  const [{ authorization }] = tokens.map((token) => ({ authorization: `Bearer ${token}` }));
  let number = 0;
  const streams = () => [
    {
      rate: 300,
      requests: tokens.map((token) => ({
        method: 'POST',
        path: '/auth/check-token',
        body: JSON.stringify({ token }),
      })),
    },
    {
      rate: 20,
      requests: people.map(({ user_id }) => ({
        method: 'PATCH',
        path: `/user/${user_id}`,
        headers: { authorization },
        body: JSON.stringify({ phone: `+43${1e9 + number++}` }),
      })),
    },
    { rate: 5, requests: logins.take(5 * ROUND_SECONDS).map((user) => ({ method: 'POST', ...loginRequest(user) })) },
  ];
  const rounds = async () => {
    while (!state.stopped)
      for (const result of await ask(generator, 'run', { url, streams: streams(), seconds: ROUND_SECONDS })) {
        if (result.failed > 0) tell(`  ${result.failed} requests failed: ${JSON.stringify(result.statuses)}`);
        state.latencies = state.latencies.concat(result.latencies);
        state.failed += result.failed;
        state.requests += result.requests;
      }
  };
  const done = rounds();
  state.stop = () => {
    state.stopped = true;
    return done;
  };
  return state;
}

async function checksums(client, before) {
  const sums = {};
  for (const [table, text] of Object.entries(CHECKSUMS)) {
    const { rows } = await client.query({ text, rowMode: 'array', values: text.includes('$1') ? [before] : [] });
    sums[table] = rows[0].join(' / ');
  }
  return sums;
}

async function prepareOld(client, tree) {
  const { fillUsers, storeSessions, ARGON2, PASSWORD } = require(path.join(tree, 'bench', 'fill.js'));
  await fillUsers(client, users, new Date());
  await client.query(
    `insert into credentials (user_id, password_hash) select user_id, $1 from users where status <> 'invited'`,
    [await hash(PASSWORD, ARGON2)],
  );
  await storeSessions(client, sessions);
  await client.query(EVENTS, [events]);
  await client.query('vacuum analyze');
}

async function main() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'carrier-identity-upgrade-'));
  atEnd(() => fs.promises.rm(directory, { recursive: true, force: true }));
  const tree = buildCommit(options.from, directory);
  const { url } = await createDatabase(path.join(directory, 'database'));
  atEnd(stopChildren);
  const environment = environmentFor(url, directory);
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  atEnd(() => client.end());

  const old = await startInstance(environment, {
    measured: false,
    pinned: false,
    dist: path.join(tree, 'dist', 'src'),
  });
  await prepareOld(client, tree);
  tell(`filled a database of ${options.from}: ${count(users)} users, ${count(events)} events`);
  const logins = new Logins(old.url, await choose(client, `status = 'active' and user_type = 'carrier'`, 200));
  const [administrator] = await choose(client, `roles @> '{administrator}' and name <> 'administrator'`, 1);
  const tokens = [await logins.open(administrator), ...(await logins.openMany(60))].map((one) => one.access_token);
  const people = await choose(client, `user_type = 'carrier'`, 2_000);
  const {
    rows: [{ now }],
  } = await client.query('select now()');
  const before = await checksums(client, now);

  const generator = startNode([path.join(__dirname, 'paced-load.js')], { measured: false, pinned: false, ipc: true });
  const traffic = sendTraffic(old.url, { tokens, people, logins }, generator);
  await delay(ROUND_SECONDS * 1_000);
  const locks = new LockWatch(url);
  await locks.start();
  const fresh = await startInstance(
    { ...environment, LOG_LEVEL: 'info' },
    { measured: false, pinned: false, stdout: 'inherit', withinMs: 30 * 60_000 },
  );
  tell(`upgraded in ${(fresh.readyMs / 1_000).toFixed(1)} s`);
  const held = await locks.stop();
  await delay(ROUND_SECONDS * 1_000);
  await traffic.stop();

  const after = await checksums(client, now);
  console.log(`\n${held}\n`);
  for (const table of Object.keys(CHECKSUMS)) {
    const result = before[table] === after[table] ? 'equal' : 'DIFFERENT';
    console.log(`${table}: ${before[table]} before, ${after[table]} after: ${result}`);
  }
  const { requests, failed, latencies } = traffic;
  const longest = latencies.reduce((most, ms) => Math.max(most, ms), 0);
  console.log(
    `The old instance responded to ${count(requests)} requests meanwhile, ${failed} failed; ` +
      `p99 ${quantile(latencies, 0.99).toFixed(0)} ms, longest ${longest.toFixed(0)} ms.`,
  );
}

run(main);
