import type { Page } from 'playwright-core';
import { expectAccessible, useConsole } from '../support/console';
import { logInAgain, loginAgainDialog, userMenu } from '../support/console-page';
import { phone } from '../support/screens';
import { adminEmail } from '../support/service';

describe('the frame of the console', () => {
  const subject = useConsole();

  it('offers a reload when an update of the service removed a part of the loaded version', async () => {
    const page = await subject.login(undefined, '/account');
    // The file has another name after an update, so the old one is not found.
    await page.route('**/assets/users.routes-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Users' }).click();
    const notice = page.getByRole('dialog', { name: 'A new version is available' });
    await notice.waitFor();
    await expectAccessible(page);
    await page.unroute('**/assets/users.routes-*.js');
    await notice.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { name: 'Users' }).waitFor();
  });

  it('says that the service cannot be reached when a page cannot be loaded, and recovers', async () => {
    const page = await subject.login(undefined, '/account');
    await page.route('**/*', (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByText('The service cannot be reached.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Users' }).waitFor();
  });

  it('offers the user with exactly the typed name first, however many begin like it', async () => {
    await subject.service.createUser({ name: 'exact' });
    for (let index = 0; index < 8; index++) await subject.service.createUser({ name: `exact-${index}` });
    const page = await subject.login();
    await page.keyboard.press('Control+K');
    await page.getByRole('dialog').getByPlaceholder('Go to a page or find a user').fill('exact');
    await page.getByRole('dialog').getByText('exact', { exact: true }).waitFor();
    expect(await page.getByRole('dialog').getByRole('button').first().textContent()).toMatch(/^exact(?!-)/);
  });

  it('says that a search with Ctrl+K failed, and searches again', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.login(undefined, '/account');
    await page.route('**/user/list?*', (route) => route.fulfill({ status: 500 }));
    await page.keyboard.press('Control+K');
    const dialog = page.getByRole('dialog');
    await dialog.getByPlaceholder('Go to a page or find a user').fill(name);
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByText('Nothing found').count()).toBe(0);
    await expectAccessible(page);
    await page.unroute('**/user/list?*');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByRole('button', { name }).waitFor();
  });

  it('finds users with Ctrl+K by name, e-mail, phone, id and request id', async () => {
    const { user_id, name, email } = await subject.service.createUser({ phone: '+436641234567' });
    const changed = await subject.service.patch(`/user/${user_id}`, {
      token: subject.service.admin.token,
      body: { job_title: 'Pilot' },
    });
    const page = await subject.login();
    const option = page.getByRole('dialog').getByRole('button', { name });
    for (const text of [name, email, '0664 1234567', user_id, String(changed.headers['x-request-id'])]) {
      await page.keyboard.press('Control+K');
      await page.getByRole('dialog').getByPlaceholder('Go to a page or find a user').fill(text);
      await option.waitFor();
      await page.keyboard.press('Escape');
      await option.waitFor({ state: 'detached' });
    }
    await page.keyboard.press('Control+K');
    await page.getByRole('dialog').getByPlaceholder('Go to a page or find a user').fill(name);
    await option.waitFor();
    await expectAccessible(page);
    await option.click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  });

  it('has an accessible user menu', async () => {
    const page = await subject.login();
    await userMenu(page).click();
    await page.getByRole('menuitem', { name: 'Log out' }).waitFor();
    await expectAccessible(page);
  });

  it('lists the keyboard shortcuts, and switches those of a single key off', async () => {
    const page = await subject.login();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search', exact: true }).fill('shortcuts');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Next page').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('switch', { name: 'Single-key shortcuts' }).uncheck();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+K');
    await page.getByRole('textbox', { name: 'Search', exact: true }).waitFor();
    expect(await dialog.count()).toBe(0);
  });

  it('keeps the closed navigation of a phone out of the way of the keyboard', async () => {
    const page = await subject.login(undefined, '/account', { viewport: phone });
    await page.getByLabel('First name').waitFor();
    const focused = () => page.evaluate('document.activeElement.textContent');
    const open = page.getByRole('button', { name: 'Open navigation' });
    await userMenu(page).focus();
    await page.keyboard.press('Tab');
    expect(await focused()).not.toBe('Overview');
    await open.click();
    await expectAccessible(page);
    await page.setViewportSize(phone);
    await userMenu(page).focus();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Overview');
    await page.keyboard.press('Escape');
    await open.waitFor();
  });

  /** Opens a page whose clock the test moves, and records its requests. */
  async function openWithClock(path: string, login: string): Promise<{ page: Page; sent: string[] }> {
    const page = await subject.open('/login');
    await page.clock.install();
    await page.goto(subject.at(path));
    await subject.fillLogin(page, login);
    await userMenu(page).waitFor();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    return { page, sent };
  }

  it('sends nothing without input or when hidden, warns before the session ends, and asks for the login', async () => {
    const { page, sent } = await openWithClock('/', adminEmail);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await Promise.all([page.waitForResponse('**/stats/overview'), page.clock.runFor('04:00')]);
    await page.clock.runFor('01:30');
    // The page gets the time to send what it began before it became idle.
    await page.evaluate(`fetch('/health/live').then((response) => response.text())`);
    sent.length = 0;
    await page.clock.runFor('10:00');
    const warning = page.getByRole('dialog', { name: 'Are you still there?' });
    await page.clock.fastForward('40:30');
    expect(await warning.count()).toBe(0);
    await page.clock.fastForward('02:00');
    await warning.getByText(/You will be logged out in [01]:/).waitFor();
    expect(sent).toEqual([]);
    await expectAccessible(page);
    await page.route('**/auth/check-token', (route) => route.fulfill({ status: 500 }));
    await page.route('**/auth/logout', (route) => route.abort('connectionrefused'));
    await warning.getByRole('button', { name: 'Stay logged in' }).click();
    await warning.getByText('The service sent an unexpected response.').waitFor();
    await warning.getByRole('button', { name: 'Log out' }).click();
    await warning.getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/auth/check-token');
    await page.unroute('**/auth/logout');
    sent.length = 0;
    await warning.getByRole('button', { name: 'Stay logged in' }).click();
    await warning.waitFor({ state: 'hidden' });
    await Promise.all([page.waitForResponse('**/stats/overview'), page.clock.runFor('01:00')]);
    expect(sent).toContain('/auth/check-token');
    await page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
      document.dispatchEvent(new Event('visibilitychange'));`);
    sent.length = 0;
    await page.clock.runFor('04:00');
    expect(sent).toEqual([]);
    await page.clock.fastForward('53:30');
    await warning.waitFor();
    await page.clock.fastForward('02:00');
    await loginAgainDialog(page).waitFor();
  });

  it('keeps times relative to now right while a page stays open', async () => {
    const { page } = await openWithClock('/sessions', adminEmail);
    const session = page.getByRole('row').filter({ hasText: 'This session' });
    await session.getByText('just now').first().waitFor();
    await page.clock.runFor('03:30');
    await session.getByText('3 minutes ago').first().waitFor();
  });

  it('continues after the laptop slept, and asks for the login if it slept longer than the session', async () => {
    const { name, user_id } = await subject.service.createUser();
    const { page, sent } = await openWithClock('/account', name);
    const [firstName, save] = [page.getByLabel('First name'), page.getByRole('button', { name: 'Save' })];
    const saved = page.getByText('Your profile is saved.');
    await firstName.fill('Ada');
    // The access token expires meanwhile, the session does not.
    await page.clock.fastForward('30:00');
    await save.click();
    await saved.waitFor();
    expect(sent.filter((path) => path === '/auth/check-token')).toHaveLength(1);
    await page.clock.runFor('00:30');
    await saved.waitFor({ state: 'hidden' });
    await firstName.fill('Grace');
    await subject.endSessions(user_id);
    await page.clock.fastForward('30:00:00');
    await logInAgain(page);
    expect(await firstName.inputValue()).toBe('Grace');
    await save.click();
    await saved.waitFor();
    const [user] = await subject.service.rows('select first_name from users where user_id = $1', [user_id]);
    expect(user).toEqual({ first_name: 'Grace' });
  });
});
