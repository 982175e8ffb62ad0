// `npm run bench:users`: compares lists, searches, a bulk change and imports of a million
// users with bare SQL in the same run.
//   --users 1000000
//   --rounds 3
//   --seconds 1 (of each round of a list)
//   --only list,bulk (parts of names)
// PostgreSQL and the load share one core, the service runs on the other.
const { measureBulk } = require('./bulk');
const { Logins, Operations, sameFor } = require('./callers');
const { choose } = require('./fill');
const { LISTS } = require('./lists');
const { rssMiB } = require('./processes');
const { comparison, figure, target } = require('./report');
const { chosen, measureRounds, optionsOf, prepare, run } = require('./stage');
const { measureImports } = require('./imports');

const LIST_TARGET = target.ratioAtLeast(0.6);
const SEARCH_TARGET = target.atMost(5, 'ms');
const COUNT_TARGET = target.ratioAtMost(2);
const NUMBERED_PAGE = 1_000;
const NUMBERED_TARGET = target.atLeast(100, 'a second');
/** The service finds and sorts a set of this size; bare SQL reads in sort order (ADR 7). */
const ROLE_TARGET = target.ratioAtLeast(0.15);
const PER_PAGE = 50;
const RSS_MAX_MIB = 300;

const options = optionsOf({ users: 1_000_000, rounds: 3, seconds: 1, only: '' });
const { users, rounds, only } = options;

/** Defines the paths of the lists, and of a page by number beside page 1. */
async function definePaths({ service, baselines }, caller) {
  const load =
    (url, path, connections = 16) =>
    () => ({ url, method: 'GET', headers: caller.headers, requests: sameFor(connections, { path }) });
  const demandOf = (name, connections) => {
    if (connections === 1) return name.startsWith('count') ? COUNT_TARGET : SEARCH_TARGET;
    return name === 'list, role' ? ROLE_TARGET : LIST_TARGET;
  };
  const paths = chosen(LISTS, only).map(({ name, connections, query, path }) => ({
    name,
    byRate: connections > 1,
    demand: demandOf(name, connections),
    load: load(service.url, `/user/list?${query}`, connections),
    baseline: { load: load(baselines.plain, path, connections) },
  }));
  const numbered = Math.min(NUMBERED_PAGE, Math.floor(users / PER_PAGE / 2));
  const name = `list, page ${numbered} by number, beside page 1`;
  const [load1, loadN] = [1, numbered].map((page) => load(service.url, `/user/list?count=none&page=${page}`));
  const baseline = { load: load1, child: service.child };
  const pages = [{ name, byRate: true, demand: NUMBERED_TARGET, load: loadN, baseline }];
  return [...paths, ...chosen(pages, only)];
}

function toMeasure({ name, byRate, demand, samples, baseline }) {
  const of = (all) => all.map(({ rate, p50 }) => (byRate ? rate : p50));
  return figure(name, byRate ? 'requests/s' : 'p50 ms', of(samples), demand, of(baseline.samples));
}

async function main() {
  const stage = await prepare(options);
  const { about, database, service } = stage;
  const [administrator] = await choose(database.client, `roles @> '{administrator}'`, 1);
  const { access_token } = await new Logins(service.url, [administrator]).open(administrator);
  const caller = new Operations(service.url, access_token);
  const paths = await definePaths(stage, caller);
  await measureRounds(paths, stage, options);
  const measures = [
    ...paths.map(toMeasure),
    ...(await measureBulk(stage, caller, options)),
    ...(await measureImports(stage, caller, options)),
    figure('RSS, idle', 'MiB', [stage.rssIdle]),
    figure('RSS, peak', 'MiB', [rssMiB(service.child, 'VmHWM')], target.atMost(RSS_MAX_MIB, 'MiB')),
  ];
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log(`Medians of ${rounds} rounds; import once. Ratio: ours to bare, of rates for lists, of times otherwise.`);
  console.log('VACUUM, ANALYZE and CHECKPOINT run before each change, undo and import, and are not timed.');
}

run(main);
