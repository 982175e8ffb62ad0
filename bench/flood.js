// Measures token checks during a flood of logins, and how the flood is rejected.
const os = require('node:os');
const path = require('node:path');
const { checkTokens, CHECK_CONNECTIONS, loginRequest } = require('./auth-paths');
const { dealOut } = require('./logins');
const { ask, startNode, watchRss } = require('./processes');
const { quantile, target } = require('./report');
const { measure, tell } = require('./stage');

const CROWD = 500;
const SECONDS_MIN = 3;
const REJECTED = [429, 503];
const RSS_MAX_MIB = 512;

/** @returns measures for the table */
async function measureFlood({ service, generator, pinned }, { made, logins, rounds, seconds }) {
  const crowd = startNode([path.join(__dirname, 'crowd.js')], { measured: false, pinned, ipc: true });
  const rss = watchRss(service.child);
  // Both share a core: the load must not delay the process that measures the latency of the crowd.
  os.setPriority(generator.pid, 5);
  const howLong = Math.max(seconds, SECONDS_MIN);
  const tokens = (await made.open(2 * CHECK_CONNECTIONS)).map(({ access_token }) => access_token);
  const check = () => checkTokens(service.url, tokens);
  const [idle, flooded, answers, memory] = [[], [], [], []];
  await measure(check, service.child, generator, 1);
  for (let round = 1; round <= rounds; round++) {
    idle.push(await measure(check, service.child, generator, howLong));
    rss.take();
    const requests = dealOut(logins.take(CROWD * (howLong + 1)), CROWD, loginRequest);
    await ask(crowd, 'start', { url: `${service.url}/auth/login`, requests });
    flooded.push(await measure(check, service.child, generator, howLong));
    answers.push(await ask(crowd, 'stop'));
    memory.push(rss.take());
    const [meanwhile, before] = [flooded, idle].map((samples) => Math.round(samples.at(-1).rate));
    tell(`flood, round ${round} of ${rounds}: ${meanwhile} of ${before} checks a second`);
  }
  crowd.disconnect();
  return toMeasures(idle, flooded, answers, memory);
}

function toMeasures(idle, flooded, answers, memory) {
  const of = (samples, field) => samples.map((sample) => sample[field]);
  const those = (matches) => answers.map((all) => all.filter(({ status }) => matches(status)));
  const [accepted, rejected] = [those((status) => status === 200), those((status) => REJECTED.includes(status))];
  const others = those((status) => status !== 200 && !REJECTED.includes(status));
  const counts = (name, groups, demand) => ({
    name,
    unit: 'responses',
    ours: groups.map((all) => all.length),
    bare: [],
    demand,
  });
  const p99 = (name, groups, demand) => {
    const times = groups.filter((all) => all.length > 0).map((all) => quantile(of(all, 'ms'), 0.99));
    return { name, unit: 'p99 ms', ours: times, bare: [], demand };
  };
  const meanwhile = 'flood: check-token meanwhile, beside idle';
  return [
    {
      name: meanwhile,
      unit: 'requests/s',
      ours: of(flooded, 'rate'),
      bare: of(idle, 'rate'),
      demand: target.ratioAtLeast(0.5),
    },
    {
      name: meanwhile,
      unit: 'p99 ms',
      ours: of(flooded, 'p99'),
      bare: of(idle, 'p99'),
      demand: target.atMost(100, 'ms'),
    },
    counts('flood: accepted logins', accepted, target.none),
    p99('flood: accepted logins', accepted, target.none),
    counts('flood: rejected (429, 503)', rejected, target.none),
    p99('flood: rejected (429, 503)', rejected, target.atMost(200, 'ms')),
    counts('flood: other or no response', others, target.atMost(0, 'responses')),
    { name: 'flood: RSS, peak', unit: 'MiB', ours: memory, bare: [], demand: target.atMost(RSS_MAX_MIB, 'MiB') },
  ];
}

module.exports = { measureFlood };
