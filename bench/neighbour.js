// `npm run bench:neighbour`: measures the ordinary work of one carrier, first alone, then during
// each attack by an address without a login or by another carrier.
//   --seconds 10 (of each attack)
//   --only escapes,lists (parts of the names of attacks)
// Each attack has its own copy of the database and its own instance, with default limits. Needs
// Linux, because both parties use several addresses of 127.0.0.0/8.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Client } = require('pg');
const { DIST, environmentFor, startInstance } = require('./instances');
const { createWorld, ordinaryWork, watchMemory } = require('./neighbour-world');
const { ask, pinSelf, startNode, stopChildren } = require('./processes');
const { grid, machine, quantile } = require('./report');
const { atEnd, chosen, createDatabase, run, tell } = require('./stage');

const ATTACKERS = 20_000;
/** More than 10,000 besides four groups of 1,000, so that a change continues in the background. */
const NEIGHBOURS = 15_000;
const WARM_UP_SECONDS = 2;
/** Head start of an attack. */
const AHEAD_MS = 1_000;
const UNFINISHED_AFTER_MS = 15_000;
const GOALS = { 'check p99': 50, 'login p99': 2_000, memory: 300 };
const OPERATIONS = `
  select
    count(*) filter (where finished_at is null)::integer as unfinished,
    max(extract(epoch from coalesce(finished_at, now()) - created_at))::float as slowest
  from operations
  where actor_id = (select user_id from users where name = 'neighbour.manager')`;

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, only: { type: 'string', default: '' } },
});
const seconds = Number(options.seconds);

/** Opens a connection that a dropped database may cut. */
async function connect(url, database = new URL(url).pathname.slice(1)) {
  const to = new URL(url);
  to.pathname = database;
  const client = new Client({ connectionString: to.href });
  client.on('error', () => undefined);
  await client.connect();
  atEnd(() => client.end());
  return client;
}

/** Drops a database. Does not use `force`, which fails on an autovacuum worker of a superuser. */
async function drop(admin, database) {
  const terminate =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and usename = current_user';
  await admin.query(terminate, [database]);
  await admin.query(`drop database if exists ${database}`);
}

/** Creates the database that each measurement copies. */
async function prepareTemplate(directory, pinned) {
  const { url, embedded } = await createDatabase(path.join(directory, 'database'));
  atEnd(stopChildren);
  await require(path.join(DIST, 'database', 'migrate.js')).migrateDatabase(url);
  const environment = { ...environmentFor(url, directory), FRESH_AUTH_SECONDS: '86400' };
  for (const limit of ['LOGIN_ATTEMPTS', 'REQUESTS']) delete environment[`${limit}_PER_ADDRESS_PER_MINUTE`];
  const client = await connect(url);
  const about = await machine(client, { pinned, embedded, users: ATTACKERS + NEIGHBOURS });
  const world = await createWorld(client, environment, {
    attackers: ATTACKERS,
    neighbours: NEIGHBOURS,
    seconds,
    pinned,
  });
  await client.end();
  return { url, environment, world, about };
}

/** Measures the ordinary work, during an attack unless `name` is null. */
async function measure(stage, name) {
  const { url, environment, world, admin, pinned, generator } = stage;
  const database = `${new URL(url).pathname.slice(1)}_copy`;
  await drop(admin, database);
  await admin.query(`create database ${database} template ${new URL(url).pathname.slice(1)}`);
  const copy = new URL(url);
  copy.pathname = database;
  const service = await startInstance({ ...environment, DATABASE_URL: copy.href }, { measured: true, pinned });
  const attacker = startNode([path.join(__dirname, 'neighbour-attacks.js')], { measured: false, pinned, ipc: true });
  const client = await connect(copy.href);
  const work = async (howLong, tag) => {
    const streams = ordinaryWork(world, howLong, tag);
    const results = await ask(generator, 'run', { url: service.url, seconds: howLong, streams });
    return results.map((one, index) => ({ ...one, name: streams[index].name }));
  };
  await work(WARM_UP_SECONDS, 'warm');
  const sizeOf = async () =>
    Number((await client.query('select pg_database_size(current_database()) as size')).rows[0].size);
  const [takeMemory, sizeBefore] = [await watchMemory(service.child, admin, database), await sizeOf()];
  if (name !== null) await ask(attacker, 'start', { name, world, url: service.url, seconds, aheadMs: AHEAD_MS });
  const streams = await work(seconds);
  const result = {
    name: name ?? 'no attack',
    load: os.loadavg()[0],
    attacked: name === null ? {} : await ask(attacker, 'stop'),
    streams,
    memory: await takeMemory(),
  };
  const until = performance.now() + UNFINISHED_AFTER_MS;
  do [result.operations] = (await client.query(OPERATIONS)).rows;
  while (result.operations.unfinished > 0 && performance.now() < until && (await delay(250, true)));
  result.disk = ((await sizeOf()) - sizeBefore) / 2 ** 20;
  await client.end();
  for (const { child } of [service, { child: attacker }]) {
    child.kill('SIGKILL');
    await child.ended;
  }
  return result;
}

/** Returns the goals that a measurement missed. */
function missed({ streams, memory }) {
  const of = (...names) => streams.filter(({ name }) => names.includes(name));
  const p99 = (...names) =>
    quantile(
      of(...names).flatMap(({ latencies }) => latencies),
      0.99,
    );
  return Object.entries({
    'check p99': p99('check', 'check new') > GOALS['check p99'],
    'login p99': p99('login') > GOALS['login p99'],
    ready: of('ready').some(({ failed }) => failed > 0),
    503: streams.some(({ statuses }) => statuses[503] > 0),
    memory: Math.max(memory.service, memory.database) > GOALS.memory,
  }).flatMap(([goal, isMissed]) => (isMissed ? [goal] : []));
}

function tables(results) {
  const shown = (value) => (Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 1 : 0));
  const listed = (statuses) =>
    Object.entries(statuses)
      .map(([status, times]) => `${status}×${times}`)
      .join(' ');
  const names = results[0].streams.map(({ name }) => name);
  const times = results.map(({ name, streams }) => [
    name,
    ...streams.map(({ latencies }) => [0.5, 0.99].map((share) => shown(quantile(latencies, share))).join(' / ')),
  ]);
  const refusals = results.map((result) => {
    const { name, load, attacked, streams, memory, operations, disk } = result;
    const refused = streams.flatMap(({ name: stream, requests, statuses }) => {
      const others = Object.fromEntries(Object.entries(statuses).filter(([status]) => !status.startsWith('2')));
      return Object.keys(others).length === 0 ? [] : [`${stream} ${listed(others)} of ${requests}`];
    });
    const waiting = operations.unfinished > 0 ? `, ${operations.unfinished} unfinished` : '';
    const background = `${shown(operations.slowest)} s${waiting}`;
    const grown = [memory.service, memory.database, disk].map((value) => `+${Math.round(value)}`);
    const goals = missed(result).join(', ');
    return [
      name,
      load.toFixed(1),
      ...grown,
      background,
      goals === '' ? 'all met' : goals,
      refused.join(', ') || 'none',
      listed(attacked),
    ];
  });
  const head = [
    'attack',
    'load',
    'service MiB',
    'database MiB',
    'disk MiB',
    'slowest operation',
    'missed',
    'refused',
    'attacker',
  ];
  return [
    'p50 / p99 ms of the neighbour, from the time at which a request was due',
    grid(['attack', ...names], times, [0]),
    '',
    grid(head, refusals, [0, 6, 7, 8]),
  ].join('\n');
}

async function main() {
  const pinned = pinSelf();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'carrier-identity-bench-'));
  atEnd(() => fs.promises.rm(directory, { recursive: true, force: true }));
  const template = await prepareTemplate(directory, pinned);
  const admin = await connect(template.url, 'postgres');
  atEnd(() => drop(admin, `${new URL(template.url).pathname.slice(1)}_copy`));
  const generator = startNode([path.join(__dirname, 'paced-load.js')], { measured: false, pinned, ipc: true });
  const attacker = startNode([path.join(__dirname, 'neighbour-attacks.js')], { measured: false, pinned, ipc: true });
  const attacks = chosen(
    (await ask(attacker, 'list')).map((name) => ({ name })),
    options.only,
  );
  const stage = { ...template, admin, pinned, generator };
  const results = [];
  // Without an attack first and last, because the speed of the machine may change during the run.
  for (const name of [null, ...attacks.map((attack) => attack.name), null]) {
    results.push(await measure(stage, name));
    tell(`${results.at(-1).name}: ${missed(results.at(-1)).join(', ') || 'all goals met'}`);
  }
  console.log(`${template.about}\n${seconds} s each\n\n${tables(results)}`);
}

run(main);
