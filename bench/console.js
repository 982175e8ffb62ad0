// `npm run bench:console`: measures the console in a real browser at a million users.
//   --users 1000000
//   --sessions 300000 (stored)
//   --rounds 20
// The service runs on one core; PostgreSQL, the browser and this process share the other. Times of
// pages are those in the browser, until the paint. BENCH_DATABASE_URL selects a server other than
// the embedded one, CHROMIUM another browser.
const path = require('node:path');
const { parseArgs } = require('node:util');
const { changePage, loadCold, logIn, openPage, searchFor, startBrowser } = require('./browser');
const { choose, storeSessions } = require('./fill');
const { DIST } = require('./instances');
const { Logins } = require('./logins');
const { Operations } = require('./operations');
const { comparison, count, target } = require('./report');
const { atEnd, prepare, run, tell } = require('./stage');

const SIZE_MAX_KB = 300;
const PAINT_MAX_MS = 1_000;
const PAGE_CHANGE_MAX_MS = 150;
const OVERVIEW_MAX_MS = 50;
const LOADS = 5;
const KEY_EVERY_MS = 60;
/** Allows a refresh every two minutes at a million users, with at most 1% of a core. */
const REFRESH_MAX_MS = 1_200;

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '1000000' },
    sessions: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '20' },
  },
});
const [users, sessions, rounds] = [options.users, options.sessions, options.rounds].map(Number);

const figure = (name, unit, values, demand = target.none) => ({ name, unit, ours: values, bare: [], demand });
const times = async (amount, work) => {
  const results = [];
  for (let round = 0; round < amount; round++) results.push(await work(round));
  return results;
};
const sum = (values) => values.reduce((total, value) => total + value, 0);
const kilobytes = (scripts) => sum([...scripts.values()]) / 1_000;

/** Logins of the last 24 hours: one for every five users, a tenth of them failed. */
const EVENTS = `
  insert into events (event_type, occurred_at, actor_type, target_type, carrier_id, changes)
  select
    case when i % 10 = 0 then 'login.failed' else 'login.succeeded' end,
    now() - interval '24 hours' * random(), 'system', 'login', carrier_id, '{}'
  from (select carrier_id, row_number() over () as i from users limit $1) people`;

/** Locks a thousand users and requires a second factor of them. */
const WARNINGS = `
  update users set locked_until = now() + interval '1 day', second_factor_required_from = now()
  where user_id in (select user_id from users where deleted_at is null order by md5(name) limit 1000)`;

async function storeActivity(client) {
  tell(`storing ${count(sessions)} sessions and ${count(users / 5)} logins`);
  await storeSessions(client, sessions);
  await client.query('select events_add_months()');
  await client.query(EVENTS, [Math.floor(users / 5)]);
  await client.query(WARNINGS);
  await client.query('vacuum analyze');
}

/** Measures the first load of a page: size, first paint, and the content. */
async function measureLoads(name, page, url, ready) {
  const loads = await times(LOADS, () => loadCold(page, () => page.goto(url), ready));
  const [{ scripts }] = loads;
  return {
    scripts,
    measures: [
      figure(`${name}: JavaScript, gzipped`, 'kB', [kilobytes(scripts)], target.atMost(SIZE_MAX_KB, 'kB')),
      figure(
        `${name}: first paint`,
        'ms',
        loads.map(({ paintMs }) => paintMs),
        target.atMost(PAINT_MAX_MS, 'ms'),
      ),
      figure(
        `${name}: content`,
        'ms',
        loads.map(({ contentMs }) => contentMs),
      ),
    ],
  };
}

/** Measures page changes of the users table with a query, and their requests to the API alone. */
async function measureTable(page, url, name, query) {
  await page.goto(`${url}/users?${query}`);
  const next = page.getByRole('button', { name: 'Next page' });
  const changes = await times(rounds, () => changePage(next));
  return [
    figure(
      `users ${name}: page change`,
      'ms',
      changes.map(({ ms }) => ms),
      target.atMost(PAGE_CHANGE_MAX_MS, 'ms'),
    ),
    figure(
      `users ${name}: the API alone`,
      'ms',
      changes.map(({ apiMs }) => apiMs),
    ),
  ];
}

/** Measures the search while the name of a user is typed. */
async function measureSearch(page, url, client) {
  const people = await choose(client, `status = 'active'`, rounds);
  await page.goto(`${url}/users`);
  const searches = await times(rounds, (round) => searchFor(page, people[round].name, KEY_EVERY_MS));
  return [
    figure(
      'search: from the last key to the row',
      'ms',
      searches.map(({ ms }) => ms),
    ),
    figure(
      'search: the last request alone',
      'ms',
      searches.map(({ apiMs }) => apiMs),
    ),
    figure(
      'search: requests for one word',
      'requests',
      searches.map(({ requests }) => requests),
    ),
  ];
}

/** Measures the requests for the overview, without a browser. */
async function measureOverview(service, callers) {
  const measures = [];
  for (const [name, caller] of callers) {
    const { access_token } = await new Logins(service.url, [caller]).open(caller);
    const operations = new Operations(service.url, access_token);
    await operations.request('GET', '/stats/overview');
    const taken = await times(rounds, async () => {
      const start = performance.now();
      await operations.request('GET', '/stats/overview');
      return performance.now() - start;
    });
    measures.push(figure(`GET /stats/overview, ${name}`, 'ms', taken, target.atMost(OVERVIEW_MAX_MS, 'ms')));
  }
  return measures;
}

/** Measures the job that counts users, sessions and logins. */
async function measureRefresh(client) {
  const { StatsRepository } = require(path.join(DIST, 'stats', 'stats.repository.js'));
  const stats = new StatsRepository({ run: async (fragment) => (await client.query(fragment.toQuery())).rows });
  const taken = await times(LOADS, async () => {
    const start = performance.now();
    await stats.refreshCounts();
    await stats.refreshLogins();
    return performance.now() - start;
  });
  return figure('refresh of the figures', 'ms', taken, target.atMost(REFRESH_MAX_MS, 'ms'));
}

async function main() {
  const { about, database, service } = await prepare({ users });
  const { client } = database;
  await storeActivity(client);
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const [carrier] = await choose(
    client,
    `roles @> '{carrier_administrator}' and carrier_id = 'carrier-0' and status = 'active' and locked_until is null`,
    1,
  );
  const measures = [
    await measureRefresh(client),
    ...(await measureOverview(service, [
      ['administrator', administrator],
      ['one carrier', carrier],
    ])),
  ];
  const browser = await startBrowser();
  atEnd(() => browser.close());
  const page = await openPage(browser);
  const url = `${service.url.replace('127.0.0.1', 'localhost')}/console`;
  const login = await measureLoads('login page', page, `${url}/login`, 'input[type=password]');
  await logIn(page, administrator);
  const start = await measureLoads('start page', page, `${url}/`, 'main [role=img]');
  const table = await measureLoads('users table', page, `${url}/users`, 'tbody tr');
  measures.push(
    ...login.measures,
    ...start.measures,
    ...table.measures,
    ...(await measureTable(page, url, 'by creation', '')),
    ...(await measureTable(page, url, 'by name', 'order_by=name&order_dir=asc')),
    ...(await measureTable(page, url, 'of a carrier', 'carrier_id=carrier-7')),
    ...(await measureSearch(page, url, client)),
  );
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log('Scripts of the start page, gzipped:');
  for (const [file, size] of [...start.scripts].sort(([, one], [, other]) => other - one))
    console.log(`  ${count(size).padStart(9)}  ${file}`);
}

run(main);
