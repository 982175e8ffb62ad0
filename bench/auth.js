// `npm run bench:auth`: measures tokens, sessions and logins against baselines and targets in one
// run.
//   --rounds 5
//   --seconds 2
//   --users 100000
//   --sessions 1000000 (stored in addition)
//   --revocations 1000 (in each of two phases)
//   --only check-token,flood,revocation (parts of names)
//   --profile DIR (a CPU profile of the service)
// The service runs on one core; PostgreSQL, the load and the second instance share the other.
// BENCH_DATABASE_URL selects a server other than the embedded one.
const { parseArgs } = require('node:util');
const { defineAuthPaths } = require('./auth-paths');
const { choose, storeSessions } = require('./fill');
const { measureFlood } = require('./flood');
const { Logins, MadeSessions } = require('./logins');
const { rssMiB } = require('./processes');
const { comparison, count, target } = require('./report');
const { measureRevocations } = require('./revocations');
const { chosen, measureRounds, prepare, run, tell } = require('./stage');
const { defineLargePaths, defineTokenPaths } = require('./token-paths');

const RSS_IDLE_MAX_MIB = 160;
const READY_MAX_MS = 1_000;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    users: { type: 'string', default: '100000' },
    sessions: { type: 'string', default: '1000000' },
    revocations: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
});
const { only, profile } = options;
const [rounds, seconds, users, sessions, revocations] = ['rounds', 'seconds', 'users', 'sessions', 'revocations'].map(
  (name) => Number(options[name]),
);

/** Returns the lines of a path for the table: rate, p99 latency and CPU time. */
function toMeasures({ name, target: share, p99Max, samples, baseline }) {
  const of = (all, field) => all.map((sample) => sample[field]);
  const measure = (unit, field, demand) => {
    const beside = `${name}, beside ${baseline.name}`;
    return { name: beside, unit, ours: of(samples, field), bare: of(baseline.samples, field), demand };
  };
  return [
    measure('requests/s', 'rate', share === undefined ? target.none : target.ratioAtLeast(share)),
    measure('p99 ms', 'p99', p99Max === undefined ? target.none : target.atMost(p99Max, 'ms')),
    measure('CPU µs', 'cpu', target.none),
  ];
}

async function measurePaths(stage, paths) {
  if (paths.length > 0) await measureRounds(paths, stage, { rounds, seconds });
  return paths.flatMap(toMeasures);
}

/** Runs a part. If it fails, the table says so and the other parts still run. */
async function part(name, work) {
  try {
    return await work();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
    return [{ name: `${name} (failed, see above)`, unit: '', ours: [], bare: [], demand: target.none }];
  }
}

async function measureAll(stage) {
  const { database, service, baselines } = stage;
  const { client } = database;
  const logins = new Logins(service.url, await choose(client, `status = 'active' and user_type = 'carrier'`, 20_000));
  const made = await MadeSessions.start(stage);
  const small = chosen(
    [
      ...(await defineAuthPaths({ client, service: service.url, baselines, logins })),
      ...(await defineTokenPaths(stage, made)),
      ...defineLargePaths(stage, made, ''),
    ],
    only,
  );
  const measures = await part('paths', () => measurePaths(stage, small));
  const large = chosen(defineLargePaths(stage, made, `, of ${count(sessions)} sessions`), only);
  if (large.length > 0) {
    const work = async () => {
      tell(`storing ${count(sessions)} sessions`);
      await storeSessions(client, sessions);
      return measurePaths(stage, large);
    };
    measures.push(...(await part('paths with many sessions', work)));
  }
  const [flood] = chosen([{ name: 'flood', work: () => measureFlood(stage, { made, logins, rounds, seconds }) }], only);
  if (flood !== undefined) measures.push(...(await part('flood', flood.work)));
  const [revocation] = chosen(
    [{ name: 'revocation', work: () => measureRevocations(stage, { made, count: revocations }) }],
    only,
  );
  if (revocation !== undefined) measures.push(...(await part('revocation', revocation.work)));
  return measures;
}

async function main() {
  const stage = await prepare({ users, profile });
  const { about, service, rssIdle } = stage;
  const measures = await measureAll(stage);
  const figure = (name, unit, value, demand) => ({ name, unit, ours: [value], bare: [], demand });
  measures.push(
    figure('start to ready', 'ms', service.readyMs, target.atMost(READY_MAX_MS, 'ms')),
    figure('RSS, idle', 'MiB', rssIdle, target.atMost(RSS_IDLE_MAX_MIB, 'MiB')),
    figure('RSS, at the end', 'MiB', rssMiB(service.child), target.none),
  );
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log(
    `Medians of ${rounds} rounds of ${seconds} s. Ratio: ours to bare, within a round. ` +
      'CPU µs: CPU time per request of the measured process.',
  );
  console.log('If the load is too slow to keep Nest hello busy, compare the CPU times instead of the rates.');
}

run(main);
