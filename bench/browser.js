// The console in a real browser: pages, the scripts that they load, and times as a user sees them.
/* global document, MessageChannel, PerformanceObserver, requestAnimationFrame */
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { PASSWORD } = require('./fill');

const ASSETS = path.join(__dirname, '..', 'dist', 'console', 'assets');
const PLACES = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Starts Chromium. CHROMIUM selects its program. */
async function startBrowser() {
  const executablePath = PLACES.find((place) => place !== '' && fs.existsSync(place));
  if (executablePath === undefined) throw new Error('install Chromium, or set CHROMIUM to the path of its program');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Opens an empty page in a new browser profile. */
async function openPage(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  return context.newPage();
}

/** Fills in the login page and waits for the page behind it. */
async function logIn(page, { name }) {
  await page.getByLabel('User name or e-mail address').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: /^Menu of/ }).waitFor();
}

/**
 * Loads a page with an empty cache.
 * @param open navigates
 * @param ready selector of the content that the user waits for
 * @returns the gzipped bytes of each script, and the times of first paint and content
 */
async function loadCold(page, open, ready) {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.clearBrowserCache');
  const scripts = new Map();
  const note = (response) => {
    const file = path.basename(new URL(response.url()).pathname);
    if (file.endsWith('.js')) scripts.set(file, fs.statSync(path.join(ASSETS, `${file}.gz`)).size);
  };
  page.on('response', note);
  await open();
  const contentMs = await page.evaluate(shownAfter, { ready });
  const paintMs = await page.evaluate(firstPaint);
  // Scripts that load while the browser is idle are not part of the first load.
  page.off('response', note);
  await client.detach();
  return { scripts, paintMs, contentMs };
}

/**
 * Clicks a button. Returns the time until the table is painted with other rows, and the time of the
 * request.
 */
async function changePage(button) {
  return button.evaluate(async (element) => {
    const firstRow = () => document.querySelector('tbody tr')?.textContent;
    const before = firstRow();
    performance.clearResourceTimings();
    const start = performance.now();
    element.click();
    while (firstRow() === before) await new Promise(requestAnimationFrame);
    // The message arrives after the paint of this frame.
    await new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = resolve;
      port2.postMessage(null);
    });
    const ms = performance.now() - start;
    const [request] = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/user/list'));
    return { ms, apiMs: request.responseEnd - request.startTime };
  });
}

/**
 * Types into the search field. Returns the time from the last key until the table shows the row,
 * the time of the last request, and the number of requests.
 */
async function searchFor(page, text, delay) {
  const input = page.getByRole('searchbox');
  await input.fill('');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 1);
  await page.evaluate(() => performance.clearResourceTimings());
  const found = page.evaluate(async (wanted) => {
    let lastKey = 0;
    document.addEventListener('input', () => (lastKey = performance.now()), true);
    const shown = () => document.querySelector('tbody tr')?.textContent.includes(wanted);
    while (!shown()) await new Promise(requestAnimationFrame);
    const ms = performance.now() - lastKey;
    const requests = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/user/list'));
    const last = requests.at(-1);
    return { ms, apiMs: last.responseEnd - last.startTime, requests: requests.length };
  }, text);
  await input.pressSequentially(text, { delay });
  return found;
}

/** Runs in the page: returns the time from the start of its load to the first paint. */
function firstPaint() {
  return new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const [paint] = list.getEntriesByName('first-contentful-paint');
      if (paint !== undefined) resolve(paint.startTime);
    }).observe({ type: 'paint', buffered: true });
  });
}

/** Runs in the page: returns the time from the start of its load until an element exists. */
async function shownAfter({ ready }) {
  while (document.querySelector(ready) === null) await new Promise(requestAnimationFrame);
  return performance.now();
}

module.exports = { changePage, loadCold, logIn, openPage, searchFor, startBrowser };
