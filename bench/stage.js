// The environment of a run: a separate database, one instance of the service, and the cleanup.
const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { hash } = require('@node-rs/argon2');
const { Client } = require('pg');
const { ARGON2, fill, PASSWORD } = require('./fill');
const { DIST, environmentFor, startInstance } = require('./instances');
const { ask, cpuSeconds, pinSelf, rssMiB, startNode, stopChildren } = require('./processes');
const { count, machine, sample } = require('./report');

const WARM_UP_SECONDS = 1;

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

/** Creates a database without tables. */
async function createDatabase(directory) {
  let server = process.env.BENCH_DATABASE_URL;
  const embedded = server === undefined;
  if (embedded) {
    const { startEmbeddedPostgres } = require(path.join(DIST, 'embedded-postgres', 'embedded-postgres.js'));
    const postgres = await startEmbeddedPostgres(directory);
    // As root, the cluster may be outside the given directory.
    undo.push(() => fs.promises.rm(path.dirname(postgres.directory), { recursive: true, force: true }));
    undo.push(() => postgres.stop());
    server = postgres.url;
  }
  const name = `carrier_identity_bench_${randomBytes(4).toString('hex')}`;
  const run = async (sql) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`create database ${name}`);
  undo.push(() => run(`drop database if exists ${name} with (force)`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, embedded };
}

/** Creates a migrated, empty database. */
async function startDatabase(directory) {
  const { url, embedded } = await createDatabase(directory);
  const { migrateDatabase } = require(path.join(DIST, 'database', 'migrate.js'));
  await migrateDatabase(url);
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  undo.push(() => client.end());
  return { url, client, embedded };
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
  for (let round = 0; round <= rounds; round++) {
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
 * @param options.profile directory for a CPU profile of the service
 */
async function prepare({ users, profile }) {
  const pinned = pinSelf();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'carrier-identity-bench-'));
  undo.push(() => fs.promises.rm(directory, { recursive: true, force: true }));
  const database = await startDatabase(path.join(directory, 'database'));
  const about = await machine(database.client, { pinned, embedded: database.embedded, users });
  undo.push(stopChildren);

  const start = performance.now();
  await fill(database.client, users, await hash(PASSWORD, ARGON2));
  tell(`${count(users)} users in ${((performance.now() - start) / 1000).toFixed(1)} s`);

  const environment = environmentFor(database.url, directory);
  const service = await startInstance(environment, { measured: true, pinned, profile });
  const rssIdle = rssMiB(service.child);
  const baseline = startNode([path.join(__dirname, 'baselines.js')], { measured: true, pinned, ipc: true });
  const generator = startNode([path.join(__dirname, 'load.js')], { measured: false, pinned, ipc: true });
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

module.exports = { atEnd, chosen, createDatabase, measure, measureRounds, prepare, run, tell };
