// `npm run bench:replica`: measures the CPU time of the primary and the latency of check-token
// while lists are read at a fixed rate, without and with a replica.
//   --users 100000
//   --seconds 20 (per measurement)
//   --rate 5 (lists per second)
// Needs Linux. Both database servers and the load share one core with this process.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { hash } = require('@node-rs/argon2');
const { ARGON2, choose, fill, PASSWORD } = require('./fill');
const { ask, pinSelf, startHelper, stopChildren } = require('./processes');
const { grid, machine, quantile } = require('./report');
const { atEnd, connect, DIST, environmentFor, makeDirectory, optionsOf, run, startInstance, tell } = require('./stage');

const { users, seconds, rate } = optionsOf({ users: 100_000, seconds: 20, rate: 5 });
const CHECKS_PER_SECOND = 50;
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

async function measure({ servers, generator, environment, login }, name, settings, lists) {
  const service = await startInstance({ ...environment, ...settings }, { measured: true, pinned: true });
  const body = JSON.stringify({ login, password: PASSWORD });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/auth/login`, { method: 'POST', headers, body });
  const { access_token: token } = await answer.json();
  const requests = LISTS.map((one) => ({ method: 'GET', path: one, headers: { authorization: `Bearer ${token}` } }));
  const check = { method: 'POST', path: '/auth/check-token', headers, body: JSON.stringify({ token }) };
  const streams = [
    { requests: [check], rate: CHECKS_PER_SECOND },
    { requests, rate: lists },
  ];
  await ask(generator, 'run', { url: service.url, streams, seconds: 2 });
  const before = { primary: cpuOf(servers.primary), standby: cpuOf(servers.standby) };
  const [checks, reads] = await ask(generator, 'run', { url: service.url, streams, seconds });
  const cpu = { primary: cpuOf(servers.primary) - before.primary, standby: cpuOf(servers.standby) - before.standby };
  service.child.kill('SIGTERM');
  await service.child.ended;
  if (checks.failed + reads.failed > 0)
    throw new Error(`${name}: ${JSON.stringify([checks.statuses, reads.statuses])}`);
  return {
    name,
    cpu,
    check: quantile(checks.latencies, 0.99),
    list: quantile(reads.latencies, 0.5),
    reads: reads.requests,
  };
}

async function main() {
  pinSelf();
  const directory = makeDirectory();
  const servers = await startServers(directory);
  atEnd(stopChildren);
  const client = await connect(servers.primary.url);
  const about = await machine(client, { pinned: true, users });
  const [{ name: login }] = await choose(client, `roles @> '{administrator}'`, 1);
  const environment = environmentFor(servers.primary.url, directory);
  const stage = { servers, environment, login, generator: startHelper('paced-load.js', true) };
  const replica = { DATABASE_REPLICA_URL: servers.standby.url };
  const measures = [];
  for (const [name, settings, lists] of [
    ['no lists', {}, 0],
    ['lists, primary only', {}, rate],
    ['lists, with a replica', replica, rate],
  ]) {
    tell(name);
    measures.push(await measure(stage, name, settings, lists));
    await delay(1_000);
  }
  const [, alone, shared] = measures.map(({ cpu }) => cpu.primary);
  const line = ({ name, cpu, check, list, reads }) => [
    ...[name, String(reads), cpu.primary.toFixed(2), cpu.standby.toFixed(2)],
    ...[reads === 0 ? '' : list.toFixed(1), check.toFixed(1)],
  ];
  console.log(`\n${about}\n`);
  const head = [
    'load',
    'lists',
    'CPU of the primary, s',
    'CPU of the standby, s',
    'p50 of lists, ms',
    'p99 of check-token, ms',
  ];
  console.log(grid(head, measures.map(line), [0]));
  const saved = 100 * (1 - shared / alone);
  console.log(`\nWith the replica, the primary needs ${saved.toFixed(0)} % less CPU time (target: 80 %).`);
}

run(main);
