import type { Page } from 'playwright-core';
import { expectAccessible, useConsole } from '../support/console';
import { headingOf } from '../support/console-page';
import { phone } from '../support/screens';

const dayMs = 24 * 3_600_000;

describe('API keys in the console', () => {
  const subject = useConsole();
  const permission = (page: Page, name: string) => page.getByRole('checkbox', { name: new RegExp(`(^| )${name}$`) });
  const createKey = async (name: string, days = 90, token = subject.service.admin.token) => {
    const expires_at = new Date(Date.now() + days * dayMs).toISOString();
    const body = { name, permissions: ['user:read', 'session:read'], expires_at };
    const answer = await subject.service.post('/auth/key/create', { token, body });
    expect(answer.status).toBe(201);
    return answer.body;
  };
  const listUsers = (token: string) => subject.service.get('/user/list', { token });

  it('creates a key for one carrier, shows it once, and copies it', async () => {
    const page = await subject.login(undefined, '/api-keys');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByText('There are no API keys yet').waitFor();
    await expectAccessible(page);
    await page.getByRole('main').getByRole('link', { name: 'Create API key' }).first().click();
    const submit = page.getByRole('button', { name: 'Create API key' });
    await page.getByLabel('Name', { exact: true }).fill('billing');
    await submit.click();
    await page.getByText('Choose at least one permission').waitFor();
    await permission(page, 'user:read').check();
    await page.getByRole('radio', { name: 'Only these carriers' }).check();
    await submit.click();
    await page.getByText('Enter at least one carrier').waitFor();
    const carriers = page.locator('input[type=text]').and(page.getByLabel('Carriers', { exact: true }));
    await carriers.fill('acme');
    await carriers.press('Enter');
    await expectAccessible(page);
    await page.evaluate('scrollTo(0, 0)');
    await submit.click();
    const dialog = page.getByRole('dialog', { name: 'Copy the API key now' });
    await dialog.waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    await dialog.getByText('Copied').waitFor();
    const key = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(key).toBe(await dialog.getByLabel('API key').inputValue());
    expect((await listUsers(key)).status).toBe(200);
    await dialog.getByRole('button', { name: 'I have stored the key' }).click();
    await page.getByRole('link', { name: 'billing' }).click();
    await headingOf(page, 'billing').waitFor();
    await page.getByText('acme').waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('shows a time of expiry that the service rejects at the field', async () => {
    const page = await subject.login(undefined, '/api-keys/create');
    await page.getByLabel('Name', { exact: true }).fill('late');
    await permission(page, 'user:read').check();
    await page.getByLabel('Expires').selectOption('at another time');
    const time = page.getByLabel('Time of expiry');
    await time.fill('2090-01-01T00:00');
    await page.getByRole('button', { name: 'Create API key' }).click();
    await page.getByText('Choose a time in the future, at most one year from now.').waitFor();
    expect(await time.getAttribute('aria-invalid')).toBe('true');
  });

  it('revokes a key', async () => {
    const { key } = await createKey('old script', 7);
    await createKey('nightly report');
    expect((await listUsers(key)).status).toBe(200);
    const page = await subject.login(undefined, '/api-keys');
    await page.getByText('Expires soon').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Revoke key old script' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the API key old script?' });
    await dialog.getByText('Last used:').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The API key old script is revoked.').waitFor();
    expect((await listUsers(key)).status).toBe(401);
    await page.getByText('Active', { exact: true }).first().click();
    await page.getByRole('link', { name: 'old script' }).waitFor({ state: 'hidden' });
    expect(page.url()).toContain('active=true');
    await page.getByRole('link', { name: 'nightly report' }).click();
    await headingOf(page, 'nightly report').waitFor();
    await expectAccessible(page);
  });

  it('offers Carrier Users only what they hold, and no carriers', async () => {
    const { service } = subject;
    const body = {
      name: 'integrator',
      user_types: ['carrier'],
      permissions: ['key:manage', 'user:read', 'billing:read'],
    };
    expect((await service.post('/role/create', { token: service.admin.token, body })).status).toBe(201);
    const { name } = await service.createUser({ roles: ['integrator'] });
    const page = await subject.login(name, '/api-keys/create', { viewport: phone });
    await permission(page, 'billing:read').waitFor();
    const shown = await page.getByRole('checkbox').evaluateAll((boxes) => boxes.length);
    expect(shown).toBe(body.permissions.length);
    expect(await page.getByText('All permissions').count()).toBe(0);
    expect(await page.getByRole('radio').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('pager');
    await permission(page, 'billing:read').check();
    await page.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('dialog', { name: 'Copy the API key now' }).waitFor();
  });

  it('shows no page to users who may not manage keys', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.login(name, '/api-keys');
    await headingOf(page, 'Page not found').waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
  });
});
