import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
import {
  choose,
  click,
  confirm,
  dialogOf,
  faultyInput,
  fill,
  follow,
  headingOf,
  inputOf,
  linkOf,
  proveIdentity,
  sees,
  type Shown,
  submit,
  switchToGerman,
} from '../support/console/console-page';
import { loginFrom } from '../support/logins/device-logins';
import { enrolApp } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { addManyUsers } from '../support/data/many-users';
import { desktop, phone } from '../support/console/screens';
import { Authenticator } from '../support/logins/second-factors';

describe('users in the console', () => {
  const subject = useConsole({ LOCKOUT_THRESHOLD: '2', LOCKOUT_FIRST_SECONDS: '600' });
  const tab = async (page: Page, name: string, ...shown: Shown[]) => {
    await page.getByRole('tab', { name }).click();
    await sees(page, ...shown);
  };
  const patch = (user_id: string, body: object) =>
    subject.service.patch(`/user/${user_id}`, { token: subject.service.admin.token, body });

  it('creates and invites a user, once although a response is lost, and hides the list from others (F12)', async () => {
    const page = await subject.login(undefined, '/users');
    const sent: { key: string | undefined; body: string | null }[] = [];
    await page.route('**/user/create', async (route) => {
      sent.push({ key: route.request().headers()['idempotency-key'], body: route.request().postData() });
      const response = await route.fetch();
      // The second request creates the user.
      if (sent.length === 2) await route.abort();
      else await route.fulfill({ response });
    });
    const dialog = dialogOf(page, 'Create user');
    const focused = dialog.getByRole('textbox', { name: 'User name' }).and(page.locator(':focus'));
    await click(page, 'Create user', focused);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await click(page, 'Create user', focused);
    await fill(dialog, { 'User name': 'a b', 'E-mail address': 'grace@example.com', 'First name': 'Grace' });
    await inputOf(dialog, 'Carrier').fill('c9');
    await sees(dialog, 'New carrier: it has no users yet.', expectAccessible);
    await inputOf(dialog, 'Carrier').fill('c1');
    await dialog.getByText('New carrier').waitFor({ state: 'hidden' });
    await expectAccessible(page);
    await click(dialog, 'Create and invite', faultyInput(dialog, 'User name'));
    await submit(dialog, { 'User name': 'grace' }, 'Create and invite', 'The service cannot be reached');
    await click(dialog, 'Create and invite', headingOf(page, 'grace'));
    const [rejected, created] = sent;
    expect(sent).toEqual([{ ...rejected, key: expect.stringMatching(/^\w{16,}$/) }, created, created]);
    expect(created?.key).not.toBe(rejected?.key);
    const { body } = await subject.service.get('/user/list?name=grace&count=exact', subject.service.admin);
    expect(body.total).toEqual({ value: 1, relation: 'eq' });
    expect((await subject.service.mailbox.take('grace@example.com')).token).not.toBeNull();
    await click(page, 'Send an invitation');
    expect((await subject.service.mailbox.take('grace@example.com')).token).not.toBeNull();
    const { page: other } = await subject.loginAs({}, '/users');
    await headingOf(other, 'Page not found').waitFor();
  });

  it('filters, searches and sorts the list, and keeps that in the URL', async () => {
    const lovelace = { name: 'lovelace', email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' };
    const hopper = { name: 'hopper', email: 'hopper@example.com', first_name: 'Grace', last_name: 'Hopper' };
    await subject.service.createUser({ ...lovelace, roles: ['carrier_user'], attributes: { tier: 'gold' } });
    await subject.service.createUser({ ...hopper, carrier_id: 'navy' });
    const gone = (name: string) => linkOf(page, name).waitFor({ state: 'detached' });
    const addFilter = async (field: string, values: Record<string, string>) => {
      await click(page, 'Add filter');
      await page.getByRole('combobox', { name: 'Field' }).fill(field);
      await page.getByRole('option', { name: field }).click();
      await fill(page, values);
    };
    const page = await subject.login(undefined, '/users');
    await sees(page, linkOf(page, 'lovelace'), expectAccessible);
    await screenshot(page, 'users');
    await screenshot(page, 'users-phone', { viewport: phone });
    await page.setViewportSize(desktop);
    await addFilter('Carrier', {});
    await inputOf(page, 'Value').fill('navy');
    // Suggestions may cover the button.
    await inputOf(page, 'Value').press('Enter');
    await gone('lovelace');
    await page.waitForURL(subject.at('/users?carrier_id=navy'));
    await page.reload();
    await linkOf(page, 'hopper').waitFor();
    await page.getByRole('columnheader', { name: 'E-mail address' }).getByRole('button').press('Enter');
    const sorted = subject.at('/users?carrier_id=navy&order_by=email&order_dir=asc');
    await page.waitForURL(sorted);
    await follow(page, 'hopper');
    await follow(page.getByRole('main'), 'Users');
    await page.waitForURL(sorted);
    await page.getByRole('checkbox', { name: 'Select hopper' }).check();
    const selected = await linkOf(page, 'Change selected').getAttribute('href');
    expect(selected).toMatch(/\/users\/bulk\?user_id_in=[0-9a-f-]{36}$/);
    const filter = page.getByRole('button', { name: /^Carrier is navy/ }).first();
    await filter.click();
    await page.getByRole('combobox', { name: 'Field' }).press('ArrowDown');
    await page.getByRole('option', { name: 'User name' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option', { name: 'User name' }).waitFor({ state: 'hidden' });
    await page.getByRole('combobox', { name: 'Condition' }).selectOption('is one of');
    for (const carrier of ['navy', 'c1']) {
      await inputOf(page, 'Value').fill(carrier);
      await page.keyboard.press('Enter');
    }
    await click(page, 'Apply', linkOf(page, 'lovelace'));
    await page.waitForURL(subject.at('/users?order_by=email&order_dir=asc&carrier_id_in=navy%2Cc1'));
    await addFilter('Attribute', {});
    await page.keyboard.press('Escape');
    await sees(page.locator('button:focus'), 'Add filter');
    await addFilter('Attribute', { 'Name of the attribute': 'tier', Value: 'gold' });
    await click(page, 'Apply');
    await gone('hopper');
    await page.getByRole('button', { name: 'Remove Attribute tier is gold' }).waitFor();
    await subject.goto(page, '/users?user_id=unknown', 'user_id: must be a UUID');
    await click(page, 'Clear all', linkOf(page, 'hopper'));
    await page.getByRole('searchbox', { name: 'Search users' }).fill('love');
    await gone('hopper');
    await page.getByRole('radiogroup', { name: 'Show' }).getByText('Invited').click();
    await sees(page, 'Nothing matches');
    await page.waitForURL(subject.at('/users?q=love&status=invited'));
  });

  it('sends only changed fields, and shows both versions when another user saved first (I4)', async () => {
    // The name of the attribute is that of an inherited key.
    const before = { first_name: 'Ada', job_title: 'Clerk', attributes: { toString: 'x' } };
    const { user_id } = await subject.service.createUser(before);
    const page = await subject.login(undefined, `/users/${user_id}?tab=data`);
    await fill(page, { 'First name': 'Augusta', 'Job title': 'Engineer', Department: 'Dispatch', Attributes: '' });
    await patch(user_id, { job_title: 'Director', last_name: '2026-99-99T99:99:99Z' });
    await expectAccessible(page);
    await screenshot(page, 'user-data');
    const field = page.getByLabel('Allowed addresses').and(page.locator('input'));
    await field.focus();
    const buttons = page.getByRole('button', { name: 'Save' }).locator('..');
    const [top, bar] = [await field.boundingBox(), await buttons.boundingBox()];
    expect((top?.y ?? 0) + (top?.height ?? 0)).toBeLessThan(bar?.y ?? 0);
    await click(page, 'Save');
    const dialog = dialogOf(page, 'Someone else has saved changes in the meantime');
    await sees(dialog, '2026-99-99T99:99:99Z');
    const titles = dialog.getByRole('radiogroup', { name: 'Job title' });
    await titles.getByRole('radio', { name: /^Saved version/ }).click();
    await expectAccessible(page);
    await click(dialog, 'Save my choice', 'The changes are saved.');
    const { attributes, ...saved } = await subject.userOf(user_id);
    expect(saved).toMatchObject({ first_name: 'Augusta', job_title: 'Director', department: 'Dispatch' });
    expect([saved.last_name, attributes]).toEqual(['2026-99-99T99:99:99Z', {}]);
    await tab(page, 'Roles');
    await page.getByRole('checkbox', { name: 'carrier_user', exact: true }).check();
    await click(page, 'Save');
    await tab(page, 'History');
    await sees(page.getByRole('tabpanel', { name: 'History' }), 'Augusta', 'carrier_user', expectAccessible);
    await tab(page, 'Data');
    await switchToGerman(page);
    await submit(page, { Zeitzone: 'Mars/Olympus' }, 'Speichern');
    await sees(page, 'muss eine Zeitzone wie Europe/Vienna sein');
  });

  it('keeps the form during a failover, and saves once although a response is lost (F12)', async () => {
    const { user_id } = await subject.service.createUser({ first_name: 'Ada' });
    const { version } = await subject.userOf(user_id);
    const page = await subject.login(undefined, `/users/${user_id}?tab=data`);
    const sent: (string | undefined)[] = [];
    let [isDown, isLost] = [true, false];
    await page.route(`**/user/${user_id}`, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      sent.push(route.request().headers()['if-match']);
      if (isDown) return route.fulfill({ status: 503, headers: { 'retry-after': '1' } });
      const response = await route.fetch();
      if (isLost) return route.fulfill({ response });
      isLost = true;
      return route.abort();
    });
    await fill(page, { 'First name': 'Augusta', Attributes: '{"tier": ' });
    await click(page, 'Save', page.locator('textarea[aria-invalid=true]:focus'));
    expect(sent).toEqual([]);
    await submit(page, { Attributes: '{"tier": "gold"}' }, 'Save', 'The service does not respond at the moment.');
    await expectAccessible(page);
    await click(page, 'Stop waiting', page.getByRole('alert'));
    await fill(page, { Department: 'Dispatch' });
    await click(page, 'Save', 'The service does not respond at the moment.');
    isDown = false;
    await sees(page, 'The changes are saved.');
    expect(new Set(sent)).toEqual(new Set([`"${version}"`]));
    const saved = { first_name: 'Augusta', department: 'Dispatch', attributes: { tier: 'gold' }, version: version + 1 };
    expect(await subject.userOf(user_id)).toMatchObject(saved);
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  });

  it('returns to the page of the list, and asks before it discards unsaved changes', async () => {
    await addManyUsers(subject.service, 30, 'pages');
    const page = await subject.login(undefined, '/users?carrier_id=pages&order_by=name&order_dir=asc');
    const last = page.getByRole('link', { name: 'pages-9', exact: true });
    await click(page, 'Next');
    await last.click();
    await click(page, 'Edit');
    await fill(page, { 'First name': 'Ada' });
    await tab(page, 'Roles');
    await page.goBack();
    const dialog = dialogOf(page, 'Discard changes?');
    await click(dialog, 'Keep editing');
    await tab(page, 'Data');
    expect(await page.getByLabel('First name').inputValue()).toBe('Ada');
    await page.goBack();
    await expectAccessible(page);
    await click(dialog, 'Discard changes', last);
  });

  it('disables, enables, deletes and restores a user, and asks for a fresh authentication (S24)', async () => {
    const { user_id, name } = await subject.service.createUser({ roles: ['carrier_user'] });
    const page = await subject.login(undefined, `/users/${user_id}`);
    const act = (action: string) => choose(page, `Actions for ${name}`, action);
    await act('Disable');
    await confirm(page, 'Disable', 'The user is disabled');
    await subject.ageAuthentication(subject.service.admin.user_id);
    await act('Enable');
    await proveIdentity(page);
    await page.getByText('The user is disabled').waitFor({ state: 'hidden' });
    await act('Delete');
    await confirm(page, 'Delete', 'The user is deleted');
    await subject.goto(page, '/users?deleted=true');
    await subject.ageAuthentication(subject.service.admin.user_id);
    await act('Restore');
    await proveIdentity(page);
    await linkOf(page, name).waitFor({ state: 'detached' });
    expect(await subject.userOf(user_id)).toMatchObject({ status: 'active', deleted_at: null });
  });

  it('returns the focus after a menu and a dialog, and deletes a user permanently', async () => {
    const { user_id, name } = await subject.service.createUser();
    await subject.service.delete(`/user/${user_id}`, { token: subject.service.admin.token });
    const page = await subject.login(undefined, '/users?deleted=true');
    const focusedButton = page.locator(`[aria-label="Actions for ${name}"]:focus`);
    await page.getByRole('button', { name: `Actions for ${name}` }).press('Enter');
    await page.locator('[role=menu] :focus').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowDown');
    await page.locator('[role=menuitem]:focus').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await focusedButton.waitFor();
    await choose(page, `Actions for ${name}`, 'Delete permanently');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusedButton.waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Delete permanently' }).click();
    await fill(page, { [`Type ${name} to confirm`]: name });
    await confirm(page, 'Delete permanently');
    await linkOf(page, name).waitFor({ state: 'detached' });
    expect(await subject.service.rows('select user_id from users where user_id = $1', [user_id])).toEqual([]);
  });

  it('opens a user with a summary whose parties are links, and unlocks with two clicks', async () => {
    const carrier = { carrier_id: 'navy', roles: ['carrier_user', 'carrier_administrator'] };
    const user = await subject.service.createUser({ ...carrier, attributes: { tier: 'gold' } });
    await loginFrom(subject.service, user.name, 'phone', '192.0.2.7');
    await Authenticator.enrol(subject.service, user.user_id);
    await patch(user.user_id, { email: `new-${user.name}@example.com` });
    for (let failure = 0; failure < 2; failure++)
      await subject.service.post('/auth/login', { body: { login: user.name, password: 'not the right password' } });
    const page = await subject.login(undefined, `/users?q=${user.name}`);
    await follow(page, user.name, headingOf(page, user.name));
    await click(page, 'Unlock', `${user.name} is unlocked.`);
    await page.getByRole('button', { name: 'Unlock' }).waitFor({ state: 'hidden' });
    const overview = page.getByRole('tabpanel', { name: 'Overview' });
    await sees(overview, 'Safari 18 on iOS 18', 'last used just now', 'Authenticator app');
    await sees(overview, `new-${user.name}@example.com is not confirmed yet`, '"tier": "gold"', expectAccessible);
    await screenshot(page, 'user');
    const paths = await overview
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')?.replace('/console', '')));
    const ofUser = (tab: string) => `/users/${user.user_id}?tab=${tab}`;
    expect(paths).toEqual([
      ...['/audit?ip=192.0.2.7', ofUser('sessions'), ofUser('factors'), ofUser('roles')],
      ...['/roles/carrier_administrator', '/roles/carrier_user', `/audit?actor_id=${user.user_id}`],
      ...['/users?carrier_id=navy', `/users/${subject.service.admin.user_id}`],
    ]);
    await follow(overview, 'Actions by this user', 'Login succeeded');
  });

  it('ends one session and all, and resets lost second factors', async () => {
    const user = await subject.service.createUser();
    for (const device of ['desktop', 'phone'] as const)
      await loginFrom(subject.service, user.name, device, '127.0.0.1');
    await Authenticator.enrol(subject.service, user.user_id);
    const page = await subject.login(undefined, `/users/${user.user_id}?tab=sessions`);
    await sees(page, '2 in total', expectAccessible);
    const end = page.getByRole('button', { name: /^End session of/ });
    await end.first().click();
    await confirm(page, 'End session', '1 in total');
    await click(page, 'End all sessions');
    await confirm(page, 'End sessions', 'No live sessions');
    await tab(page, 'Second factors', 'Authenticator app', expectAccessible);
    await click(page, 'Reset second factors');
    await confirm(page, 'Reset', 'No second factor');
  });

  it('secures an account with three clicks, with the choice of factors and API keys (R40)', async () => {
    const { service } = subject;
    const lists = async (token: string) => (await service.get('/user/list?count=none', { token })).status;
    await service.rows(`insert into roles (name, user_types, permissions)
      values ('integrator', '{carrier}', '{key:manage,user:read}')`);
    const user = await service.loginAs({ roles: ['integrator'] });
    const [own, strange] = [await enrolApp(service, user), await enrolApp(service, user)];
    await service.patch(`/auth/factor/${strange.factor_id}`, { token: user.token, body: { name: 'Strange phone' } });
    const { key } = await createKey(service, ['user:read'], { name: 'billing' }, user);
    const page = await subject.login(undefined, `/users/${user.user_id}`);
    await click(page, 'Secure account');
    const dialog = dialogOf(page, 'Secure the account?');
    await dialog.getByRole('checkbox', { name: /Remove Strange phone/ }).check();
    await sees(dialog, 'billing');
    expect(await dialog.getByRole('radio', { name: 'Suspend them until each is resumed' }).isChecked()).toBe(true);
    await expectAccessible(page);
    await click(dialog, 'Secure account', `The account of ${user.name} is secured.`);
    const mail = await service.mailbox.take(user.email, /secured/);
    expect((await service.get(`/auth/reset/${mail.token}`)).status).toBe(200);
    const { items } = (await service.get(`/user/${user.user_id}/factor/list`, service.admin)).body;
    expect(items).toMatchObject([{ factor_id: own.factor_id }]);
    expect([(await service.get('/user', user)).status, await lists(key)]).toEqual([401, 401]);
    await follow(page, 'API keys', 'Suspended');
    await follow(page, 'billing', headingOf(page, 'billing'), expectAccessible);
    await click(page, 'Resume key', 'The API key billing works again.');
    expect(await lists(key)).toBe(200);
  });
});
