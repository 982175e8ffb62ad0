// `npm run bench`: compares one instance of the service with baselines in the same run and prints a
// table. Writes only temporary files.
//   --rounds 5
//   --seconds 2
//   --users 100000
//   --only login,list (parts of names)
//   --profile DIR (a CPU profile of the service)
// BENCH_DATABASE_URL selects a server other than the embedded one. The benchmark creates a database
// there and drops it at the end.
const { parseArgs } = require('node:util');
const { definePaths } = require('./paths');
const { rssMiB } = require('./processes');
const { table } = require('./report');
const { chosen, measureRounds, prepare, run } = require('./stage');

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    users: { type: 'string', default: '100000' },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
});
const [rounds, seconds, users] = [options.rounds, options.seconds, options.users].map(Number);

async function main() {
  const stage = await prepare({ users, profile: options.profile });
  const { about, database, service, rssIdle, baselines } = stage;
  const paths = chosen(await definePaths(database.client, service, baselines), options.only);
  await measureRounds(paths, stage, { rounds, seconds });
  console.log(`\n${about}\n\n${table(paths)}\n`);
  console.log(`Service: ready in ${service.readyMs} ms; RSS ${rssIdle} MiB idle, ${rssMiB(service.child)} MiB after.`);
  console.log(
    `Medians of ${rounds} rounds of ${seconds} s. CPU µs: CPU time per request of the measured process. ` +
      '"of CPU": ratio of these times.',
  );
}

run(main);
