// `npm run bench:traces`: what traces cost check-token, beside the same service without traces.
//   --rounds 5
//   --seconds 2
//   --users 1000
//   --ratios 1,0.1 (OTEL_TRACES_SAMPLER_ARG), in addition to the default settings
//   --before <dist/src of another tree>, to compare both without traces
const { createServer } = require('node:http');
const { checkRequest, dealOut, Logins } = require('./callers');
const { choose } = require('./fill');
const { comparison, figure, target } = require('./report');
const { atEnd, measureRounds, optionsOf, prepare, run, startInstance } = require('./stage');

const CONNECTIONS = 64;

const options = optionsOf({ rounds: 5, seconds: 2, users: 1_000, ratios: '1,0.1', before: '' });

/** Starts a collector that accepts everything. Shares a core with the load. */
async function startCollector() {
  const server = createServer((request, response) => request.on('end', () => response.end()).resume());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => server.closeAllConnections());
  atEnd(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

async function main() {
  const stage = await prepare(options);
  const { about, database, environment, service: off, pinned } = stage;
  const people = await choose(database.client, `status = 'active' and user_type = 'carrier'`, 2 * CONNECTIONS);
  const logins = await new Logins(off.url, people).openMany(2 * CONNECTIONS);
  const tokens = logins.map(({ access_token }) => access_token);
  const load = (url) => () => ({ url, method: 'POST', requests: dealOut(tokens, CONNECTIONS, checkRequest) });

  const endpoint = await startCollector();
  const traced = (name, rate, sampler) => ({
    name,
    rate,
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...sampler },
  });
  const variants = [
    traced('traces, default', target.ratioAtLeast(0.85), {}),
    ...options.ratios.split(',').map((ratio) => {
      const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ratio };
      return traced(`traces, ratio ${ratio}`, target.none, sampler);
    }),
  ];
  if (options.before !== '')
    variants.push({ name: 'before', rate: target.ratioAtMost(1.02), settings: {}, dist: options.before });

  const measures = [];
  for (const { name, rate, settings, dist } of variants) {
    const started = { measured: true, pinned, ...(dist && { dist }) };
    const service = await startInstance({ ...environment, ...settings }, started);
    const baseline = { name: 'no traces', child: off.child, load: load(off.url) };
    const path = { name, load: load(service.url), baseline };
    await measureRounds([path], { ...stage, service }, options);
    const field = (of, key) => of.map((sample) => sample[key]);
    const line = (unit, key, demand) =>
      figure(`${name}, beside no traces`, unit, field(path.samples, key), demand, field(baseline.samples, key));
    measures.push(line('requests/s', 'rate', rate), line('CPU µs', 'cpu', target.none));
    service.child.kill();
    await service.child.ended;
  }
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log(`POST /auth/check-token, ${CONNECTIONS} connections. Medians of ${options.rounds} rounds.`);
}

run(main);
