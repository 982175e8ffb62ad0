// `npm run bench:neighbour`: measures the ordinary work of one carrier, first alone, then during
// each attack by an address without a login or by another carrier.
//   --seconds 10 (of each attack)
//   --only escapes,lists (parts of the names of attacks)
// Each attack has its own copy of the database and its own instance, with default limits. Needs
// Linux, because both parties use several addresses of 127.0.0.0/8.
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { createWorld, ordinaryWork, watchMemory } = require('./neighbour-world');
const { ask, pinSelf, startHelper, stopChildren } = require('./processes');
const { grid, machine, quantile } = require('./report');
const stageTools = require('./stage');

const { atEnd, chosen, connect, environmentFor, makeDirectory, optionsOf, run, startInstance, tell } = stageTools;

/** More than 10,000 besides four groups of 1,000, so that a change continues in the background. */
const SIZE = { attackers: 20_000, neighbours: 15_000 };
const WARM_UP_SECONDS = 2;
/** Head start of an attack. */
const AHEAD_MS = 1_000;
const UNFINISHED_AFTER_MS = 15_000;
const CHECK_P99_MAX_MS = 50;
const LOGIN_P99_MAX_MS = 2_000;
const GROWTH_MAX_MIB = 300;
const OPERATIONS = `
  select
    count(*) filter (where finished_at is null)::integer as unfinished,
    max(extract(epoch from coalesce(finished_at, now()) - created_at))::float as slowest
  from operations
  where actor_id = (select user_id from users where name = 'neighbour.manager')`;

const { seconds, only } = optionsOf({ seconds: 10, only: '' });

/** Returns the name of the database of a URL. */
const nameOf = (url) => new URL(url).pathname.slice(1);
const withName = (url, name) => new URL(`/${name}`, url).href;

/** Drops a database. Does not use `force`, which fails on an autovacuum worker of a superuser. */
async function drop(admin, database) {
  const terminate =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and usename = current_user';
  await admin.query(terminate, [database]);
  await admin.query(`drop database if exists ${database}`);
}

/** Creates the database that each measurement copies, and the processes of all measurements. */
async function prepareStage() {
  const pinned = pinSelf();
  const directory = makeDirectory();
  const { url, client } = await stageTools.startDatabase(path.join(directory, 'database'));
  atEnd(stopChildren);
  const environment = { ...environmentFor(url, directory), FRESH_AUTH_SECONDS: '86400' };
  for (const limit of ['LOGIN_ATTEMPTS', 'REQUESTS']) delete environment[`${limit}_PER_ADDRESS_PER_MINUTE`];
  const about = await machine(client, { pinned, users: SIZE.attackers + SIZE.neighbours });
  const world = await createWorld(client, environment, { ...SIZE, seconds, pinned });
  await client.end();
  const admin = await connect(withName(url, 'postgres'));
  const copy = withName(url, `${nameOf(url)}_copy`);
  atEnd(() => drop(admin, nameOf(copy)));
  return {
    about,
    pinned,
    template: nameOf(url),
    copy,
    environment,
    world,
    admin,
    generator: startHelper('paced-load.js', pinned),
  };
}

/** Measures the ordinary work, during an attack unless `name` is null. */
async function measure(stage, name) {
  const { template, copy, environment, world, admin, pinned, generator } = stage;
  await drop(admin, nameOf(copy));
  await admin.query(`create database ${nameOf(copy)} template ${template}`);
  const service = await startInstance({ ...environment, DATABASE_URL: copy }, { measured: true, pinned });
  const attacker = startHelper('neighbour-attacks.js', pinned);
  const client = await connect(copy);
  const work = async (howLong, tag) => {
    const streams = ordinaryWork(world, howLong, tag);
    const results = await ask(generator, 'run', { url: service.url, seconds: howLong, streams });
    return results.map((one, index) => ({ ...one, name: streams[index].name }));
  };
  await work(WARM_UP_SECONDS, 'warm');
  const takeMemory = await watchMemory(service.child, admin, nameOf(copy));
  if (name !== null) await ask(attacker, 'start', { name, world, url: service.url, seconds, aheadMs: AHEAD_MS });
  const streams = await work(seconds);
  const attacked = name === null ? {} : await ask(attacker, 'stop');
  const memory = await takeMemory();
  const until = performance.now() + UNFINISHED_AFTER_MS;
  let operations;
  do [operations] = (await client.query(OPERATIONS)).rows;
  while (operations.unfinished > 0 && performance.now() < until && (await delay(250, true)));
  await client.end();
  for (const child of [service.child, attacker]) {
    child.kill('SIGKILL');
    await child.ended;
  }
  return { name: name ?? 'no attack', attacked, streams, memory, operations };
}

/** Returns the goals that a measurement missed. */
function missed({ streams, memory }) {
  const of = (...names) => streams.filter(({ name }) => names.includes(name));
  const p99 = (...names) => {
    const latencies = of(...names).flatMap((stream) => stream.latencies);
    return quantile(latencies, 0.99);
  };
  return Object.entries({
    'check p99': p99('check', 'check new') > CHECK_P99_MAX_MS,
    'login p99': p99('login') > LOGIN_P99_MAX_MS,
    ready: of('ready').some(({ failed }) => failed > 0),
    503: streams.some(({ statuses }) => statuses[503] > 0),
    memory: Math.max(memory.service, memory.database) > GROWTH_MAX_MIB,
  }).flatMap(([goal, isMissed]) => (isMissed ? [goal] : []));
}

function tables(results) {
  const shown = (value) => (Number.isFinite(value) ? value.toFixed(value < 10 ? 1 : 0) : '–');
  const listed = (statuses) => Object.entries(statuses).map(([status, times]) => `${status}×${times}`);
  const times = results.map(({ name, streams }) => [
    name,
    ...streams.map(({ latencies }) => [0.5, 0.99].map((share) => shown(quantile(latencies, share))).join(' / ')),
  ]);
  const effects = results.map((result) => {
    const { name, attacked, streams, memory, operations } = result;
    const refused = streams.flatMap((stream) =>
      listed(stream.statuses).flatMap((text) => (text.startsWith('2') ? [] : [`${stream.name} ${text}`])),
    );
    const grown = [memory.service, memory.database].map((value) => `+${Math.round(value)}`);
    const background = `${shown(operations.slowest ?? NaN)} s, ${operations.unfinished} unfinished`;
    const texts = [missed(result), refused, listed(attacked)].map((all) => all.join(', ') || 'none');
    return [name, ...grown, background, ...texts];
  });
  const head = ['attack', 'service MiB', 'database MiB', 'slowest operation', 'missed', 'refused', 'attacker'];
  return [
    'p50 / p99 ms of the neighbour, from the time at which a request was due',
    grid(['attack', ...results[0].streams.map(({ name }) => name)], times, [0]),
    '',
    grid(head, effects, [0, 4, 5, 6]),
  ].join('\n');
}

async function main() {
  const stage = await prepareStage();
  const names = (await ask(startHelper('neighbour-attacks.js', stage.pinned), 'list')).map((name) => ({ name }));
  const results = [];
  // Without an attack first and last, because the speed of the machine may change during the run.
  for (const { name } of [{ name: null }, ...chosen(names, only), { name: null }]) {
    results.push(await measure(stage, name));
    tell(`${results.at(-1).name}: ${missed(results.at(-1)).join(', ') || 'all goals met'}`);
  }
  console.log(`${stage.about}\n${seconds} s each\n\n${tables(results)}`);
}

run(main);
