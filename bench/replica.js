// `npm run bench:replica`: measures the CPU time of the primary and the latency of check-token
// while lists are read at a fixed rate, from an instance without and one with a replica in turn.
//   --users 100000
//   --seconds 10 (per measurement)
//   --rounds 3
//   --rate 20 (lists per second)
// Needs Linux. Both database servers and the load share one core with this process.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { hash } = require('@node-rs/argon2');
const { ARGON2, choose, fill, PASSWORD } = require('./fill');
const { ask, pinSelf, startHelper, stopChildren } = require('./processes');
const { grid, machine, quantile } = require('./report');
const { atEnd, connect, DIST, environmentFor, makeDirectory, optionsOf, run, startInstance, tell } = require('./stage');

const { users, seconds, rounds, rate } = optionsOf({ users: 100_000, seconds: 10, rounds: 3, rate: 20 });
const CHECKS_PER_SECOND = 50;
const CALLERS = 8;
const JSON_TYPE = { 'content-type': 'application/json' };
const TICKS_PER_SECOND = 100;
const LISTS = [
  '/user/list?count=exact&status=active',
  '/user/list?q=knuth',
  '/user/list?carrier_id=carrier-7&order_by=name',
  '/carrier/list',
  '/audit/list',
  '/stats/overview',
];

const start = (directory) => {
  const { startEmbeddedPostgres } = require(path.join(DIST, 'platform', 'embedded-postgres', 'embedded-postgres.js'));
  return startEmbeddedPostgres(directory);
};

/** Starts a primary with users, and a standby from a cold copy of it. */
async function startServers(directory) {
  const first = path.join(directory, 'primary');
  let primary = await start(first);
  await require(path.join(DIST, 'platform', 'database', 'migrate.js')).migrateDatabase(primary.url);
  const client = await connect(primary.url);
  await fill(client, users, await hash(PASSWORD, ARGON2));
  await client.end();
  const standby = await start(path.join(directory, 'standby'));
  await Promise.all([primary.stop(), standby.stop()]);
  fs.rmSync(standby.directory, { recursive: true });
  execFileSync('cp', ['-a', primary.directory, standby.directory]);
  primary = await start(first);
  const { hostname, port } = new URL(primary.url);
  const { PASSWORD_FILE } = require(path.join(DIST, 'platform', 'embedded-postgres', 'postgres-cluster.js'));
  const password = fs.readFileSync(path.join(primary.directory, PASSWORD_FILE), 'utf8');
  const conninfo = `host=${hostname} port=${port} user=postgres password=${password}`;
  fs.writeFileSync(path.join(standby.directory, 'standby.signal'), '');
  fs.appendFileSync(path.join(standby.directory, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  const servers = { primary, standby: await start(path.join(directory, 'standby')) };
  for (const server of Object.values(servers)) {
    atEnd(() => fs.promises.rm(path.dirname(server.directory), { recursive: true, force: true }));
    atEnd(() => server.stop());
  }
  return servers;
}

/** Returns the CPU time in seconds of a server and its backends, ended ones included. */
function cpuOf({ directory }) {
  const postmaster = fs.readFileSync(path.join(directory, 'postmaster.pid'), 'utf8').split('\n')[0];
  const stats = fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        return [[pid, ...fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')]];
      } catch {
        return [];
      }
    })
    .filter(([pid, , parent]) => pid === postmaster || parent === postmaster);
  const ticks = stats.map(([pid, ...fields]) =>
    fields.slice(11, pid === postmaster ? 15 : 13).reduce((sum, value) => sum + Number(value), 0),
  );
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_SECOND;
}

async function logIn({ url }, login) {
  const body = JSON.stringify({ login, password: PASSWORD });
  const answer = await fetch(`${url}/auth/login`, { method: 'POST', headers: JSON_TYPE, body });
  return (await answer.json()).access_token;
}

/** Measures checks of a token, and lists of all callers, on one instance. */
async function measure({ servers, generator, tokens }, { url }, lists) {
  const requests = tokens.flatMap((token) =>
    LISTS.map((one) => ({ method: 'GET', path: one, headers: { authorization: `Bearer ${token}` } })),
  );
  const body = JSON.stringify({ token: tokens[0] });
  const check = { method: 'POST', path: '/auth/check-token', headers: JSON_TYPE, body };
  const streams = [
    { requests: [check], rate: CHECKS_PER_SECOND },
    { requests, rate: lists },
  ];
  await ask(generator, 'run', { url, streams, seconds: 2 });
  const before = Object.values(servers).map(cpuOf);
  const [checks, reads] = await ask(generator, 'run', { url, streams, seconds });
  const [primary, standby] = Object.values(servers).map((server, index) => cpuOf(server) - before[index]);
  if (checks.failed > 0 || Object.keys(reads.statuses).some((status) => !['200', '429'].includes(status)))
    throw new Error(JSON.stringify([checks.statuses, reads.statuses]));
  return { primary, standby, checks: checks.latencies, lists: reads.latencies, rejected: reads.failed };
}

async function main() {
  pinSelf();
  const directory = makeDirectory();
  const servers = await startServers(directory);
  atEnd(stopChildren);
  const client = await connect(servers.primary.url);
  const about = await machine(client, { pinned: true, users });
  const environment = environmentFor(servers.primary.url, directory);
  const alone = await startInstance(environment, { measured: true, pinned: true });
  const url = servers.standby.url;
  const beside = await startInstance({ ...environment, DATABASE_REPLICA_URL: url }, { measured: true, pinned: true });
  const tokens = [];
  // One caller may not wait for more than 20 lists.
  for (const { name } of await choose(client, `roles @> '{administrator}'`, CALLERS))
    tokens.push(await logIn(alone, name));
  const stage = { servers, tokens, generator: startHelper('paced-load.js', true) };
  const modes = [
    { name: 'no lists', instance: beside, lists: 0 },
    { name: 'lists, primary only', instance: alone, lists: rate },
    { name: 'lists, with a replica', instance: beside, lists: rate },
  ].map((mode) => ({ ...mode, runs: [] }));
  for (let round = 1; round <= rounds; round++)
    for (const { name, instance, lists, runs } of modes) {
      runs.push(await measure(stage, instance, lists));
      const { primary, checks } = runs.at(-1);
      tell(`${round}. ${name}: ${primary.toFixed(2)} s, p99 ${quantile(checks, 0.99).toFixed(1)} ms`);
      await delay(1_000);
    }
  const figures = modes.map(({ name, runs }) => {
    const sum = (of) => runs.reduce((all, run) => all + run[of], 0);
    const [checks, lists] = ['checks', 'lists'].map((of) => runs.flatMap((run) => run[of]));
    return {
      name,
      primary: sum('primary'),
      standby: sum('standby'),
      check: quantile(checks, 0.99),
      lists,
      rejected: sum('rejected'),
    };
  });
  const line = ({ name, primary, standby, check, lists, rejected }) => [
    ...[name, String(lists.length), String(rejected), primary.toFixed(2), standby.toFixed(2)],
    ...[lists.length === 0 ? '' : quantile(lists, 0.5).toFixed(1), check.toFixed(1)],
  ];
  const head = [
    'load',
    'lists',
    'of these 429',
    'CPU of the primary, s',
    'CPU of the standby, s',
    'p50 of lists, ms',
    'p99 of check-token, ms',
  ];
  const load = os.loadavg().map((value) => value.toFixed(1));
  console.log(`\n${about}\nLoad average: ${load.join(', ')}. ${rounds} rounds of ${seconds} s in turn.\n`);
  console.log(grid(head, figures.map(line), [0]));
  const [idle, without, shared] = figures;
  const saved = 100 * (1 - (shared.primary - idle.primary) / (without.primary - idle.primary));
  const slower = 100 * (shared.check / idle.check - 1);
  console.log(`\nWith the replica, lists cost the primary ${saved.toFixed(0)} % less CPU time (target: 80 %).`);
  console.log(`The p99 of check-token is ${slower.toFixed(0)} % above that without lists (target: 10 %).`);
}

run(main);
