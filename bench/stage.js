// The environment of a run: its options, a separate database, instances of the service, and the
// cleanup.
const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { hash } = require('@node-rs/argon2');
const { Client } = require('pg');
const { ARGON2, fill, PASSWORD } = require('./fill');
const { ask, cpuSeconds, freePort, pinSelf, rssMiB, startHelper, startNode, stopChildren } = require('./processes');
const { count, machine, sample } = require('./report');

const DIST = path.join(__dirname, '..', 'dist', 'src');
const READY_WITHIN_MS = 60_000;
const WARM_UP_SECONDS = 1;

/** Returns the options of the command line. Numbers have the types of their defaults. */
function optionsOf(defaults) {
  const entries = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: String(value) }]);
  const { values } = parseArgs({ options: Object.fromEntries(entries) });
  for (const [name, value] of Object.entries(defaults))
    if (typeof value === 'number') values[name] = Number(values[name]);
  return values;
}

/** Cleanup steps, run in reverse order. */
const undo = [];
let finishing = null;

function finish() {
  finishing ??= (async () => {
    for (const step of undo.reverse())
      try {
        await step();
      } catch (error) {
        console.error(error);
      }
  })();
  return finishing;
}

function tell(text) {
  if (finishing === null) console.error(text);
}

/** Adds a cleanup step. */
function atEnd(step) {
  undo.push(step);
}

/**
 * Returns the settings that all instances on one database share, so that they accept the same
 * tokens.
 */
function environmentFor(databaseUrl, directory) {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    PORT: '0',
    PUBLIC_URL: 'http://localhost',
    DATABASE_URL: databaseUrl,
    APP_SECRET: randomBytes(32).toString('base64'),
    DATA_DIR: directory,
    LOG_LEVEL: 'warn',
    ACCESS_TOKEN_TTL_SECONDS: '3600',
    LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
    REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
  };
}

/**
 * Starts an instance and waits until it is ready.
 * @param options.dist compiled service, by default of this tree
 * @param options.withinMs time to wait, by default 60 s
 */
async function startInstance(environment, options) {
  const { measured, pinned, dist = DIST, stdout = 'ignore', withinMs = READY_WITHIN_MS } = options;
  const port = await freePort();
  const start = performance.now();
  const child = startNode([path.join(dist, 'main.js')], {
    measured,
    pinned,
    env: { ...environment, PORT: String(port) },
    cwd: environment.DATA_DIR,
    stdout,
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/health/ready`).catch(() => ({ ok: false }))).ok) {
    if (child.exitCode !== null || performance.now() - start > withinMs) throw new Error('the service does not start');
    await delay(20);
  }
  return { child, url, readyMs: Math.round(performance.now() - start) };
}

/** Starts a database without tables. */
async function createDatabase(directory) {
  const { startEmbeddedPostgres } = require(path.join(DIST, 'platform', 'embedded-postgres', 'embedded-postgres.js'));
  const postgres = await startEmbeddedPostgres(directory);
  // As root, the cluster may be outside the given directory.
  undo.push(() => fs.promises.rm(path.dirname(postgres.directory), { recursive: true, force: true }));
  undo.push(() => postgres.stop());
  return postgres.url;
}

/** Opens a connection for the whole run. Ignores the error if a dropped database closes it. */
async function connect(url) {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  undo.push(() => client.end());
  return client;
}

/** Creates a migrated, empty database. */
async function startDatabase(directory) {
  const url = await createDatabase(directory);
  await require(path.join(DIST, 'platform', 'database', 'migrate.js')).migrateDatabase(url);
  return { url, client: await connect(url) };
}

/** Creates a directory for the duration of the run. */
function makeDirectory() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'carrier-identity-bench-'));
  undo.push(() => fs.promises.rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Measures one round of a load, with the CPU time of its process. */
async function measure(load, child, generator, howLong) {
  const job = await load?.();
  const before = cpuSeconds(child);
  const result =
    job === undefined ? await ask(child, 'hash', howLong) : await ask(generator, 'run', { ...job, seconds: howLong });
  if (result.failed > 0 || result.requests === 0)
    throw new Error(
      `${job?.url}${job?.requests[0][0].path}: ${result.failed} of ${result.requests} failed ` +
        JSON.stringify(result.statuses),
    );
  return sample(result, cpuSeconds(child) - before);
}

/**
 * Measures each path and its baseline in turn, `rounds` times after a warm-up. Sets their
 * `samples`.
 */
async function measureRounds(paths, { service, baseline, generator }, { rounds, seconds }) {
  for (let round = 0; round <= rounds && paths.length > 0; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    const howLong = round === 0 ? WARM_UP_SECONDS : seconds;
    for (const one of paths) {
      const ours = await measure(one.load, service.child, generator, howLong);
      const theirs = await measure(one.baseline.load, one.baseline.child ?? baseline, generator, howLong);
      if (round === 0) [one.samples, one.baseline.samples] = [[], []];
      else [one.samples, one.baseline.samples] = [one.samples.concat(ours), one.baseline.samples.concat(theirs)];
    }
  }
}

/**
 * Prepares the environment with a number of users.
 * @param options.settings other settings of the service
 */
async function prepare({ users, settings = {} }) {
  const pinned = pinSelf();
  const directory = makeDirectory();
  const database = await startDatabase(path.join(directory, 'database'));
  const about = await machine(database.client, { pinned, users });
  undo.push(stopChildren);

  const start = performance.now();
  await fill(database.client, users, await hash(PASSWORD, ARGON2));
  tell(`${count(users)} users in ${((performance.now() - start) / 1000).toFixed(1)} s`);

  const environment = { ...environmentFor(database.url, directory), ...settings };
  const service = await startInstance(environment, { measured: true, pinned });
  const rssIdle = rssMiB(service.child);
  const baseline = startHelper('baselines.js', pinned, true);
  const generator = startHelper('load.js', pinned);
  const baselines = await ask(baseline, 'start', database.url);
  return { about, database, environment, service, rssIdle, pinned, baseline, generator, baselines };
}

/** Returns the items whose name contains one of the comma-separated parts. */
function chosen(all, only) {
  return all.filter(({ name }) => only.split(',').some((part) => name.includes(part)));
}

/** Runs a benchmark and cleans up, even after an interruption. */
function run(main) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => void finish().then(() => process.exit(130)));
  main().then(
    () => finish(),
    async (error) => {
      if (finishing === null) {
        console.error(error);
        process.exitCode = 1;
      }
      await finish();
    },
  );
}

module.exports = {
  atEnd,
  chosen,
  connect,
  createDatabase,
  DIST,
  environmentFor,
  makeDirectory,
  measureRounds,
  optionsOf,
  prepare,
  run,
  startDatabase,
  startInstance,
  tell,
};
