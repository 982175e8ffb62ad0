// An operator who uses the console in a real browser during a fault.
const fs = require('node:fs');
const path = require('node:path');
const { openBrowser } = require('../../test/support/console/browser');
const { PASSWORD } = require('./instances');

const NOTICE = 'Waiting for the service';
const GOES_ON_WITHIN_MS = 180_000;
const PAUSE_MS = 700;

/** Opens the console, and logs in. */
async function openConsole(url) {
  const browser = await openBrowser();
  const page = await browser.newPage({ locale: 'en-GB', viewport: { width: 1_280, height: 800 } });
  await page.goto(`${url}/console/users`);
  await page.getByLabel('User name or e-mail address').fill('administrator');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('row').nth(1).waitFor();
  return page;
}

/**
 * Moves between pages until the console waits for the service, and reports when it continues.
 * Writes pictures to `<prefix>-*.png`.
 * @param isOver returns whether the fault has ended
 */
async function watchConsole(page, prefix, isOver) {
  fs.mkdirSync(path.dirname(prefix), { recursive: true });
  const notice = page.getByRole('status').filter({ hasText: NOTICE });
  const beganAt = Date.now();
  const since = () => `${((Date.now() - beganAt) / 1_000).toFixed(1)} s`;
  for (let turn = 0; !isOver() && !(await notice.isVisible()); turn++) {
    await page
      .getByRole('link', { name: turn % 2 === 0 ? 'Sessions' : 'Users', exact: true })
      .first()
      .click();
    await page.waitForTimeout(PAUSE_MS);
  }
  if (!(await notice.isVisible())) return 'console: did not have to wait';
  const waitedAt = since();
  await page.screenshot({ path: `${prefix}-waiting.png` });
  await notice.waitFor({ state: 'hidden', timeout: GOES_ON_WITHIN_MS });
  const wentOnAt = since();
  await page.getByRole('row').nth(1).waitFor({ timeout: 20_000 });
  const alerts = await page.getByRole('alert').allInnerTexts();
  await page.screenshot({ path: `${prefix}-continued.png` });
  return `console: waited from ${waitedAt} to ${wentOnAt}, then showed the alerts ${JSON.stringify(alerts)}`;
}

module.exports = { openConsole, watchConsole };
