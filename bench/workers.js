// `npm run bench:workers`: the CPU time per request of an instance with two workers, beside an
// instance of one process. Both may use all cores. The load and PostgreSQL share one of them.
//   --rounds 7
//   --seconds 3
// CPU times include the primary process.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const { parseArgs } = require('node:util');
const { checkTokens, loginRequest } = require('./auth-paths');
const { startInstance } = require('./instances');
const { choose } = require('./fill');
const { dealOut, Logins, MadeSessions } = require('./logins');
const { ask, cpuSeconds } = require('./processes');
const { comparison, target } = require('./report');
const { prepare, run, tell } = require('./stage');

const CONNECTIONS = 16;
const RATIO_MAX = 1.15;

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '3' } },
});
const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)];

/** Returns the ids of a process and its children. */
function processesOf({ pid }) {
  return [pid, ...fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)];
}

/** Lets a process and its children use all cores. */
function unpin(child) {
  const cores = `0-${os.cpus().length - 1}`;
  for (const pid of processesOf(child)) execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}

/** Returns the CPU time of a process and its children. */
function cpuOfAll(child) {
  return processesOf(child).reduce((sum, pid) => sum + cpuSeconds({ pid }), 0);
}

/** Returns the CPU time per request in µs. */
async function measure({ url, child }, path, generator) {
  const before = cpuOfAll(child);
  const result = await ask(generator, 'run', { ...path.load(url), seconds });
  if (result.failed > 0) throw new Error(`${path.name}: ${result.failed} failed ${JSON.stringify(result.statuses)}`);
  return ((cpuOfAll(child) - before) / result.requests) * 1e6;
}

async function main() {
  const stage = await prepare({ users: 5_000 });
  const { about, database, environment, service, pinned, generator } = stage;
  const workers = await startInstance({ ...environment, WORKERS: '2' }, { measured: true, pinned });
  for (const { child } of [service, workers]) unpin(child);
  const made = await MadeSessions.start(stage);
  // Few, so that each worker soon has all of them in memory: a connection may reach either worker.
  const tokens = (await made.open(128)).map(({ access_token }) => access_token);
  const users = await choose(database.client, `status = 'active' and user_type = 'carrier'`, 2_000);
  const logins = new Logins(service.url, users);
  const takeLogins = () => dealOut(logins.take(100 * CONNECTIONS), CONNECTIONS, loginRequest);
  const paths = [
    { name: 'check-token', load: (url) => checkTokens(url, tokens) },
    { name: 'login', load: (url) => ({ url, method: 'POST', requests: takeLogins() }) },
  ];
  const measures = paths.map(({ name }) => {
    const demand = target.ratioAtMost(RATIO_MAX);
    return { name: `${name}, two workers beside one process`, unit: 'CPU µs', ours: [], bare: [], demand };
  });
  for (let round = 0; round <= rounds; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const [index, path] of paths.entries()) {
      const [ours, bare] = [await measure(workers, path, generator), await measure(service, path, generator)];
      if (round === 0) continue;
      measures[index].ours.push(ours);
      measures[index].bare.push(bare);
    }
  }
  console.log(`\n${about}\n\n${comparison(measures)}`);
}

run(main);
