import type { Page } from 'playwright-core';
import { ownPermissions } from '../../src/access/permissions';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
import {
  click,
  dialogOf,
  faultyInput,
  fill,
  follow,
  headingOf,
  linkOf,
  proveIdentity,
  rowOf,
  sees,
  submit,
  switchToGerman,
} from '../support/console/console-page';
import { createKey, inSeconds } from '../support/data/keys';
import { phone } from '../support/console/screens';

describe('roles and API keys in the console', () => {
  const subject = useConsole();
  const permission = (page: Page, name: string) => page.getByRole('checkbox', { name: new RegExp(`(^| )${name}$`) });
  const isOffered = async (page: Page, role: 'button' | 'link' | 'radio', name?: string) =>
    (await page.getByRole(role, name === undefined ? {} : { name }).count()) > 0;
  const name = (page: Page) => page.getByLabel('Name', { exact: true });
  const createRole = async (fields: Record<string, unknown>) => {
    const { token } = subject.service.admin;
    const body = { user_types: ['system'], ...fields };
    expect((await subject.service.post('/role/create', { token, body })).status).toBe(201);
  };

  const roleOf = async (role: string) => (await subject.service.get(`/role/${role}`, subject.service.admin)).body;
  const patch = async (role: string, body: object) => {
    const { token } = subject.service.admin;
    expect((await subject.service.patch(`/role/${role}`, { token, body })).status).toBe(200);
  };

  it('creates a role with permissions of the service and of a module, and shows conflicts at the field', async () => {
    const page = await subject.login(undefined, '/roles');
    await linkOf(page, 'carrier_administrator').waitFor();
    await sees(page, 'audit:read, role:read, session:read', expectAccessible);
    await page.setViewportSize(phone);
    await page.getByRole('listitem').filter({ hasText: 'auditor' }).waitFor();
    await follow(page, 'Create role');
    await name(page).fill('operator');
    for (const own of Object.keys(ownPermissions)) expect(await permission(page, own).count()).toBe(1);
    await permission(page, 'user:read').check();
    const other = page.getByLabel('Permission of another module');
    await other.fill('Billing');
    await other.press('Enter');
    await sees(page, 'Enter module:action');
    await other.fill('billing:read');
    await click(page, 'Create role');
    expect(await other.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await other.press('Enter');
    await click(page, 'Create role', 'Choose at least one');
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    await click(page, 'Create role', 'Another role has this name.', faultyInput(page, 'Name'), expectAccessible);
    // The name looks like the path of a file.
    await name(page).fill('support.eu');
    await submit(page, { Description: 'Helps users in Europe' }, 'Create role', headingOf(page, 'support.eu'));
    await page.reload();
    await headingOf(page, 'support.eu').waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/roles\/support\.eu$/);
    expect(await roleOf('support.eu')).toMatchObject({
      ...{ permissions: ['billing:read', 'user:read'], user_types: ['system'] },
      description: 'Helps users in Europe',
    });
  });

  it('shows permissions of modules that are named like inherited object keys (I4)', async () => {
    await createRole({ name: '__proto__', permissions: ['__proto__:read', 'constructor:read'] });
    const page = await subject.login(undefined, '/roles/__proto__/');
    await page.getByRole('group', { name: '__proto__' }).waitFor();
    expect(await permission(page, 'constructor:read').isChecked()).toBe(true);
    expect((await subject.service.delete('/role/__proto__', subject.service.admin)).status).toBe(204);
  });

  it('asks for a fresh authentication, and sends only what changed', async () => {
    await createRole({ name: 'helpdesk', description: 'Answers calls', permissions: ['user:read', 'billing:write'] });
    const page = await subject.login(undefined, '/roles/helpdesk');
    await subject.ageAuthentication(subject.service.admin.user_id);
    await permission(page, 'user:update').check();
    await click(page, 'Save');
    await proveIdentity(page);
    await sees(page, 'The role is saved.');
    const permissions = ['billing:write', 'user:read', 'user:update'];
    expect(await roleOf('helpdesk')).toMatchObject({ description: 'Answers calls', permissions });
    await expectAccessible(page);
    await page.evaluate('scrollTo(0, 0)');
    await screenshot(page, 'role');
  });

  it('shows both versions when another user saved the role first, and saves the chosen values (B16)', async () => {
    await createRole({ name: 'planner', description: 'Plans', permissions: ['tour:plan', 'user:read'] });
    const page = await subject.login(undefined, '/roles/planner');
    await fill(page, { Description: 'Plans tours' });
    await permission(page, 'user:update').check();
    const theirs = { description: 'All', permissions: ['tour:close', 'user:read'], may_grant: ['auditor'] };
    await patch('planner', theirs);
    await click(page, 'Save');
    const dialog = dialogOf(page, 'Someone else has saved changes in the meantime');
    await sees(dialog, 'Also changed in the saved version');
    expect(await roleOf('planner')).toMatchObject({ ...theirs, version: 2 });
    const permissions = dialog.getByRole('radiogroup', { name: 'Permissions' });
    await permissions.getByRole('radio', { name: /^Saved version/ }).click();
    await expectAccessible(page);
    await click(dialog, 'Save my choice', 'The role is saved.');
    expect(await roleOf('planner')).toMatchObject({ ...theirs, description: 'Plans tours', version: 3 });
    expect(await permission(page, 'tour:close').isChecked()).toBe(true);
    expect(await permission(page, 'user:update').isChecked()).toBe(false);
    // A deletion applies to the version that the page shows, too.
    await click(page, 'Delete role');
    const question = dialogOf(page, 'Delete the role planner?');
    await patch('planner', { description: 'Needed' });
    await click(question, 'Delete role', 'This role was changed in the meantime.');
    await click(question, 'Delete role', headingOf(page, 'Roles'));
  });

  it('suggests the correct permission, and accepts the name of another module on request (Z40)', async () => {
    const page = await subject.login(undefined, '/roles/create');
    await name(page).fill('typist');
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    const add = async (other: string) => {
      await fill(page, { 'Permission of another module': other });
      await page.getByLabel('Permission of another module').press('Enter');
      await click(page, 'Create role');
    };
    await add('user:raed');
    await sees(page, 'User:raed is unknown. Did you mean user:read?');
    expect(await page.getByLabel('This is the name of another module').count()).toBe(0);
    await permission(page, 'user:raed').uncheck();
    await add('users:read');
    await page.getByLabel('This is the name of another module').check();
    await expectAccessible(page);
    await click(page, 'Create role', headingOf(page, 'typist'));
    expect(await roleOf('typist')).toMatchObject({ permissions: ['users:read'] });
  });

  it('requires a second factor in a built-in role, and changes nothing else there', async () => {
    const page = await subject.login(undefined, '/roles/auditor/');
    await headingOf(page, 'auditor').waitFor();
    expect(await permission(page, 'user:read').count()).toBe(0);
    expect(await isOffered(page, 'button', 'Delete role')).toBe(false);
    await page.getByRole('checkbox', { name: 'Require a second factor' }).check();
    await page.getByLabel('From', { exact: true }).fill('2030-05-06T07:08');
    await click(page, 'Save', 'The role is saved.');
    const local = await page.evaluate(`new Date('2030-05-06T07:08').toISOString()`);
    expect(await roleOf('auditor')).toMatchObject({ second_factor_required_from: local });
    await expectAccessible(page);
  });

  it('deletes a role only if no user has it, and links to the users who do', async () => {
    await createRole({ name: 'visitor', permissions: ['role:read'] });
    const { service } = subject;
    const { token } = service.admin;
    const { user_id } = await service.createUser({ user_type: 'system', roles: ['visitor'] });
    const page = await subject.login(undefined, '/roles/visitor');
    await linkOf(page, '1 user has this role').waitFor();
    await click(page, 'Delete role');
    const inUse = dialogOf(page, 'The role visitor is still in use');
    await sees(inUse, '1 user has this role and would lose its permissions.', expectAccessible);
    await follow(inUse, 'Show the users');
    await page.waitForURL('**/users?role=visitor');
    expect((await service.patch(`/user/${user_id}`, { token, body: { roles: [] } })).status).toBe(200);
    await subject.goto(page, '/roles/visitor', 'No user has this role');
    await click(page, 'Delete role');
    await click(dialogOf(page, 'Delete the role visitor?'), 'Delete role', headingOf(page, 'Roles'));
    expect((await service.get('/role/visitor', { token })).status).toBe(404);
  });

  it('shows roles to users who may only read them, in German on a phone too, and no page to others', async () => {
    const { page } = await subject.loginAs({ user_type: 'system', roles: ['operator'] }, '/roles');
    await follow(page, 'operator', headingOf(page, 'operator'), 'Import users from a file');
    for (const button of ['Save', 'Delete role']) expect(await isOffered(page, 'button', button)).toBe(false);
    await subject.goto(page, '/roles/create', headingOf(page, 'Page not found'));
    const { page: guest } = await subject.loginAs({ roles: ['carrier_user'] }, '/roles');
    await headingOf(guest, 'Page not found').waitFor();
    expect(await isOffered(guest, 'link', 'Roles')).toBe(false);
    const german = await subject.login(undefined, '/roles/operator/', { viewport: phone });
    await headingOf(german, 'operator').waitFor();
    await switchToGerman(german);
    await sees(german, 'Benutzer aus einer Datei importieren', expectAccessible);
  });

  it('creates a role with 14 of 600 permissions and grants it to 30 found users in 12 clicks', async () => {
    const modules = Array.from({ length: 42 }, (_, index) => `module-${index}`);
    const actions = Array.from({ length: 14 }, (_, index) => `action-${index}`);
    const all = [...modules, 'fleet'].flatMap((module) => actions.map((action) => `${module}:${action}`));
    for (let start = 0; start < all.length; start += 100)
      await createRole({ name: `platform-${start}`, permissions: all.slice(start, start + 100) });
    for (let index = 0; index < 30; index++)
      await subject.service.createUser({ user_type: 'system', name: `dispatcher-${index}` });
    const page = await subject.login(undefined, '/');
    await page.evaluate(`window.clicks = 0; addEventListener('click', () => { window.clicks += 1 }, true)`);
    await follow(page, 'Roles', linkOf(page, 'platform-0'));
    await follow(page, 'Create role', headingOf(page, 'Create a role'));
    // Modules are closed, so that a long list stays fast.
    expect(await page.getByRole('checkbox', { name: 'module-7:action-1' }).count()).toBe(0);
    await expectAccessible(page);
    await name(page).fill('fleet_operator');
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    await page.getByLabel('Search permissions').fill('fleet:');
    await page
      .getByRole('checkbox', { name: 'All permissions of module-1', exact: true })
      .waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'All permissions of fleet' }).check();
    await page.getByLabel('Search permissions').press('Enter');
    await click(page, 'Create role', headingOf(page, 'fleet_operator'));
    await click(page, 'Add users', dialogOf(page, 'Grant the role fleet_operator'));
    await fill(page, { 'Search users by name': 'dispatcher' });
    await click(page, 'Select all 30', expectAccessible);
    await click(page, 'Add 30 users', '30 users now have the role.', '30 users have this role');
    const fields = 3;
    expect((await page.evaluate<number>('window.clicks')) + fields).toBeLessThanOrEqual(12);
    expect((await roleOf('fleet_operator')).permissions).toEqual(actions.map((action) => `fleet:${action}`).sort());
    await sees(page, linkOf(page, /^dispatcher-/).first(), linkOf(page, 'Show all 30'));
  });

  it('waits for the service in an outage, and continues with the half-filled form', async () => {
    const page = await subject.login(undefined, '/roles/create');
    await name(page).fill('half_filled');
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    await page.route('**/*', (route) => route.abort('connectionrefused'));
    await click(page, 'Create role', 'Waiting for the service', expectAccessible);
    await page.unroute('**/*');
    await page.getByText('Waiting for the service').waitFor({ state: 'detached' });
    await click(page, 'Create role', headingOf(page, 'half_filled'));
  });

  it('finds roles by name and description', async () => {
    await createRole({ name: 'night_watch', description: 'Guards the yard' });
    const page = await subject.login(undefined, '/roles');
    await page.getByLabel('Search roles').fill('yard');
    await linkOf(page, 'auditor').waitFor({ state: 'detached' });
    await sees(page, linkOf(page, 'night_watch'));
    await page.waitForURL(/q=yard/);
  });

  it('keeps the longest names within the width of a phone', async () => {
    const longest = { name: 'r'.repeat(64), permissions: [`${'m'.repeat(60)}:${'p'.repeat(60)}`] };
    await createRole(longest);
    const { user_id } = await subject.service.createUser({ user_type: 'system', roles: [longest.name] });
    const paths = [`/users/${user_id}?tab=roles`, `/users?roles=${longest.name}`, `/roles/${longest.name}/`];
    const page = await subject.login(undefined, '/account', { viewport: phone });
    for (const path of paths) {
      await subject.goto(page, path, longest.name);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(phone.width);
    }
  });

  const permissions = ['user:read', 'session:read'];
  const listUsers = async (token: string) => (await subject.service.get('/user/list', { token })).status;

  it('creates an API key for one carrier, shows it once, and copies it', async () => {
    const page = await subject.login(undefined, '/api-keys');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await sees(page, 'There are no API keys yet', expectAccessible);
    await page.getByRole('main').getByRole('link', { name: 'Create API key' }).first().click();
    await name(page).fill('billing');
    await click(page, 'Create API key', 'Choose at least one permission');
    await permission(page, 'user:read').check();
    await page.getByRole('radio', { name: 'Only these carriers' }).check();
    await click(page, 'Create API key', 'Enter at least one carrier');
    const carriers = page.locator('input[type=text]').and(page.getByLabel('Carriers', { exact: true }));
    await carriers.fill('acme');
    await carriers.press('Enter');
    await expectAccessible(page);
    await page.getByLabel('Expires').selectOption('at another time');
    await submit(page, { 'Time of expiry': '2090-01-01T00:00' }, 'Create API key');
    await sees(page, 'Choose a time in the future, at most one year from now.', faultyInput(page, 'Time of expiry'));
    await page.getByLabel('Expires').selectOption('in 90 days');
    await click(page, 'Create API key');
    const dialog = dialogOf(page, 'Copy the API key now');
    await sees(page, dialog, expectAccessible);
    await page.keyboard.press('Escape');
    await click(dialog, 'Copy key', 'Copied');
    const key = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(key).toBe(await dialog.getByLabel('API key').inputValue());
    expect(await listUsers(key)).toBe(200);
    await click(dialog, 'I have stored the key');
    await follow(page, 'billing', headingOf(page, 'billing'), 'acme');
    expect(await page.content()).not.toContain(key);
  });

  it('revokes an API key', async () => {
    const { key } = await createKey(subject.service, permissions, { name: 'old script' });
    await createKey(subject.service, permissions, { name: 'nightly report', expires_at: inSeconds(90 * 86_400) });
    expect(await listUsers(key)).toBe(200);
    const page = await subject.login(undefined, '/api-keys');
    await sees(page, 'Expires soon', expectAccessible);
    await click(page, 'Revoke key old script');
    const dialog = dialogOf(page, 'Revoke the API key old script?');
    await sees(dialog, 'Last used:', expectAccessible);
    await click(dialog, 'Revoke key', 'The API key old script is revoked.');
    expect(await listUsers(key)).toBe(401);
    await page.getByText('Active', { exact: true }).first().click();
    await linkOf(page, 'old script').waitFor({ state: 'hidden' });
    await page.waitForURL(/active=true/);
    await follow(page, 'nightly report', headingOf(page, 'nightly report'), expectAccessible);
  });

  it('replaces the secret of an API key without an outage, and shows until when the old one works', async () => {
    const { key: old } = await createKey(subject.service, permissions, { name: 'pager', expires_at: inSeconds(9e6) });
    const page = await subject.login(undefined, '/api-keys');
    await click(page, 'Replace the secret of pager');
    const question = dialogOf(page, 'Replace the secret of pager?');
    await sees(question, 'The new secret is shown once.', expectAccessible);
    expect(await question.getByLabel('Expires').inputValue()).toBe('');
    await question.getByLabel('Keep the old secret working').selectOption('for one hour');
    await click(question, 'Replace secret');
    const dialog = dialogOf(page, 'Copy the API key now');
    const key = await dialog.getByLabel('API key').inputValue();
    await click(dialog, 'I have stored the key');
    expect([await listUsers(key), await listUsers(old)]).toEqual([200, 200]);
    await sees(rowOf(page, 'pager'), /Old secret expires in (59|60) minutes/, expectAccessible);
    await follow(page, 'pager', headingOf(page, 'pager'), 'Old secret last used', expectAccessible);
    expect(await page.content()).not.toContain(key);
    // The next rotation ends both.
    await click(page, 'Replace secret');
    await question.getByLabel('Keep the old secret working').selectOption('no, it stops working now');
    await click(question, 'Replace secret', dialog);
    expect([await listUsers(key), await listUsers(old)]).toEqual([401, 401]);
  });

  it('offers Carrier Users no carriers and only their permissions for API keys, and others no page', async () => {
    const held = ['key:manage', 'user:read', 'billing:read'];
    await createRole({ name: 'integrator', user_types: ['carrier'], permissions: held });
    const { page } = await subject.loginAs({ roles: ['integrator'] }, '/api-keys/create', { viewport: phone });
    await permission(page, 'billing:read').waitFor();
    // One for each permission, and one for each of their modules.
    expect(await page.getByRole('checkbox').count()).toBe(2 * held.length);
    expect(await page.getByText('All permissions').count()).toBe(0);
    expect(await isOffered(page, 'radio')).toBe(false);
    await name(page).fill('pager');
    await permission(page, 'billing:read').check();
    await click(page, 'Create API key', dialogOf(page, 'Copy the API key now'));
    const { page: other } = await subject.loginAs({}, '/api-keys');
    await headingOf(other, 'Page not found').waitFor();
    expect(await isOffered(other, 'link', 'API keys')).toBe(false);
  });
});
