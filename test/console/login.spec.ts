import type { Page, Request } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import {
  click,
  confirm,
  fill,
  follow,
  freshAuthenticationDialog,
  headingOf,
  logInAgain,
  loginAgainDialog,
  logOut,
  rowOf,
  sees,
  switchToGerman,
  userMenu,
} from '../support/console-page';
import { loginFrom } from '../support/device-logins';
import { phone } from '../support/screens';
import { adminEmail } from '../support/service';
import { VirtualDevice } from '../support/virtual-device';

describe('logging in to the console', () => {
  const subject = useConsole();
  const loginPage = (page: Page) => headingOf(page, 'Log in').waitFor();
  const liveSessions = (user_id: string) =>
    subject.service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [user_id]);
  const openBeside = async (page: Page, path: string) => {
    const other = await page.context().newPage();
    await subject.goto(other, path, userMenu(other));
    return other;
  };

  it('says what is wrong, returns to the page that was asked for, survives a reload, and logs out (H22)', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.open('/account');
    await loginPage(page);
    await expectAccessible(page);
    await screenshot(page, 'login', { colorScheme: 'dark' });
    await subject.fillLogin(page, name, 'not the right password');
    await sees(page.getByRole('alert'), 'User name or password is wrong');
    await subject.logInOn(page, name, headingOf(page, 'My account'));
    expect(page.url()).toBe(subject.at('/account'));
    await page.reload();
    await userMenu(page).waitFor();
    const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
    expect(await page.evaluate(kept)).not.toMatch(/eyJ|token|carrier-identity-\d|[\w-]{86}/);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    // Another service on localhost plants a second cookie.
    await page.context().addCookies([{ ...cookie!, value: 'planted', path: '/auth' }]);
    await logOut(page);
    expect(await liveSessions(user_id)).toEqual([]);
  });

  it('accepts a passkey by the button and as second factor', async () => {
    const user = await subject.service.loginAs();
    const page = await subject.open('/forgotten-password');
    const device = await VirtualDevice.attach(page);
    await device.enrol(subject.service, user);
    // The field for the name offers passkeys, too. The device must not confirm that request.
    await device.confirms(false);
    await subject.goto(page, '/login', page.getByRole('button', { name: 'Log in with a passkey' }));
    await device.confirms(true);
    await device.recognizes(false);
    await click(page, 'Log in with a passkey', 'The passkey was not used.');
    await device.recognizes(true);
    await click(page, 'Log in with a passkey', userMenu(page));
    await device.confirms(false);
    await logOut(page);
    await subject.logInOn(page, user.name, page.getByRole('button', { name: 'Use a passkey' }));
    await device.confirms(true);
    await click(page, 'Use a passkey', userMenu(page));
  });

  it('lets two tabs refresh one after the other, without ending the session, and logs out all tabs', async () => {
    const { page: first } = await subject.loginAs({});
    const isRefresh = (request: Request) => request.url().endsWith('/auth/check-token');
    let [sent, waiting, waitingMax] = [0, 0, 0];
    first.context().on('request', (request) => {
      if (!isRefresh(request)) return;
      sent++;
      waitingMax = Math.max(waitingMax, ++waiting);
    });
    first.context().on('response', (response) => {
      if (isRefresh(response.request())) waiting--;
    });
    const second = await openBeside(first, '/account');
    for (let round = 0; round < 3; round++) {
      await Promise.all([first.reload(), second.reload()]);
      await Promise.all([userMenu(first).waitFor(), userMenu(second).waitFor()]);
    }
    // One refresh per load of a page.
    expect({ sent, waitingMax }).toEqual({ sent: 7, waitingMax: 1 });
    await logOut(first);
    await loginPage(second);
    await second.reload();
    await loginPage(second);
    expect(await first.context().cookies()).toEqual([]);
  });

  it('asks for the login in a dialog when the session was ended elsewhere, and continues after it', async () => {
    const { name, user_id } = await subject.service.createUser({ user_type: 'system', roles: ['administrator'] });
    const { name: watched, ...other } = await subject.service.createUser();
    await loginFrom(subject.service, watched, 'desktop', '203.0.113.77');
    const page = await subject.login(name, '/sessions');
    await click(rowOf(page, '203.0.113.77'), `End session of ${watched}`);
    await subject.endSessions(user_id);
    await confirm(page, 'End session', loginAgainDialog(page));
    expect(await liveSessions(other.user_id)).toHaveLength(1);
    await expectAccessible(page);
    await logInAgain(page);
    await sees(page, 'The session was ended.');
    expect(await liveSessions(other.user_id)).toEqual([]);
    expect(page.url()).toBe(subject.at('/sessions'));
    // This page sends no request, which would open the login dialog.
    await subject.goto(page, '/nowhere', headingOf(page, 'Page not found'));
    await subject.endSessions(user_id);
    await logOut(page);
  });

  it('does not let the next user of a tab confirm a request of the previous user', async () => {
    const { service } = subject;
    const { token } = service.admin;
    await service.post('/role/create', { token, body: { name: 'left-open', user_types: ['system'] } });
    const { name, user_id } = await service.createUser({ user_type: 'system', roles: ['administrator'] });
    const page = await subject.login(name, '/roles/left-open');
    await subject.ageAuthentication(user_id);
    await page.getByRole('checkbox', { name: /user:read$/ }).check();
    await click(page, 'Save', freshAuthenticationDialog(page));
    await logOut(await openBeside(page, '/account'));
    await loginPage(page);
    await subject.logInOn(page, adminEmail, page.getByRole('button', { name: 'Menu of admin' }));
    expect(await freshAuthenticationDialog(page).count()).toBe(0);
    expect((await service.get('/role/left-open', { token })).body.permissions).toEqual([]);
  });

  it('requests a reset link without saying whether the address is known', async () => {
    const { email } = await subject.service.createUser();
    const page = await subject.open('/login');
    const shown: (string | null)[] = [];
    for (const address of [email, 'unknown@example.com']) {
      await follow(page, 'Forgot your password?');
      await fill(page, { 'E-mail address': address });
      if (shown.length === 0) await expectAccessible(page);
      await click(page, 'Send the link', headingOf(page, 'Check your inbox'));
      shown.push((await page.getByRole('status').textContent())?.replace(address, '') ?? null);
      await subject.goto(page, '/login');
    }
    expect(shown[0]).toBeTruthy();
    expect(shown[1]).toBe(shown[0]);
    await subject.service.mailbox.take(email);
  });

  /** Opens a page whose clock the test moves, and records its requests. */
  async function openWithClock(path: string, login: string): Promise<{ page: Page; sent: string[] }> {
    const page = await subject.login(login, '/nowhere');
    await page.clock.install();
    await subject.goto(page, path, userMenu(page));
    const sent: string[] = [];
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    return { page, sent };
  }

  it('sends nothing without input or when hidden, warns before the session ends, and asks for the login', async () => {
    const { page, sent } = await openWithClock('/', adminEmail);
    await headingOf(page, 'Overview').waitFor();
    await Promise.all([page.waitForResponse('**/stats/overview'), page.clock.runFor('04:00')]);
    await page.clock.runFor('01:30');
    // Waits for requests that the page began before it became idle.
    await page.evaluate(`fetch('/health/live').then((response) => response.text())`);
    sent.length = 0;
    await page.clock.runFor('10:00');
    const warning = page.getByRole('dialog', { name: 'Are you still there?' });
    await page.clock.fastForward('40:30');
    expect(await warning.count()).toBe(0);
    await page.clock.fastForward('02:00');
    await sees(warning, /You will be logged out in [01]:/);
    expect(sent).toEqual([]);
    await expectAccessible(page);
    await page.route('**/auth/check-token', (route) => route.fulfill({ status: 500 }));
    await page.route('**/auth/logout', (route) => route.abort('connectionrefused'));
    await click(warning, 'Stay logged in', 'The service sent an unexpected response.');
    await click(warning, 'Log out', 'The service cannot be reached.');
    await page.unroute('**/auth/check-token');
    await page.unroute('**/auth/logout');
    sent.length = 0;
    await click(warning, 'Stay logged in');
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

  it('updates relative times while the page is open', async () => {
    const { page } = await openWithClock('/sessions', adminEmail);
    await sees(rowOf(page, 'This session'), 'just now');
    await page.clock.runFor('03:30');
    await sees(rowOf(page, 'This session'), '3 minutes ago');
  });

  it('continues after the laptop slept, and asks for the login if it slept longer than the session', async () => {
    const { name, user_id } = await subject.service.createUser();
    const { page, sent } = await openWithClock('/account', name);
    const saved = page.getByText('Your profile is saved.');
    await fill(page, { 'First name': 'Ada' });
    // Only the access token expires meanwhile, not the session.
    await page.clock.fastForward('30:00');
    await click(page, 'Save', saved);
    expect(sent.filter((path) => path === '/auth/check-token')).toHaveLength(1);
    await page.clock.runFor('00:30');
    await saved.waitFor({ state: 'hidden' });
    await fill(page, { 'First name': 'Grace' });
    await subject.endSessions(user_id);
    await page.clock.fastForward('30:00:00');
    await logInAgain(page);
    expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
    await click(page, 'Save', saved);
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Grace' });
  });

  it('works on a phone, and switches to German', async () => {
    const page = await subject.login(undefined, '/', { viewport: phone });
    await click(page, 'Open navigation');
    await follow(page, 'My account', headingOf(page, 'My account'));
    await switchToGerman(page);
    await sees(page, headingOf(page, 'Mein Konto'), expectAccessible);
  });
});
