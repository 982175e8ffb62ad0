import { readFileSync } from 'node:fs';
import type { Page, Request } from 'playwright-core';
import { Secret, TOTP } from 'otpauth';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
import {
  choose,
  click,
  confirm,
  dialogOf,
  faultyInput,
  fill,
  follow,
  freshAuthenticationDialog,
  headingOf,
  logInAgain,
  loginAgainDialog,
  logOut,
  proveIdentity,
  rowOf,
  sees,
  submit,
  userMenu,
} from '../support/console/console-page';
import { loginFrom } from '../support/logins/device-logins';
import { enrolApp, forgetSteps } from '../support/logins/factors';
import { partsOf } from '../support/network/mail-parts';
import { phone } from '../support/console/screens';
import { adminEmail, password } from '../support/service';
import { VirtualDevice } from '../support/console/virtual-device';

const newPassword = 'violet kettle marches over 9 hills';
const required = { second_factor_required_from: '2020-01-01T00:00:00Z' };

describe('the login and the account page of the console', () => {
  const subject = useConsole();
  const patch = (user_id: string, body: object) =>
    subject.service.patch(`/user/${user_id}`, { token: subject.service.admin.token, body });

  it('saves changed fields of the profile, and shows an error at its field', async () => {
    const { page, user_id } = await subject.loginAs({ first_name: 'Ada', job_title: 'Clerk' }, '/account');
    await sees(page, 'You have no second factor.', expectAccessible);
    await fill(page, { 'Last name': 'Lovelace', Phone: '0664 123', 'Job title': '' });
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Vienna');
    await page.getByRole('option', { name: 'Europe/Vienna' }).click();
    await page.getByRole('combobox', { name: 'Language of e-mails' }).click();
    await page.getByRole('option', { name: 'German' }).click();
    await click(page, 'Save', 'must start with + and the country code', faultyInput(page, 'Phone'));
    await submit(page, { Phone: '+436641234567' }, 'Save', 'The changes are saved.');
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'hidden' });
    const saved = { first_name: 'Ada', last_name: 'Lovelace', phone: '+436641234567', job_title: null };
    expect(await subject.userOf(user_id)).toMatchObject({ ...saved, timezone: 'Europe/Vienna', locale: 'de' });
    await follow(page, 'Show sessions');
    await page.waitForURL(subject.at('/sessions'));
  });

  it('asks which values to keep after a change elsewhere, and changes the address by a link (B16)', async () => {
    const { page, name, user_id } = await subject.loginAs({ first_name: 'Ada', job_title: 'Clerk' }, '/account');
    await fill(page, { 'First name': 'Grace', Phone: '0664 123' });
    const theirs = { first_name: 'Augusta', job_title: 'Director' };
    expect((await patch(user_id, theirs)).status).toBe(200);
    await click(page, 'Save', 'must start with + and the country code');
    await fill(page, { Phone: '' });
    // This part of the page reads the user again, but the input began with the version before.
    const address = `new-${name}@example.com`;
    await click(page, 'Change e-mail address');
    const form = dialogOf(page, 'Change e-mail address');
    await fill(form, { 'New e-mail address': address, 'Current password': 'not the right password' });
    await click(form, 'Send the link', 'The current password is wrong.');
    await submit(form, { 'Current password': password }, 'Send the link', `Open the link in the e-mail to ${address}`);
    await click(page, 'Keep the current address', 'Your address stays as it is.');
    await page.getByText('Open the link in the e-mail').waitFor({ state: 'detached' });
    expect((await subject.userOf(user_id)).email_pending).toBeNull();
    await click(page, 'Change e-mail address');
    await fill(form, { 'New e-mail address': address });
    await submit(form, { 'Current password': password }, 'Send the link', `Open the link in the e-mail to ${address}`);
    await click(page, 'Save');
    const versions = dialogOf(page, 'Someone else has saved changes in the meantime');
    await sees(versions.getByRole('radiogroup', { name: 'First name' }), 'Augusta', expectAccessible);
    expect(await subject.userOf(user_id)).toMatchObject(theirs);
    await click(versions, 'Save my choice', 'The changes are saved.');
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Grace', job_title: 'Director' });
    // Each proposal sends a mail. The link of the first does not work.
    const sent = () => subject.service.mailbox.take(address, /\/auth\/email\//);
    const [, { token, source }] = [await sent(), await sent()];
    await page.goto('about:blank');
    await page.setContent(partsOf(source).html);
    await sees(page, headingOf(page, 'Confirm your e-mail address'), expectAccessible);
    await page.goto(`${subject.url}/auth/email/${token}`);
    await sees(page, page.getByRole('banner').getByText('carrier-identity'), expectAccessible);
    await click(page, 'Confirm the address');
    await follow(page, /^Continue to/, userMenu(page));
    expect(await subject.userOf(user_id)).toMatchObject({ email: address, email_pending: null });
  });

  it('says why the service rejects a weak password, and changes the password', async () => {
    const { page, name } = await subject.loginAs({}, '/account');
    await click(page, 'Change password');
    const form = dialogOf(page, 'Change password');
    const send = async (current: string, next: string) => {
      await submit(form, { 'Current password': current, 'New password': next }, 'Change password');
    };
    await send('not the right password', newPassword);
    await sees(form, 'The current password is wrong.');
    await send(password, 'too short');
    await sees(form, 'is too short: use at least 15 characters');
    await send(password, 'P@ssw0rd12345678');
    await sees(form, 'is too easy to guess', 'Add a few uncommon words.', expectAccessible);
    await send(password, newPassword);
    await sees(page, 'Your password is changed.');
    await form.waitFor({ state: 'hidden' });
    await logOut(page);
    await subject.fillLogin(page, name, newPassword);
    await userMenu(page).waitFor();
  });

  it('shows only the password form to users who must change their password', async () => {
    const { name } = await subject.service.createUser({ must_change_password: true });
    const page = await subject.open('/account', { viewport: phone });
    await subject.logInOn(page, name, headingOf(page, 'Choose a new password'));
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await submit(page, { 'Current password': password, 'New password': newPassword }, 'Change password');
    await headingOf(page, 'My account').waitFor();
    await page.waitForURL(subject.at('/account'));
  });

  it('opens after an invited user sets a password on the page of the mailed link and logs in', async () => {
    const { name, email } = await subject.service.inviteUser();
    const { token } = await subject.service.mailbox.take(email, /\/auth\/reset\//);
    const page = await subject.open('/login', { viewport: phone });
    await page.goto(`${subject.url}/auth/reset/${token}`);
    await submit(page, { 'New password': newPassword }, 'Set the password');
    await follow(page, /^Continue to/, headingOf(page, 'Log in'));
    await subject.fillLogin(page, name, newPassword);
    await headingOf(page, 'My account').waitFor();
  });

  const savedCodes = (page: Page) => page.getByRole('button', { name: 'I have saved the codes' });
  /** Returns the recovery codes on the page. */
  const codesOn = async (page: Page) => {
    await savedCodes(page).waitFor();
    const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
    expect(codes).toHaveLength(10);
    return codes;
  };
  const codeOf = (secret: string) => TOTP.generate({ secret: Secret.fromBase32(secret.replace(/\s/g, '')) });
  const wrongCodeOf = (secret: string) => (codeOf(secret).startsWith('0') ? '111111' : '000000');
  /** Types the code of an app, which the service accepts even if it was used. */
  async function typeCode(page: Page, secret: string): Promise<void> {
    await forgetSteps(subject.service);
    await fill(page, { 'Code from your authenticator app': codeOf(secret) });
  }
  /** Returns the key that the page shows for an app. */
  const secretOn = async (page: Page) => {
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    return (await page.locator('code').textContent()) ?? '';
  };

  it('leads a user who needs a second factor to set one up with the mailed code, and to log in with it', async () => {
    const { name, email } = await subject.service.createUser(required);
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await subject.open('/account', { viewport: phone, permissions });
    await subject.logInOn(page, name, headingOf(page, 'Set up a second factor'));
    expect(await page.getByRole('navigation').count()).toBe(0);
    await expectAccessible(page);
    await click(page, 'Authenticator app');
    await click(page, 'Continue');
    await submit(page, { 'Code from the e-mail': '0000 0000' }, 'Continue', 'is wrong or no longer valid');
    const { source } = await subject.service.mailbox.take(email, /^[0-9]{8}\r?$/m);
    const [, ...halves] = /^([0-9]{4})([0-9]{4})\r?$/m.exec(source) ?? [];
    await submit(page, { 'Code from the e-mail': halves.join(' ') }, 'Continue');
    const secret = await secretOn(page);
    await expectAccessible(page);
    await typeCode(page, secret);
    const codes = await codesOn(page);
    await expectAccessible(page);
    await click(page, 'Copy');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(codes.join('\n'));
    const [file] = await Promise.all([page.waitForEvent('download'), click(page, 'Download')]);
    expect(readFileSync(await file.path(), 'utf8')).toContain(codes.join('\n'));
    await savedCodes(page).click();
    await headingOf(page, 'My account').waitFor();
    await logOut(page);
    await subject.fillLogin(page, name);
    const code = page.getByLabel('Code from your authenticator app');
    await sees(page, code, expectAccessible);
    await code.fill(wrongCodeOf(secret));
    await sees(page, 'The code is wrong');
    await forgetSteps(subject.service);
    // Users may paste spaces with the code.
    await code.fill(codeOf(secret).replace(/^.../, '$& '));
    await userMenu(page).waitFor();
  });

  it('asks for the password before an old session adds an authenticator app', async () => {
    const { page, user_id } = await subject.loginAs({}, '/account', { viewport: phone });
    await subject.ageAuthentication(user_id);
    await click(page, 'Add authenticator app');
    const dialog = dialogOf(page, 'Add authenticator app');
    await submit(dialog, { Name: 'Phone' }, 'Continue');
    await sees(page, freshAuthenticationDialog(page).getByLabel('Password', { exact: true }), expectAccessible);
    await proveIdentity(page, 'not the right password');
    await freshAuthenticationDialog(page).getByRole('alert').waitFor();
    await proveIdentity(page);
    const secret = await secretOn(page);
    await fill(dialog, { 'Code from your authenticator app': wrongCodeOf(secret) });
    await sees(dialog, 'is not the current code of the app');
    await typeCode(page, secret);
    await savedCodes(page).click();
    await sees(page, page.getByRole('heading', { name: 'Phone', exact: true }), '10 unused codes left.');
  });

  it('adds, renames and removes a passkey, with a fresh authentication in an old session', async () => {
    const user = await subject.service.loginAs();
    const { secret } = await enrolApp(subject.service, user);
    const page = await subject.open('/account');
    await VirtualDevice.attach(page);
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await click(page, 'Add passkey');
    await subject.ageAuthentication(user.user_id);
    const dialog = dialogOf(page, 'Add passkey');
    await submit(dialog, { Name: 'Laptop' }, 'Continue', freshAuthenticationDialog(page));
    await typeCode(page, secret);
    await sees(page, 'Laptop is set up.');
    await choose(page, 'Actions for Laptop', 'Rename');
    await page.getByLabel('Name', { exact: true }).fill('Desk');
    await confirm(page, 'Save');
    const desk = page.getByRole('heading', { name: 'Desk', exact: true });
    await desk.waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expectAccessible(page);
    await screenshot(page, 'second-factors');
    await choose(page, 'Actions for Desk', 'Remove');
    await subject.ageAuthentication(user.user_id);
    await click(dialogOf(page, 'Remove Desk?'), 'Remove');
    await click(freshAuthenticationDialog(page), 'Use a passkey', 'Desk is removed.');
    await desk.waitFor({ state: 'hidden' });
  });

  it('replaces the recovery codes, and keeps the last factor of a user who must have one', async () => {
    const user = await subject.service.loginAs();
    const { secret, recovery_codes } = await enrolApp(subject.service, user);
    expect((await patch(user.user_id, required)).status).toBe(200);
    const page = await subject.open('/account');
    await subject.fillLogin(page, user.name);
    await typeCode(page, secret);
    await click(page, 'New codes');
    await confirm(page, 'New codes');
    const codes = await codesOn(page);
    expect(codes.filter((code) => recovery_codes.includes(code))).toEqual([]);
    await savedCodes(page).click();
    await choose(page, /^Actions for/, 'Remove');
    await confirm(page, 'Remove', 'You must have a second factor, and this is your only one.');
    await click(page, 'Cancel');
    await logOut(page);
    await subject.fillLogin(page, user.name);
    await click(page, 'Lost your device?', 'ask your administrator to reset your second factors', expectAccessible);
    await submit(page, { 'Recovery code': codes[0] ?? '' }, 'Continue', '9 unused codes left.');
  });

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
    await page.waitForURL(subject.at('/account'));
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
    await device.waitForOffer();
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
    await page.waitForURL(subject.at('/sessions'));
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
    const saved = page.getByText('The changes are saved.');
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
});

describe('the console below a base path, behind a proxy', () => {
  const PRODUCT_NAME = '</title><script>alert("x")</script>{{nonce}}';
  const subject = useConsole({ BASE_PATH: '/identity', PRODUCT_NAME, ENVIRONMENT_NAME: '<b>&' }, true);

  it('logs in and out, opens deep links, and leads from an invalid link to a new one', async () => {
    const page = await subject.open('/account');
    const outside: string[] = [];
    const failed: string[] = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/identity/')) outside.push(pathname);
      if (response.status() === 404) failed.push(pathname);
    });
    await sees(page, PRODUCT_NAME, '<b>&', expectAccessible);
    await subject.logInOn(page, adminEmail, headingOf(page, 'My account'));
    expect(await page.title()).toBe(`My account · ${PRODUCT_NAME} · <b>&`);
    await sees(page.getByRole('banner'), PRODUCT_NAME, '<b>&');
    await page.waitForURL(`${subject.url}/console/account`);
    await page.reload();
    await headingOf(page, 'My account').waitFor();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ path: '/identity/auth', httpOnly: true, sameSite: 'Strict' });
    await subject.goto(page, '/users?status=active');
    await sees(page.getByRole('table'), adminEmail);
    await follow(page, /^My account$/, headingOf(page, 'My account'));
    await logOut(page);
    await page.waitForURL(`${subject.url}/console/login`);
    expect({ outside, failed }).toEqual({ outside: [], failed: [] });
    // The link is no longer valid.
    await page.goto(`${subject.url}/auth/reset/${'x'.repeat(43)}`);
    await follow(page, 'Request a new link');
    await page.waitForURL(subject.at('/forgotten-password'));
    await page.getByRole('button', { name: 'Send the link' }).waitFor();
  });
});

describe('the console over plain HTTP, beyond localhost', () => {
  const subject = useConsole({}, false, 'console.test');

  it('says what does not work, logs in until the next reload, and ends the session at logout', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.open('/login');
    await sees(page.getByRole('alert'), 'This connection is not encrypted');
    expect(await page.getByRole('button', { name: 'Log in with a passkey' }).count()).toBe(0);
    await expectAccessible(page);
    await subject.logInOn(page, name, headingOf(page, 'My account'));
    expect(await page.context().cookies()).toEqual([]);
    await logOut(page);
    const live = 'select 1 from sessions where user_id = $1 and ended_at is null';
    expect(await subject.service.rows(live, [user_id])).toEqual([]);
    await subject.logInOn(page, name, headingOf(page, 'My account'));
    await page.reload();
    await headingOf(page, 'Log in').waitFor();
  });
});
