import type { Page, Request } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import {
  freshAuthenticationDialog,
  loginAgainDialog,
  logInAgain,
  logOut,
  switchToGerman,
  userMenu,
} from '../support/console-page';
import { phone } from '../support/screens';
import { Authenticator } from '../support/second-factors';
import { adminEmail } from '../support/service';
import { VirtualDevice } from '../support/virtual-device';

describe('logging in to the console', () => {
  const subject = useConsole();
  const loginPage = (page: Page) => page.getByRole('heading', { name: 'Log in', exact: true });
  const openAccount = async (page: Page) => {
    await page.getByRole('link', { name: 'My account' }).click();
    await page.getByRole('heading', { name: 'My account' }).waitFor();
  };

  it('asks for the login, says what is wrong, and returns to the page that was asked for', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.open('/account');
    await loginPage(page).waitFor();
    await expectAccessible(page);
    await screenshot(page, 'login', { colorScheme: 'dark' });
    await subject.fillLogin(page, name, 'not the right password');
    await page.getByRole('alert').getByText('User name or password is wrong').waitFor();
    await subject.fillLogin(page, name);
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    expect(page.url()).toBe(subject.at('/account'));
  });

  it('keeps the login over a reload, with no token in the storage of the browser or in readable cookies', async () => {
    const page = await subject.login();
    await page.reload();
    await userMenu(page).waitFor();
    const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
    expect(await page.evaluate(kept)).not.toMatch(/eyJ|token|carrier-identity-\d|[\w-]{86}/);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  });

  it('logs in with a code that is pasted with a space, and with a recovery code', async () => {
    const { name, user_id } = await subject.service.createUser();
    const app = await Authenticator.enrol((text, values) => subject.service.rows(text, values), user_id);
    const recoveryCode = await app.recoveryCode();
    const page = await subject.open();
    await subject.fillLogin(page, name);
    const code = page.getByLabel('Code from your authenticator app');
    await code.waitFor();
    await expectAccessible(page);
    await code.fill(app.wrongCode());
    await page.getByText('The code is wrong').waitFor();
    await code.fill(app.code().replace(/^.../, '$& '));
    await userMenu(page).waitFor();
    await logOut(page);
    await subject.fillLogin(page, name);
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(recoveryCode);
    await page.getByRole('button', { name: 'Continue' }).click();
    await userMenu(page).waitFor();
  });

  it('logs in with a passkey: by the button and as second factor', async () => {
    const user = await subject.service.loginAs();
    const page = await subject.open('/forgotten-password');
    const device = await VirtualDevice.attach(page);
    await device.enrol(subject.service, user);
    // The field for the name offers passkeys, too: let nothing confirm that request.
    await device.confirms(false);
    await page.goto(subject.at('/login'));
    const passkeyButton = page.getByRole('button', { name: 'Log in with a passkey' });
    await passkeyButton.waitFor();
    await device.confirms(true);
    await device.recognizes(false);
    await passkeyButton.click();
    await page.getByRole('alert').getByText('The passkey was not used.').waitFor();
    await device.recognizes(true);
    await passkeyButton.click();
    await userMenu(page).waitFor();
    await device.confirms(false);
    await logOut(page);
    await subject.fillLogin(page, user.name);
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
    await device.confirms(true);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await userMenu(page).waitFor();
  });

  it('lets two tabs that reload at the same time refresh one after the other, without ending the session', async () => {
    const { name } = await subject.service.createUser();
    const first = await subject.login(name);
    const second = await first.context().newPage();
    const isRefresh = (request: Request) => request.url().endsWith('/auth/check-token');
    let sent = 0;
    let waiting = 0;
    let waitingMax = 0;
    first.context().on('request', (request) => {
      if (!isRefresh(request)) return;
      sent++;
      waitingMax = Math.max(waitingMax, ++waiting);
    });
    first.context().on('response', (response) => {
      if (isRefresh(response.request())) waiting--;
    });
    await second.goto(subject.at('/account'));
    await userMenu(second).waitFor();
    for (let round = 0; round < 3; round++) {
      await Promise.all([first.reload(), second.reload()]);
      await Promise.all([userMenu(first).waitFor(), userMenu(second).waitFor()]);
    }
    // Once per load of a page.
    expect({ sent, waitingMax }).toEqual({ sent: 7, waitingMax: 1 });
  });

  it('leads to the login page if the session ended before the logout', async () => {
    const { name, user_id } = await subject.service.createUser();
    // A page that requests nothing: a request would ask for the login.
    const page = await subject.login(name, '/nowhere');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await subject.endSessions(user_id);
    await logOut(page);
  });

  it('logs out all tabs', async () => {
    const { name } = await subject.service.createUser();
    const first = await subject.login(name);
    const second = await first.context().newPage();
    await second.goto(subject.at('/account'));
    await userMenu(second).waitFor();
    await logOut(first);
    await loginPage(second).waitFor();
    await second.reload();
    await loginPage(second).waitFor();
    expect(await first.context().cookies()).toEqual([]);
  });

  it('asks for the login in a dialog when the session was ended elsewhere, and continues after it', async () => {
    const { name, user_id } = await subject.service.createUser({ roles: ['carrier_administrator'] });
    const page = await subject.login(name, '/users');
    await page.getByRole('searchbox').waitFor();
    await subject.endSessions(user_id);
    await page.getByRole('searchbox').fill(name);
    await loginAgainDialog(page).waitFor();
    await expectAccessible(page);
    await logInAgain(page);
    expect(await page.getByRole('searchbox').inputValue()).toBe(name);
    await page.getByRole('link', { name, exact: true }).waitFor();
  });

  it('does not let the next user of a tab confirm a request of the previous user', async () => {
    const { service } = subject;
    const { token } = service.admin;
    await service.post('/role/create', { token, body: { name: 'left-open', user_types: ['system'] } });
    const { name, user_id } = await service.createUser({ user_type: 'system', roles: ['administrator'] });
    const page = await subject.login(name, '/roles/left-open');
    await subject.ageAuthentication(user_id);
    await page.getByRole('checkbox', { name: /user:read$/ }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = freshAuthenticationDialog(page);
    await dialog.waitFor();
    const other = await page.context().newPage();
    await other.goto(subject.at('/account'));
    await logOut(other);
    await loginPage(page).waitFor();
    await subject.fillLogin(page, adminEmail);
    await page.getByRole('button', { name: 'Menu of admin' }).waitFor();
    expect(await dialog.count()).toBe(0);
    const { body } = await service.get('/role/left-open', { token });
    expect(body.permissions).toEqual([]);
  });

  it('logs out although another service on localhost planted a second cookie (H22)', async () => {
    const { name, user_id } = await subject.service.createUser();
    const page = await subject.login(name);
    const [cookie] = await page.context().cookies();
    await page.context().addCookies([{ ...cookie!, value: 'planted', path: '/auth' }]);
    await logOut(page);
    const live = await subject.service.rows('select from sessions where user_id = $1 and ended_at is null', [user_id]);
    expect(live).toEqual([]);
  });

  it('requests a reset link without saying whether the address is known', async () => {
    const { email } = await subject.service.createUser();
    const page = await subject.open('/login');
    const shown: (string | null)[] = [];
    for (const address of [email, 'unknown@example.com']) {
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await page.getByLabel('E-mail address').fill(address);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Send the link' }).click();
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
      shown.push((await page.getByRole('status').textContent())?.replace(address, '') ?? null);
      await page.goto(subject.at('/login'));
    }
    expect(shown[1]).toBe(shown[0]);
    await subject.service.mailbox.take(email);
  });

  it('switches to German, and works on a phone', async () => {
    const page = await subject.login(undefined, '/', { viewport: phone });
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await openAccount(page);
    await switchToGerman(page);
    await page.getByRole('heading', { name: 'Mein Konto' }).waitFor();
    await expectAccessible(page);
  });
});
