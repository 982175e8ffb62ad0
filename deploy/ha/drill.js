// `npm run drill`: breaks a cluster of PostgreSQL under load, and measures what clients of the
// service notice.
//   --variant haproxy, pgbouncer or hosts (the way from the service to the primary)
//   --faults switchover,zombie (default: all)
//   --short (three faults, fewer users and shorter pauses)
//   --console DIRECTORY (writes pictures of the console during the faults)
//   --keep (keeps the directory with the logs)
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Cluster } = require('./cluster');
const { openConsole, watchConsole } = require('./console');
const { faults } = require('./faults');
const { Instances } = require('./instances');
const { Feed, Load } = require('./load');
const { Probe } = require('./probe');
const { Processes } = require('./processes');
const { missingPrograms } = require('./programs');
const { collect, missedGoals, table } = require('./report');
const { startMailServer, startWebhookTarget } = require('./sinks');

const SHORT = 'switchover,kill-primary,zombie';

const { values: options } = parseArgs({
  options: {
    variant: { type: 'string', default: 'haproxy' },
    faults: { type: 'string' },
    short: { type: 'boolean', default: false },
    console: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

const tell = (text) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

/** Returns the shorter pauses of the short variant. */
const secondsOf = (full) => (options.short ? Math.min(full, 12) : full);

/** Applies one fault to the loaded service, and returns its figures. */
async function drill(name, world) {
  const fault = faults[name];
  const { cluster, instances, page } = world;
  if (fault.isAsynchronous) await cluster.setSynchronous(false);
  if (fault.isKept) await instances.restart(1, true);
  tell(fault.title);
  const probe = new Probe(cluster);
  const load = new Load(instances, `${name}-${Date.now()}`);
  await load.start();
  await delay(secondsOf(8) * 1_000);
  await load.startBulk();
  await delay(1_000);
  const faultAt = Date.now();
  let isOver = false;
  const seen = page && watchConsole(page, path.join(options.console, name), () => isOver);
  await fault.run({ ...world, seconds: secondsOf });
  await cluster.healthy();
  isOver = true;
  await delay(10_000);
  const endedAt = Date.now();
  await load.stop();
  if (page) tell(`  ${await seen.catch(String)}`);
  const result = await collect({ ...world, load, probe, faultAt, endedAt, fault, name });
  probe.stop();
  await cluster.rows(`update users set status = 'active' where carrier_id = 'drill' and status = 'disabled'`);
  if (fault.isKept) await instances.restart(1);
  if (fault.isAsynchronous) await cluster.setSynchronous(true);
  const missed = missedGoals(result, fault, !options.short);
  const others = result.unexpected.slice(0, 3).map((one) => JSON.stringify({ ...one, at: one.at - faultAt }));
  if (others.length > 0) tell(`  ${result.unexpected.length} unexpected responses: ${others.join(' ')}`);
  tell(table([result]).split('\n').at(-1));
  for (const goal of missed) tell(`  MISSED: ${goal}`);
  return { ...result, missed };
}

/** Returns the names of the faults to apply. */
function chosenFaults() {
  const names = (options.faults ?? (options.short ? SHORT : Object.keys(faults).join(','))).split(',');
  const unknown = names.find((name) => faults[name] === undefined);
  if (unknown !== undefined) throw new Error(`no fault ${unknown}; there are ${Object.keys(faults).join(', ')}`);
  return names;
}

async function main() {
  const { variant } = options;
  if (!['haproxy', 'pgbouncer', 'hosts'].includes(variant)) throw new Error(`no variant ${variant}`);
  const missing = missingPrograms(variant);
  if (missing.length > 0) throw new Error(`the drill needs ${missing.join(', ')} (deploy/ha/README.md)`);
  const names = chosenFaults();
  tell(`starting the cluster in ${directory}`);
  await cluster.start();
  const sinks = { mails: await startMailServer(), webhooks: await startWebhookTarget() };
  const instances = new Instances(cluster, processes, sinks);
  tell('starting the service');
  await instances.start(options.short ? 2_000 : 20_000);
  const page = options.console && (await openConsole(instances.publicUrl));
  const world = { cluster, instances, sinks, page, feed: new Feed(instances) };
  const results = [];
  for (const name of names) results.push(await drill(name, world));
  const [{ version }] = await cluster.rows(`select current_setting('server_version') as version`);
  const machine = `${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}, Node ${process.versions.node}`;
  console.log(`\n${variant}, PostgreSQL ${version}, ${machine}\n\n${table(results)}`);
  return results.every(({ missed }) => missed.length === 0);
}

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'carrier-identity-drill-'));
const processes = new Processes(directory);
const cluster = new Cluster(directory, processes, options.variant);
process.once('exit', () => {
  processes.end();
  cluster.end();
  if (!options.keep) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
main().then(
  (isMet) => process.exit(isMet ? 0 : 1),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
