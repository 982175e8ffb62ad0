import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { freshAuthenticationDialog, switchToGerman } from '../support/console-page';
import { desktop, phone } from '../support/screens';
import { addManyUsers } from '../support/many-users';
import { Authenticator } from '../support/second-factors';
import { loginFrom } from '../support/device-logins';
import { password } from '../support/service';

describe('users in the console', () => {
  const subject = useConsole({ LOCKOUT_THRESHOLD: '2', LOCKOUT_FIRST_SECONDS: '600' });
  const save = (page: Page) => page.getByRole('button', { name: 'Save changes' }).click();
  const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
  const act = async (page: Page, name: string, action: string) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  const confirm = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name }).click();

  it('creates a user who is invited by mail, and says at the field what is wrong', async () => {
    const page = await subject.login(undefined, '/users');
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog', { name: 'New user' });
    const focused = dialog.getByRole('textbox', { name: 'User name' }).and(page.locator(':focus'));
    await focused.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'New user' }).click();
    await focused.waitFor();
    await dialog.getByLabel('User name').fill('a b');
    await dialog.getByLabel('E-mail address').fill('grace@example.com');
    await dialog.getByLabel('First name').fill('Grace');
    await dialog.getByLabel('Carrier', { exact: true }).fill('c1');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Create and invite' }).click();
    await dialog.getByRole('textbox', { name: 'User name' }).and(page.locator('[aria-invalid=true]')).waitFor();
    await dialog.getByLabel('User name').fill('grace');
    await dialog.getByRole('button', { name: 'Create and invite' }).click();
    await page.getByRole('heading', { name: 'grace', level: 1 }).waitFor();
    expect((await subject.service.mailbox.take('grace@example.com')).token).not.toBeNull();
    await page.getByRole('button', { name: 'Why can this user not log in?' }).click();
    await page.getByRole('heading', { name: 'The user has not set a password yet' }).waitFor();
    await page.getByRole('button', { name: 'Send an invitation' }).click();
    expect((await subject.service.mailbox.take('grace@example.com')).token).not.toBeNull();
  });

  it('hides the list from users without permission', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.login(name);
    await page.goto(subject.at('/users'));
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  });

  it('says in German too what is wrong with a field', async () => {
    const { user_id } = await subject.service.createUser();
    const page = await subject.login(undefined, `/users/${user_id}`);
    await switchToGerman(page);
    await page.getByLabel('Zeitzone').fill('Mars/Olympus');
    await page.getByRole('button', { name: 'Änderungen speichern' }).click();
    await page.getByText('muss eine Zeitzone wie Europe/Vienna sein').waitFor();
  });

  it('filters, searches and sorts, and keeps that in the URL', async () => {
    await Promise.all([
      subject.service.createUser({
        name: 'lovelace',
        email: 'ada@example.com',
        first_name: 'Ada',
        last_name: 'Lovelace',
        roles: ['carrier_user'],
        attributes: { tier: 'gold' },
      }),
      subject.service.createUser({
        name: 'hopper',
        email: 'hopper@example.com',
        first_name: 'Grace',
        last_name: 'Hopper',
        carrier_id: 'navy',
      }),
    ]);
    const page = await subject.login(undefined, '/users');
    await page.getByRole('link', { name: 'lovelace' }).waitFor();
    await expectAccessible(page);
    await screenshot(page, 'users');
    await screenshot(page, 'users-phone', { viewport: phone });
    await page.setViewportSize(desktop);
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Field' }).click();
    await page.getByRole('option', { name: 'Carrier' }).click();
    await page.getByLabel('Value').fill('navy');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('link', { name: 'lovelace' }).waitFor({ state: 'detached' });
    expect(page.url()).toBe(subject.at('/users?carrier_id_like=navy'));
    await page.reload();
    await page.getByRole('link', { name: 'hopper' }).waitFor();
    await page.locator('th').filter({ hasText: 'E-mail address' }).press('Enter');
    await page.waitForURL(subject.at('/users?carrier_id_like=navy&order_by=email&order_dir=asc'));
    await page.getByRole('link', { name: 'hopper' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Users' }).click();
    await page.waitForURL(subject.at('/users?carrier_id_like=navy&order_by=email&order_dir=asc'));
    await page.getByRole('checkbox', { name: 'Select hopper' }).check();
    const link = page.getByRole('link', { name: 'Change selected' });
    expect(await link.getAttribute('href')).toMatch(/\/users\/bulk\?user_id_in=[0-9a-f-]{36}$/);
    await page
      .getByRole('button', { name: /^Carrier contains navy/ })
      .first()
      .click();
    await page.getByRole('combobox', { name: 'Field' }).press('ArrowDown');
    await page.getByRole('option', { name: 'User name' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option', { name: 'User name' }).waitFor({ state: 'hidden' });
    await page.getByRole('combobox', { name: 'Condition' }).selectOption('is one of');
    await page.getByLabel('Value').fill('navy\nc1');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('link', { name: 'lovelace' }).waitFor();
    expect(page.url()).toBe(subject.at('/users?order_by=email&order_dir=asc&carrier_id_in=navy%2Cc1'));
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Field' }).fill('Attribute');
    await page.getByRole('option', { name: 'Attribute' }).click();
    await page.keyboard.press('Escape');
    await page.locator('button:focus').getByText('Add filter').waitFor();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Field' }).fill('Attribute');
    await page.getByRole('option', { name: 'Attribute' }).click();
    await page.getByLabel('Name of the attribute').fill('tier');
    await page.getByLabel('Value').fill('gold');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('link', { name: 'hopper' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove Attribute tier is gold' }).waitFor();
    await page.goto(subject.at('/users?user_id=unknown'));
    await page.getByText('user_id: must be a UUID').waitFor();
    await page.getByRole('button', { name: 'Clear all' }).click();
    await page.getByRole('link', { name: 'hopper' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search users' }).fill('love');
    await page.getByRole('link', { name: 'hopper' }).waitFor({ state: 'detached' });
    await page.getByRole('radiogroup', { name: 'Show' }).getByText('Invited').click();
    await page.getByText('Nothing matches').waitFor();
    expect(page.url()).toBe(subject.at('/users?q=love&status=invited'));
  });

  it('sends only changed fields, and shows both versions when another user saved first', async () => {
    const { user_id, name } = await subject.service.createUser({ first_name: 'Ada', job_title: 'Clerk' });
    const page = await subject.login(undefined, `/users/${user_id}`);
    await page.getByLabel('First name').fill('Augusta');
    await page.getByLabel('Job title').fill('Engineer');
    await page.getByLabel('Department').fill('Dispatch');
    await subject.service.patch(`/user/${user_id}`, {
      token: subject.service.admin.token,
      body: { job_title: 'Director', last_name: 'King' },
    });
    await expectAccessible(page);
    await screenshot(page, 'user-data');
    const field = page.getByLabel('Allowed addresses').and(page.locator('input'));
    await field.focus();
    const buttons = page.getByRole('button', { name: 'Save changes' }).locator('..');
    const [top, bar] = [await field.boundingBox(), await buttons.boundingBox()];
    expect((top?.y ?? 0) + (top?.height ?? 0)).toBeLessThan(bar?.y ?? 0);
    await save(page);
    const dialog = page.getByRole('dialog', { name: 'Someone else changed this user' });
    await dialog
      .getByRole('radiogroup', { name: 'Job title' })
      .getByRole('radio', { name: /^Saved version/ })
      .click();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save my choice' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('The changes are saved.').waitFor();
    expect(await subject.userOf(user_id)).toMatchObject({
      first_name: 'Augusta',
      last_name: 'King',
      job_title: 'Director',
      department: 'Dispatch',
    });
    await tab(page, 'Roles');
    await page.getByRole('checkbox', { name: 'carrier_user', exact: true }).check();
    await save(page);
    await tab(page, 'History');
    await page.getByRole('tabpanel', { name: 'History' }).getByText('Augusta').waitFor();
    await page.getByRole('tabpanel', { name: 'History' }).getByText('carrier_user').waitFor();
    await expectAccessible(page);
    expect((await subject.userOf(user_id)).name).toBe(name);
  });

  it('returns to the page of the list, and asks before it discards unsaved changes', async () => {
    await addManyUsers(subject.service, 30, 'pages');
    const page = await subject.login(undefined, '/users?carrier_id=pages&order_by=name&order_dir=asc');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('link', { name: 'pages-9', exact: true }).click();
    await page.getByLabel('First name').fill('Ada');
    await tab(page, 'Roles');
    await page.goBack();
    const dialog = page.getByRole('dialog', { name: 'Discard changes?' });
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await tab(page, 'Data');
    expect(await page.getByLabel('First name').inputValue()).toBe('Ada');
    await page.goBack();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('link', { name: 'pages-9', exact: true }).waitFor();
  });

  it('disables, enables, deletes and restores a user, and asks for a fresh authentication (S24)', async () => {
    const { user_id, name } = await subject.service.createUser({ roles: ['carrier_user'] });
    const page = await subject.login(undefined, `/users/${user_id}`);
    await act(page, name, 'Disable');
    await confirm(page, 'Disable');
    await page.getByText('The user is disabled').waitFor();
    const prove = async () => {
      const dialog = freshAuthenticationDialog(page);
      await dialog.getByLabel('Password', { exact: true }).fill(password);
      await dialog.getByRole('button', { name: 'Continue' }).click();
    };
    await subject.ageAuthentication(subject.service.admin.user_id);
    await act(page, name, 'Enable');
    await prove();
    await page.getByText('The user is disabled').waitFor({ state: 'hidden' });
    await act(page, name, 'Delete');
    await confirm(page, 'Delete');
    await page.getByText('The user is deleted').waitFor();
    await page.goto(subject.at('/users?deleted=true'));
    await subject.ageAuthentication(subject.service.admin.user_id);
    await act(page, name, 'Restore');
    await prove();
    await page.getByRole('link', { name }).waitFor({ state: 'detached' });
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
    await act(page, name, 'Delete permanently');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusedButton.waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Delete permanently' }).click();
    await page.getByLabel(`Type ${name} to confirm`).fill(name);
    await confirm(page, 'Delete permanently');
    await page.getByRole('link', { name }).waitFor({ state: 'detached' });
    expect(await subject.service.rows('select user_id from users where user_id = $1', [user_id])).toEqual([]);
  });

  it('explains why a user cannot log in, and unlocks the account', async () => {
    const { user_id, name } = await subject.service.createUser({ allowed_ips: ['127.0.0.0/8'] });
    for (let failure = 0; failure < 2; failure++)
      await subject.service.post('/auth/login', { body: { login: name, password: 'not the right password' } });
    const page = await subject.login(undefined, `/users/${user_id}?tab=login`);
    await page.getByRole('heading', { name: 'The account is locked' }).waitFor();
    await page.getByRole('heading', { name: 'Logins are limited to some addresses' }).waitFor();
    await page.getByText('Wrong password').first().waitFor();
    await expectAccessible(page);
    await screenshot(page, 'user-login-check');
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByRole('heading', { name: 'Nothing prevents this login' }).waitFor();
    await subject.service.login(name);
    await page.getByRole('button', { name: 'Send a password link' }).click();
    await subject.service.mailbox.take(`${name}@example.com`);
  });

  it('ends one session and all, and resets lost second factors', async () => {
    const user = await subject.service.createUser();
    for (const device of ['desktop', 'phone'] as const)
      await loginFrom(subject.service, user.name, device, '127.0.0.1');
    await Authenticator.enrol((text, values) => subject.service.rows(text, values), user.user_id);
    const page = await subject.login(undefined, `/users/${user.user_id}?tab=sessions`);
    await page.getByText('2 in total').waitFor();
    await expectAccessible(page);
    await page
      .getByRole('button', { name: /^End session of/ })
      .first()
      .click();
    await confirm(page, 'End session');
    await page.getByText('1 in total').waitFor();
    await page.getByRole('button', { name: 'End all sessions' }).click();
    await confirm(page, 'End sessions');
    await page.getByText('No live sessions').waitFor();
    await tab(page, 'Second factors');
    await page.getByText('Authenticator app').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Reset second factors' }).click();
    await confirm(page, 'Reset');
    await page.getByText('No second factor').waitFor();
  });
});
