import type { Page } from 'playwright-core';
import { expectAccessible, useConsole } from '../support/console/console';
import {
  choose,
  click,
  confirm,
  dialogOf,
  faultyInput,
  follow,
  headingOf,
  inputOf,
  linkOf,
  proveIdentity,
  rowOf,
  sees,
  submit,
  switchToGerman,
} from '../support/console/console-page';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { HookReceiver } from '../support/network/hook-receiver';
import { until } from '../support/until';

describe('webhooks in the console', () => {
  // A server of its own: transactions of other tests would hold the feed back.
  beforeAll(startServer);
  const subject = useConsole({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  const receiver = new HookReceiver();
  beforeAll(() => receiver.start());
  afterAll(() => receiver.stop());
  afterAll(stopServer);

  const secretOf = (page: Page) => dialogOf(page, 'Copy the secret now').getByLabel('Secret', { exact: true });
  const create = async (path: string, type_in = ['user.created']) => {
    const { token } = subject.service.admin;
    const body = { url: receiver.url(path), type_in };
    const created = await subject.service.post('/webhook/create', { token, body });
    expect(created.status).toBe(201);
    return (created.body as { webhook_id: string }).webhook_id;
  };
  const webhookOf = async (id: string) =>
    (await subject.service.get(`/webhook/${id}`, subject.service.admin)).body as Record<string, unknown>;
  const arrived = (path: string, count: number) => until(() => receiver.of(path).length >= count);

  it('creates a webhook, shows its secret once, and shows the requests and responses', async () => {
    const page = await subject.login();
    await follow(page, /^Webhooks$/, 'There are no webhooks yet', expectAccessible);
    await linkOf(page, 'Create webhook').first().click();
    await submit(page, { Target: 'http://10.0.0.1/' }, 'Create webhook', faultyInput(page, 'Target'));
    await inputOf(page, 'Changes').fill('User created');
    await page.getByRole('option', { name: 'User created' }).click();
    await inputOf(page, 'Carriers').fill('acme');
    await submit(
      page,
      { Target: receiver.url('/created'), Purpose: 'Invoices' },
      'Create webhook',
      dialogOf(page, 'Copy the secret now'),
    );
    expect(await secretOf(page).inputValue()).toMatch(/^whsec_\S{32,}$/);
    await expectAccessible(page);
    await confirm(page, 'I have stored the secret', headingOf(page, receiver.url('/created')));
    await sees(page, 'Active', 'Invoices', 'No requests in the last 7 days');
    expect(await page.content()).not.toContain('whsec_');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(await webhookOf(id)).toMatchObject({ type_in: ['user.created'], carrier_scope: ['acme'] });
    await subject.service.createUser({ carrier_id: 'acme' });
    await sees(rowOf(page, 'User created'), '204');
    receiver.answer = () => 200;
    await click(page, 'Send a test', rowOf(page, 'Test'));
    await sees(rowOf(page, 'Test'), '200');
    await click(rowOf(page, 'Test'), /^Test$/, dialogOf(page, 'Test'));
    await sees(dialogOf(page, 'Test'), /"type": "webhook.test"/, 'answer 200', expectAccessible);
    await subject.goto(page, '/webhooks', rowOf(page, receiver.url('/created')), (shown) =>
      expectAccessible(shown, true),
    );
    await subject.goto(page, '/audit', linkOf(page, /^Webhook …/).first());
  });

  it('skips the change that fails, and sends it again later', async () => {
    const id = await create('/failing');
    receiver.answer = () => 500;
    await subject.service.createUser();
    const page = await subject.login(undefined, `/webhooks/${id}`);
    await sees(page, 'Failing', 'Failing since', '500');
    await expectAccessible(page);
    await page.getByText('Failed', { exact: true }).click();
    await sees(page, rowOf(page, '500').first());
    await click(page, 'Skip change', dialogOf(page, 'Skip change'));
    await confirm(page, 'Skip change', page.getByText('Active', { exact: true }));
    receiver.answer = () => 204;
    const before = receiver.of('/failing').length;
    await rowOf(page, '500').first().getByRole('button', { name: 'Retry User created' }).click();
    await arrived('/failing', before + 1);
    await page.getByText('All', { exact: true }).click();
    await sees(rowOf(page, 'Manual retry'), '204');
    expect(await webhookOf(id)).toMatchObject({ state: 'active' });
  });

  it('sends changes again from a time, and replaces the secret after a fresh authentication', async () => {
    const id = await create('/replayed');
    await subject.service.createUser();
    await arrived('/replayed', 1);
    const page = await subject.login(undefined, `/webhooks/${id}`);
    await sees(page, rowOf(page, 'User created'));
    await choose(page, 'More actions', 'Send changes again');
    const anHourAgo = await page.evaluate<string>(
      'new Date(Date.now() - 3_600_000 - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16)',
    );
    await submit(page.getByRole('dialog'), { 'Changes after': anHourAgo }, 'Send changes again');
    await arrived('/replayed', 2);
    await subject.ageAuthentication(subject.service.admin.user_id);
    await choose(page, 'More actions', 'Replace secret');
    await confirm(page, 'Replace secret');
    await proveIdentity(page);
    await secretOf(page).waitFor();
    expect(await secretOf(page).inputValue()).toMatch(/^whsec_/);
    await confirm(page, 'I have stored the secret', 'Old secret signs until');
  });

  it('changes, disables, enables and deletes a webhook', async () => {
    const id = await create('/changed');
    const page = await subject.login(undefined, `/webhooks/${id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit webhook' }).click();
    await headingOf(page, 'Edit webhook').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Send the new values').check();
    await page.getByLabel('Purpose').fill('Reports');
    const theirs = { description: 'Invoices', type_in: ['user.deleted'] };
    await subject.service.patch(`/webhook/${id}`, { token: subject.service.admin.token, body: theirs });
    await click(page, 'Save', dialogOf(page, 'Someone else has saved changes in the meantime'));
    await confirm(page, 'Save my choice', headingOf(page, receiver.url('/changed')));
    const saved = { description: 'Reports', include_values: true, type_in: ['user.deleted'] };
    expect(await webhookOf(id)).toMatchObject(saved);
    await choose(page, 'More actions', 'Disable');
    await confirm(page, 'Disable', 'Disabled', 'by a user');
    const gone = await subject.service.createUser();
    await subject.service.delete(`/user/${gone.user_id}`, { token: subject.service.admin.token });
    await click(page, 'Enable', dialogOf(page, 'Enable'));
    await confirm(page, 'Enable', page.getByText('Active', { exact: true }));
    await arrived('/changed', 1);
    await choose(page, 'More actions', 'Delete');
    await confirm(page, 'Delete', headingOf(page, 'Webhooks'));
    expect(await webhookOf(id)).toMatchObject({ code: 'webhook.not_found' });
  });

  it('hides webhooks from users without the permission, and shows German texts', async () => {
    const { page } = await subject.loginAs({ user_type: 'system', roles: ['auditor'] });
    await linkOf(page, 'Audit log').waitFor();
    expect(await linkOf(page, 'Webhooks').count()).toBe(0);
    await subject.goto(page, '/webhooks', 'This page does not exist');
    const german = await subject.login(undefined, '/webhooks');
    await switchToGerman(german);
    await follow(german, 'Webhook anlegen', headingOf(german, 'Webhook anlegen'), expectAccessible);
  });
});
