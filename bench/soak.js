// `npm run soak`: sends mixed traffic at half of the capacity for 30 minutes, and compares table
// sizes, p99 and memory at the end with minute 5.
//   --users 300000
//   --sessions 100000
//   --minutes 30
//   --load 0.5 (share of the capacity)
// PostgreSQL and the load share one core, the service runs on the other. Autovacuum is on.
const path = require('node:path');
const { parseArgs } = require('node:util');
const { storeSessions } = require('./fill');
const { MadeSessions } = require('./logins');
const { ask, cpuSeconds, rssMiB, startNode } = require('./processes');
const { count, grid, median, quantile } = require('./report');
const { prepare, run, tell } = require('./stage');
const { defineTraffic } = require('./soak-traffic');

const SECONDS = 60;
const CALIBRATION_ROUNDS = 4;
const CALIBRATION_SECONDS = 10;
const CALIBRATION_RATE = 200;
/** Minute that the end is compared with: caches, pools and autovacuum have settled. */
const SETTLED = 5;
const GROWTH_MAX = 1.15;
const TABLE_SIZES = `
  select
    relname as name,
    n_live_tup::float8 as rows,
    n_dead_tup::float8 as dead,
    pg_total_relation_size(relid)::float8 as bytes
  from pg_stat_user_tables
  where n_live_tup > 1000
  order by bytes desc`;

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '300000' },
    sessions: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '30' },
    load: { type: 'string', default: '0.5' },
  },
});
const [users, sessions, minutes, share] = [options.users, options.sessions, options.minutes, options.load].map(Number);

/** Sends all streams for some seconds. Keeps the requests of chains for the next time. */
async function send(streams, rates, seconds, { service, generator }) {
  const paced = streams.map(({ chain, take }, index) => ({
    chain,
    rate: rates[index],
    requests: take(Math.ceil(rates[index] * seconds)),
  }));
  const results = await ask(generator, 'run', { url: service.url, streams: paced, seconds });
  streams.forEach((stream, index) => {
    if (stream.chain) stream.take = () => results[index].requestsLeft;
  });
  return results;
}

/**
 * Returns the requests per second at which the traffic uses the core of the service completely.
 * Repeats the estimate at half of the last one: a busy service needs less CPU time per request.
 */
async function capacityOf(streams, stage) {
  let capacity = 2 * CALIBRATION_RATE;
  for (let round = 0; round < CALIBRATION_ROUNDS; round++) {
    const rates = streams.map((stream) => (stream.share * capacity) / 2);
    const before = cpuSeconds(stage.service.child);
    const results = await send(streams, rates, CALIBRATION_SECONDS, stage);
    const used = cpuSeconds(stage.service.child) - before;
    capacity = results.reduce((sum, { requests }) => sum + requests, 0) / used;
  }
  return capacity;
}

/** Sends all streams for a minute. Returns their results, and the state of service and tables. */
async function soakFor(streams, rate, stage) {
  const rates = streams.map((stream) => rate * stream.share);
  const results = await send(streams, rates, SECONDS, stage);
  const { rows: tables } = await stage.database.client.query(TABLE_SIZES);
  return {
    rss: rssMiB(stage.service.child),
    tables,
    streams: results.map(({ requests, failed, latencies, statuses }, index) => ({
      name: streams[index].name,
      requests,
      failed,
      statuses,
      p99: quantile(latencies, 0.99),
    })),
  };
}

/** Returns the median of a figure over minutes, because a minute with a checkpoint is slower. */
function settled(history, from, figure) {
  return median(history.slice(from, from + 3).map(figure));
}

function verdict(before, after) {
  return after <= before * GROWTH_MAX ? 'yes' : 'NO';
}

function line(name, unit, before, after, digits = 0) {
  const shown = (value) => (digits > 0 ? value.toFixed(digits) : count(value));
  return [name, unit, shown(before), shown(after), (after / before).toFixed(2), verdict(before, after)];
}

/** Compares the end with minute 5. Tables that gained rows are compared by bytes per row. */
function summary(history) {
  const [early, late] = [SETTLED - 1, history.length - 3];
  const compare = (figure) => [settled(history, early, figure), settled(history, late, figure)];
  const lines = [line('RSS', 'MiB', ...compare(({ rss }) => rss))];
  history[early].streams.forEach(({ name }, index) =>
    lines.push(line(`p99 of ${name}`, 'ms', ...compare(({ streams }) => streams[index].p99), 1)),
  );
  const last = history.at(-1);
  for (const before of history[early].tables) {
    const after = last.tables.find(({ name }) => name === before.name);
    if (after === undefined) continue;
    const grows = after.rows > before.rows * 1.01;
    const figure = ({ bytes, rows }) => (grows ? bytes / rows : bytes / 2 ** 20);
    lines.push(line(before.name, grows ? 'B per row' : 'MiB', figure(before), figure(after), 1));
  }
  return grid(['figure', 'unit', `minute ${SETTLED}`, 'end', 'ratio', 'within 15 %'], lines, [0, 1, 5]);
}

async function main() {
  if (minutes < SETTLED + 3) throw new Error(`--minutes must be at least ${SETTLED + 3}`);
  const prepared = await prepare({ users });
  const { pinned } = prepared;
  const generator = startNode([path.join(__dirname, 'paced-load.js')], { measured: false, pinned, ipc: true });
  const stage = { ...prepared, generator };
  await storeSessions(stage.database.client, sessions);
  const streams = await defineTraffic(stage, await MadeSessions.start(stage));
  const rate = share * (await capacityOf(streams, stage));
  tell(`${count(rate)} requests/s`);
  const history = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const state = await soakFor(streams, rate, stage);
    history.push(state);
    const p99 = state.streams.map(({ name, p99: ms }) => `${name} ${ms.toFixed(0)}`).join(', ');
    tell(`minute ${minute}: RSS ${state.rss} MiB; p99 in ms: ${p99}`);
    for (const { name, failed, requests, statuses } of state.streams)
      if (failed > 0) tell(`  ${name}: ${failed} of ${requests} failed: ${JSON.stringify(statuses)}`);
  }
  const sent = history.flatMap((state) => state.streams);
  const total = (field) => sent.reduce((sum, one) => sum + one[field], 0);
  console.log(`\n${stage.about}\n\n${summary(history)}\n`);
  console.log(
    `${count(total('requests'))} requests in ${minutes} minutes at ${count(rate)} requests/s, ` +
      `${count(total('failed'))} failed. Medians of three minutes.`,
  );
}

run(main);
