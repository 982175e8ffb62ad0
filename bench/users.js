// `npm run bench:users`: compares lists, searches, bulk changes, import and export of a million
// users with bare SQL in the same run.
//   --users 1000000
//   --rounds 3
//   --seconds 1 (of each round of a list)
//   --only list,bulk (parts of names)
//   --profile DIR (a CPU profile of the service)
// PostgreSQL and the load share one core, the service runs on the other. BENCH_DATABASE_URL selects
// a server other than the embedded one, version 18 or later.
const { parseArgs } = require('node:util');
const { measureBulk } = require('./bulk');
const { choose } = require('./fill');
const { LISTS } = require('./lists');
const { Logins, sameFor } = require('./logins');
const { Operations } = require('./operations');
const { watchRss } = require('./processes');
const { comparison, target } = require('./report');
const { chosen, measureRounds, prepare, run, tell } = require('./stage');
const { measureTransfer } = require('./transfer');

const LIST_TARGET = target.ratioAtLeast(0.6);
const DEEP_TARGET = target.ratioAtLeast(0.8);
const SEARCH_TARGET = target.atMost(5, 'ms');
const COUNT_TARGET = target.ratioAtMost(2);
const DEEP_PAGE = 10_000;
const NUMBERED_PAGE = 1_000;
const NUMBERED_TARGET = target.atLeast(100, 'a second');
const ROLE_TARGET = target.ratioAtLeast(0.35);
const PER_PAGE = 50;
const PER_PAGE_MAX = 500;
const RSS_MAX_MIB = 300;

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
});
const { only } = options;
const [users, rounds, seconds] = [options.users, options.rounds, options.seconds].map(Number);

/** Defines the paths of the lists. */
async function definePaths({ service, baselines }, caller) {
  const load = (url, path, connections) => () => ({
    url,
    method: 'GET',
    headers: caller.headers,
    requests: sameFor(connections, { path }),
  });
  const lists = chosen(LISTS, only).map(({ id, name, connections, query }) => ({
    name,
    byRate: connections > 1,
    demand: demandOf(name, connections),
    load: load(service.url, `/user/list?${query}`, connections),
    baseline: { load: load(baselines.plain, `/list/${id}`, connections) },
  }));
  const page = (query) => load(service.url, `/user/list?count=none${query}`, 16);
  const baseline = { load: page(''), child: service.child };
  const deep = Math.min(DEEP_PAGE, Math.floor(users / PER_PAGE / 2));
  const numbered = Math.min(NUMBERED_PAGE, Math.floor(users / PER_PAGE / 2));
  for (const { name, demand, query } of chosen(
    [
      {
        name: `list, page ${numbered} by number beside page 1`,
        demand: NUMBERED_TARGET,
        query: () => `&page=${numbered}`,
      },
      {
        name: `list, page ${deep} by cursor beside page 1`,
        demand: DEEP_TARGET,
        query: async () => `&cursor=${await cursorOf(caller, deep)}`,
      },
    ],
    only,
  ))
    lists.push({ name, byRate: true, demand, load: page(await query()), baseline: { ...baseline } });
  return lists;
}

function demandOf(name, connections) {
  if (connections === 1) return name.startsWith('count') ? COUNT_TARGET : SEARCH_TARGET;
  return name === 'list, role' ? ROLE_TARGET : LIST_TARGET;
}

/** Returns the cursor of a page by reading large pages up to it. */
async function cursorOf(caller, page) {
  tell(`reading up to page ${page}`);
  let cursor = '';
  for (let passed = 0; passed < (page - 1) * PER_PAGE;) {
    const per_page = Math.min(PER_PAGE_MAX, (page - 1) * PER_PAGE - passed);
    const { next_cursor } = await caller.request(
      'GET',
      `/user/list?count=none&per_page=${per_page}${cursor && `&cursor=${cursor}`}`,
    );
    cursor = next_cursor;
    passed += per_page;
  }
  return cursor;
}

function toMeasure({ name, byRate, demand, samples, baseline }) {
  const of = (all) => all.map(({ rate, p50 }) => (byRate ? rate : p50));
  return { name, unit: byRate ? 'requests/s' : 'p50 ms', ours: of(samples), bare: of(baseline.samples), demand };
}

async function main() {
  const stage = await prepare({ users, profile: options.profile });
  const { about, database, service, rssIdle } = stage;
  const [administrator] = await choose(database.client, `roles @> '{administrator}'`, 1);
  const { access_token } = await new Logins(service.url, [administrator]).open(administrator);
  const caller = new Operations(service.url, access_token);
  const rss = watchRss(service.child);
  const memory = [];
  const phase = async (name, work) => {
    const measures = await work();
    if (measures.length > 0)
      memory.push({
        name: `RSS during ${name}`,
        unit: 'MiB',
        ours: [rss.take()],
        bare: [],
        demand: target.atMost(RSS_MAX_MIB, 'MiB'),
      });
    return measures;
  };
  const lists = await phase('lists', async () => {
    const paths = await definePaths(stage, caller);
    if (paths.length > 0) await measureRounds(paths, stage, { rounds, seconds });
    return paths.map(toMeasure);
  });
  const bulk = await phase('bulk changes', () => measureBulk(stage, caller, { rounds, only }));
  const transfer = await phase('import and export', () => measureTransfer(stage, caller, { rounds, users, only }));
  console.log(`\n${about}\n\n${comparison([...lists, ...bulk, ...transfer, ...memory])}\n`);
  console.log(
    `Service: RSS ${rssIdle} MiB idle. Medians of ${rounds} rounds; import once. ` +
      'Ratio: ours to bare, of rates for lists, of times otherwise.',
  );
  console.log(
    'VACUUM, ANALYZE and CHECKPOINT run before each bulk change, undo, import and export, and are not timed.',
  );
}

run(main);
