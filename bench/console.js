// `npm run bench:console`: the console in a real browser, with a million users.
//   --users 1000000
//   --pages 25 (page changes)
//   --loads 3 (cold loads of each kind)
// The browser, PostgreSQL and this process share one core, the service runs on the other.
const { openBrowser } = require('../test/support/console/browser');
const { choose, PASSWORD } = require('./fill');
const { comparison, figure, target } = require('./report');
const { atEnd, optionsOf, prepare, run } = require('./stage');

const FIRST_LOAD_MAX_KB = 300;
const PAGE_CHANGE_MAX_MS = 150;
const SLOW_MAX_SECONDS = 8;
/** A phone on the edge of its cell: 400 ms to the first byte, 50 kB/s. */
const SLOW = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const KB = 1_000;

const options = optionsOf({ users: 1_000_000, pages: 25, loads: 3 });

/** Opens an empty profile of the browser with the session of a user. */
async function openProfile(browser, url, login) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  const data = { login, password: PASSWORD, transport: 'cookie' };
  const headers = { 'sec-fetch-site': 'same-origin' };
  const answer = await context.request.post(`${url}/auth/login`, { data, headers });
  if (!answer.ok()) throw new Error(`login: ${await answer.text()}`);
  return context;
}

const firstRow = (page) => page.locator('tbody tr').first();

/** Opens the list of users with an empty cache, until it has rows. Returns bytes and seconds. */
async function loadCold(context, url, network) {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send('Network.enable');
  if (network !== undefined) await session.send('Network.emulateNetworkConditions', network);
  const start = performance.now();
  await page.goto(`${url}/console/users`, { waitUntil: 'commit' });
  await firstRow(page).getByRole('link').first().waitFor();
  return { page, kB: bytes / KB, seconds: (performance.now() - start) / 1_000 };
}

/** Measures cold loads, each in a new profile. */
async function measureLoads(open, url, network) {
  const loads = [];
  for (let load = 0; load < options.loads; load++) {
    const context = await open();
    const { kB, seconds } = await loadCold(context, url, network);
    loads.push({ kB, seconds });
    await context.close();
  }
  return loads;
}

/** Turns pages of the list of users. Returns the milliseconds from each click to the new rows. */
async function measurePages(page) {
  const next = page.getByRole('button', { name: 'Next page' });
  const times = [];
  for (let turn = 0; turn < options.pages; turn++) times.push(await next.evaluate(turnPage));
  return times;
}

/** Runs in the browser. */
function turnPage(button) {
  const { document, performance, requestAnimationFrame } = button.ownerDocument.defaultView;
  const shown = () => document.querySelector('tbody a').href;
  const before = shown();
  const start = performance.now();
  button.click();
  return new Promise((resolve) => {
    const check = () => (shown() === before ? requestAnimationFrame(check) : resolve(performance.now() - start));
    check();
  });
}

async function main() {
  const { about, database, service } = await prepare(options);
  const browser = await openBrowser();
  atEnd(() => browser.close());
  const [{ name }] = await choose(database.client, `roles @> '{administrator}'`, 1);
  const url = service.url.replace('127.0.0.1', 'localhost');
  const open = () => openProfile(browser, url, name);
  await measureLoads(open, url);
  const fast = await measureLoads(open, url);
  const slow = await measureLoads(open, url, SLOW);
  const { page } = await loadCold(await open(), url);
  const kB = fast.map((load) => load.kB);
  const measures = [
    figure('users, first load', 'kB', kB, target.atMost(FIRST_LOAD_MAX_KB, 'kB')),
    figure(
      'users, first load',
      's',
      fast.map(({ seconds }) => seconds),
    ),
    figure(
      'users, first load at 400 ms and 50 kB/s',
      's',
      slow.map(({ seconds }) => seconds),
      target.atMost(SLOW_MAX_SECONDS, 's'),
    ),
    figure('users, next page', 'p50 ms', await measurePages(page), target.atMost(PAGE_CHANGE_MAX_MS, 'ms')),
  ];
  console.log(`\n${about}\n\n${comparison(measures)}\n`);
  console.log(`Medians of ${options.loads} loads with an empty cache, and of ${options.pages} page changes.`);
}

run(main);
