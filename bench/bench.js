// `npm run bench`: compares one instance of the service with baselines in the same run.
//   --rounds 5
//   --seconds 2
//   --users 100000
//   --only login,list (parts of names)
// The service runs on one core; PostgreSQL and the load share the other.
const { Logins } = require('./callers');
const { choose } = require('./fill');
const { definePaths } = require('./paths');
const { rssMiB } = require('./processes');
const { comparison, figure, target } = require('./report');
const { chosen, measureRounds, optionsOf, prepare, run } = require('./stage');

const RSS_IDLE_MAX_MIB = 180;
const RSS_MAX_MIB = 300;
const READY_MAX_MS = 1_500;

const options = optionsOf({ rounds: 5, seconds: 2, users: 100_000, only: '' });

/** Returns the lines of a path for the table: rate, p99 latency and CPU time. */
function toMeasures({ name, target: share, p99Max, samples, baseline }) {
  const line = (unit, field, demand) => {
    const [ours, bare] = [samples, baseline.samples].map((all) => all.map((sample) => sample[field]));
    return figure(`${name}, beside ${baseline.name}`, unit, ours, demand, bare);
  };
  return [
    line('requests/s', 'rate', target.ratioAtLeast(share)),
    line('p99 ms', 'p99', p99Max === undefined ? target.none : target.atMost(p99Max, 'ms')),
    line('CPU µs', 'cpu', target.none),
  ];
}

async function main() {
  const stage = await prepare(options);
  const { about, database, service, rssIdle } = stage;
  const people = await choose(database.client, `status = 'active' and user_type = 'carrier'`, 20_000);
  const paths = chosen(await definePaths(stage, new Logins(service.url, people)), options.only);
  await measureRounds(paths, stage, options);
  const measures = [
    ...paths.flatMap(toMeasures),
    figure('start to ready', 'ms', [service.readyMs], target.atMost(READY_MAX_MS, 'ms')),
    figure('RSS, idle', 'MiB', [rssIdle], target.atMost(RSS_IDLE_MAX_MIB, 'MiB')),
    figure('RSS, at the end', 'MiB', [rssMiB(service.child)], target.atMost(RSS_MAX_MIB, 'MiB')),
  ];
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log(
    `Medians of ${options.rounds} rounds of ${options.seconds} s. Ratio: ours to bare, within a round. ` +
      'CPU µs: CPU time per request of the measured process.',
  );
  console.log('If the load is too slow to keep Nest hello busy, compare the CPU times instead of the rates.');
}

run(main);
