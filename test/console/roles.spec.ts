import type { Page } from 'playwright-core';
import { ownPermissions } from '../../src/access/permissions';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { freshAuthenticationDialog, headingOf, switchToGerman } from '../support/console-page';
import { phone } from '../support/screens';
import { password } from '../support/service';

describe('roles in the console', () => {
  const subject = useConsole();
  const roleOf = async (name: string) =>
    (await subject.service.get(`/role/${name}`, { token: subject.service.admin.token })).body;
  const createRole = async (fields: Record<string, unknown>) => {
    const { token } = subject.service.admin;
    const body = { user_types: ['system'], ...fields };
    expect((await subject.service.post('/role/create', { token, body })).status).toBe(201);
  };
  const permission = (page: Page, name: string) => page.getByRole('checkbox', { name: new RegExp(`(^| )${name}$`) });

  it('lists the roles', async () => {
    const page = await subject.login(undefined, '/roles');
    await page.getByRole('link', { name: 'carrier_administrator' }).waitFor();
    await page.getByText('audit:read, role:read, session:read').waitFor();
    await expectAccessible(page);
    await page.setViewportSize(phone);
    await page.getByRole('listitem').filter({ hasText: 'auditor' }).waitFor();
  });

  it('creates a role with permissions of the service and of a module, and shows conflicts at the field', async () => {
    const page = await subject.login(undefined, '/roles');
    await page.getByRole('link', { name: 'Create role' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('operator');
    for (const own of Object.keys(ownPermissions)) expect(await permission(page, own).count()).toBe(1);
    await permission(page, 'user:read').check();
    const other = page.getByLabel('Permission of another module');
    await other.fill('Billing');
    await other.press('Enter');
    await page.getByText('Enter module:action').waitFor();
    await other.fill('billing:read');
    await page.getByRole('button', { name: 'Create role' }).click();
    expect(await other.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await other.press('Enter');
    await page.getByRole('button', { name: 'Create role' }).click();
    await page.getByText('Choose at least one').waitFor();
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    await page.getByRole('button', { name: 'Create role' }).click();
    await page.getByText('Another role has this name.').waitFor();
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);
    // Looks like the path of a file.
    await name.fill('support.eu');
    await page.getByLabel('Description').fill('Helps users in Europe');
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('button', { name: 'Create role' }).click();
    await headingOf(page, 'support.eu').waitFor();
    await page.reload();
    await headingOf(page, 'support.eu').waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/roles\/support\.eu$/);
    expect(await roleOf('support.eu')).toMatchObject({
      permissions: ['billing:read', 'user:read'],
      user_types: ['system'],
      description: 'Helps users in Europe',
    });
  });

  it('shows permissions of modules that are named like inherited object keys (I4)', async () => {
    await createRole({ name: '__proto__', permissions: ['__proto__:read', 'constructor:read'] });
    const page = await subject.login(undefined, '/roles/__proto__/');
    await page.getByRole('group', { name: '__proto__' }).waitFor();
    expect(await permission(page, 'constructor:read').isChecked()).toBe(true);
    expect((await subject.service.delete('/role/__proto__', { token: subject.service.admin.token })).status).toBe(204);
  });

  it('asks for a fresh authentication, and sends only what changed', async () => {
    await createRole({ name: 'helpdesk', description: 'Answers calls', permissions: ['user:read', 'billing:write'] });
    const page = await subject.login(undefined, '/roles/helpdesk');
    await subject.ageAuthentication(subject.service.admin.user_id);
    const save = page.getByRole('button', { name: 'Save' });
    await permission(page, 'user:update').check();
    expect(await save.isEnabled()).toBe(true);
    await save.click();
    const dialog = freshAuthenticationDialog(page);
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The role is saved.').waitFor();
    expect(await roleOf('helpdesk')).toMatchObject({
      description: 'Answers calls',
      permissions: ['billing:write', 'user:read', 'user:update'],
    });
    await expectAccessible(page);
    await page.evaluate('scrollTo(0, 0)');
    await screenshot(page, 'role');
  });

  it('shows both versions when another user saved the role first, and saves the chosen values (B16)', async () => {
    await createRole({ name: 'planner', description: 'Plans', permissions: ['tour:plan', 'user:read'] });
    const page = await subject.login(undefined, '/roles/planner');
    await page.getByLabel('Description').fill('Plans tours');
    await permission(page, 'user:update').check();
    const { token } = subject.service.admin;
    const other = { description: 'Plans everything', permissions: ['tour:close', 'user:read'], may_grant: ['auditor'] };
    expect((await subject.service.patch('/role/planner', { token, body: other })).status).toBe(200);
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Someone else changed this role' });
    await dialog.getByText('Also changed in the saved version').waitFor();
    expect(await roleOf('planner')).toMatchObject({ ...other, version: 2 });
    await dialog
      .getByRole('radiogroup', { name: 'Permissions' })
      .getByRole('radio', { name: /^Saved version/ })
      .click();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save my choice' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('The role is saved.').waitFor();
    expect(await roleOf('planner')).toMatchObject({ ...other, description: 'Plans tours', version: 3 });
    expect(await permission(page, 'tour:close').isChecked()).toBe(true);
    expect(await permission(page, 'user:update').isChecked()).toBe(false);
    // A deletion belongs to the version that the page shows, too.
    await page.getByRole('button', { name: 'Delete role' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the role planner?' });
    expect((await subject.service.patch('/role/planner', { token, body: { description: 'Needed' } })).status).toBe(200);
    await question.getByRole('button', { name: 'Delete role' }).click();
    await question.getByText('This role was changed in the meantime.').waitFor();
    await question.getByRole('button', { name: 'Delete role' }).click();
    await headingOf(page, 'Roles').waitFor();
  });

  it('suggests the correct permission, and accepts the name of another module on request (Z40)', async () => {
    const page = await subject.login(undefined, '/roles/create');
    await page.getByLabel('Name', { exact: true }).fill('typist');
    await page.getByRole('checkbox', { name: 'System Users' }).check();
    const other = page.getByLabel('Permission of another module');
    await other.fill('user:raed');
    await other.press('Enter');
    await page.getByRole('button', { name: 'Create role' }).click();
    await page.getByText('User:raed is unknown. Did you mean user:read?').waitFor();
    expect(await page.getByLabel('This is the name of another module').count()).toBe(0);
    await permission(page, 'user:raed').uncheck();
    await other.fill('users:read');
    await other.press('Enter');
    await page.getByRole('button', { name: 'Create role' }).click();
    await page.getByLabel('This is the name of another module').check();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create role' }).click();
    await headingOf(page, 'typist').waitFor();
    expect(await roleOf('typist')).toMatchObject({ permissions: ['users:read'] });
  });

  it('requires a second factor in a built-in role, and changes nothing else there', async () => {
    const page = await subject.login(undefined, '/roles/auditor/');
    await headingOf(page, 'auditor').waitFor();
    expect(await permission(page, 'user:read').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Delete role' }).count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Require a second factor' }).check();
    await page.getByLabel('From', { exact: true }).fill('2030-05-06T07:08');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The role is saved.').waitFor();
    const local = await page.evaluate(`new Date('2030-05-06T07:08').toISOString()`);
    expect(await roleOf('auditor')).toMatchObject({ second_factor_required_from: local });
    await expectAccessible(page);
    await page.evaluate('scrollTo(0, 0)');
  });

  it('deletes a role only after no user has it, and links to the users who do', async () => {
    await createRole({ name: 'visitor', permissions: ['role:read'] });
    const { service } = subject;
    const { user_id } = await service.createUser({ user_type: 'system', roles: ['visitor'] });
    const page = await subject.login(undefined, '/roles/visitor');
    await page.getByRole('link', { name: '1 user has this role' }).waitFor();
    await page.getByRole('button', { name: 'Delete role' }).click();
    const inUse = page.getByRole('dialog', { name: 'The role visitor is still in use' });
    await inUse.getByText('1 user has this role and would lose its permissions.').waitFor();
    await expectAccessible(page);
    await inUse.getByRole('link', { name: 'Show the users' }).click();
    await page.waitForURL('**/users?role=visitor');
    const { token } = service.admin;
    expect((await service.patch(`/user/${user_id}`, { token, body: { roles: [] } })).status).toBe(200);
    await page.goto(subject.at('/roles/visitor'));
    await page.getByText('No user has this role').waitFor();
    await page.getByRole('button', { name: 'Delete role' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete the role visitor?' });
    await dialog.getByRole('button', { name: 'Delete role' }).click();
    await headingOf(page, 'Roles').waitFor();
    expect((await service.get('/role/visitor', { token })).status).toBe(404);
  });

  it('shows roles to users who may only read them, and no page to others', async () => {
    const { name } = await subject.service.createUser({ user_type: 'system', roles: ['operator'] });
    const page = await subject.login(name, '/roles');
    await page.getByRole('link', { name: 'operator' }).click();
    await headingOf(page, 'operator').waitFor();
    await page.getByText('Import users from a file').waitFor();
    for (const button of ['Save', 'Delete role'])
      expect(await page.getByRole('button', { name: button }).count()).toBe(0);
    await page.goto(subject.at('/roles/create'));
    await headingOf(page, 'Page not found').waitFor();
    const { name: guest } = await subject.service.createUser({ roles: ['carrier_user'] });
    const other = await subject.login(guest, '/roles');
    await headingOf(other, 'Page not found').waitFor();
    expect(await other.getByRole('link', { name: 'Roles' }).count()).toBe(0);
  });

  it('does not say that nothing prevents a login to roles that cannot read the audit log', async () => {
    await createRole({ name: 'support', permissions: ['user:read', 'user:update'] });
    const { user_id } = await subject.service.createUser();
    const { name } = await subject.service.createUser({ user_type: 'system', roles: ['support'] });
    const path = `/users/${user_id}?tab=login`;
    const page = await subject.login(name, path);
    await page.getByRole('heading', { name: 'Some reasons are hidden from you' }).waitFor();
    const other = await subject.login();
    await other.route('**/audit/list?*', (route) => route.abort());
    await other.goto(subject.at(path));
    await other.getByText('The service cannot be reached').waitFor();
    for (const one of [page, other]) expect(await one.getByText('Nothing prevents this login').count()).toBe(0);
  });

  it('keeps the longest names within the width of a phone', async () => {
    const longest = { name: 'r'.repeat(64), permissions: [`${'m'.repeat(60)}:${'p'.repeat(60)}`] };
    await createRole(longest);
    const { user_id } = await subject.service.createUser({ user_type: 'system', roles: [longest.name] });
    const page = await subject.login(undefined, '/users', { viewport: phone });
    const rolePath = `/roles/${longest.name}/`;
    for (const path of [`/users/${user_id}?tab=roles`, `/users?roles=${longest.name}`, rolePath]) {
      await page.goto(subject.at(path));
      await page.getByText(longest.name).first().waitFor();
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(phone.width);
    }
  });

  it('shows roles in German on a phone', async () => {
    const page = await subject.login(undefined, '/roles/operator/', { viewport: phone });
    await headingOf(page, 'operator').waitFor();
    await switchToGerman(page);
    await page.getByText('Benutzer aus einer Datei importieren').waitFor();
    await expectAccessible(page);
  });
});
