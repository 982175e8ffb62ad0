import type { Page } from 'playwright-core';
import { expectAccessible, useConsole } from '../support/console/console';
import {
  click,
  dialogOf,
  faultyInput,
  follow,
  headingOf,
  linkOf,
  proveIdentity,
  rowOf,
  sees,
  submit,
  switchToGerman,
} from '../support/console/console-page';
import { inSeconds } from '../support/data/keys';
import { phone } from '../support/console/screens';
import { password } from '../support/service';

const network = '198.51.100.0/24';

describe('attacks in the console', () => {
  const subject = useConsole();
  /** Records rejected logins of 20 users from a network within the last minutes. */
  async function attack(from: string): Promise<void> {
    const { service } = subject;
    const users: string[] = [];
    for (let count = 0; count < 20; count++) users.push((await service.createUser({ carrier_id: 'acme' })).user_id);
    await service.rows(
      `insert into events (event_type, occurred_at, actor_type, target_type, target_id, carrier_id, ip)
      select 'login.failed', now() - number * interval '5 seconds', 'system', 'login', user_id, 'acme',
        $2::inet + number % 20
      from unnest($1::uuid[]) user_id, generate_series(1, 2) number`,
      [users, from],
    );
  }
  const login = (ip: string) =>
    subject.service.post('/auth/login', { body: { login: subject.service.admin.user_id, password }, ip });
  const tableOf = (page: Page, name: string) => page.getByRole('region', { name }).getByRole('row');

  it('shows an attack on the overview, and blocks its network in three clicks', async () => {
    await attack('198.51.100.7');
    const page = await subject.login();
    await follow(page, '40 rejected logins in the last hour, far more than usual', headingOf(page, 'Attacks'));
    const row = tableOf(page, 'Networks with rejected logins').filter({ hasText: network });
    await sees(row, '40', '20');
    await expectAccessible(page);
    await click(row, `Block ${network}`, dialogOf(page, 'Block a network'), expectAccessible);
    await click(dialogOf(page, 'Block a network'), 'Block network', `${network} is blocked.`);
    await sees(row, /^Blocked, ends/);
    await sees(tableOf(page, 'Blocked networks').filter({ hasText: network }), 'administrator');
    await expectAccessible(page);
    expect((await login('198.51.100.7')).status).toBe(429);
    await click(page, `Remove the block of ${network}`, `The block of ${network} is removed.`);
    await sees(page, 'No network is blocked', row.getByRole('button', { name: `Block ${network}` }));
    expect((await login('198.51.100.7')).status).toBe(401);
  });

  it('blocks the address of an event until a time, after a fresh authentication', async () => {
    await subject.service.post('/auth/login', { body: { login: 'nobody', password: 'wrong' }, ip: '203.0.113.9' });
    const page = await subject.login(undefined, '/audit?ip=203.0.113.9');
    await subject.ageAuthentication(subject.service.admin.user_id);
    await rowOf(page, '203.0.113.9').getByRole('button', { name: 'Details' }).click();
    await click(page, 'Block 203.0.113.9', expectAccessible);
    const dialog = dialogOf(page, 'Block a network');
    await dialog.getByLabel('Duration').selectOption('Until a chosen time');
    await submit(dialog, { Network: '0.0.0.0/0', Ends: '2099-01-01T00:00', Reason: 'Guessing' }, 'Block network');
    await proveIdentity(page);
    await sees(page, faultyInput(page, 'Network'), expectAccessible);
    await submit(dialog, { Network: '203.0.113.9' }, 'Block network', faultyInput(page, 'Ends'));
    await sees(page, 'Choose a time in the future, at most 30 days from now.');
    const soon = inSeconds(3_600).slice(0, 'yyyy-mm-ddThh:mm'.length);
    await submit(dialog, { Ends: soon }, 'Block network', '203.0.113.9/32 is blocked.');
    const { body } = await subject.service.get('/address-block/list', subject.service.admin);
    expect(body.items).toMatchObject([{ network: '203.0.113.9/32', reason: 'Guessing' }]);
  });

  it('shows attacks in German on a phone, without blocks to users who may not block', async () => {
    const { page } = await subject.loginAs({ user_type: 'system', roles: ['auditor'] }, '/attacks', {
      viewport: phone,
    });
    await headingOf(page, 'Attacks').waitFor();
    await switchToGerman(page);
    await sees(page, headingOf(page, 'Angriffe'), 'Nach Netz', linkOf(page, network));
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: /sperren/i }).count()).toBe(0);
    expect(await page.getByText('Gesperrte Netze').count()).toBe(0);
    const admin = await subject.login(undefined, '/attacks', { viewport: phone });
    await switchToGerman(admin);
    await click(admin, 'Netz sperren', dialogOf(admin, 'Netz sperren'), expectAccessible);
    const { page: other } = await subject.loginAs({ carrier_id: 'acme', roles: ['carrier_administrator'] });
    await subject.goto(other, '/attacks', 'This page does not exist');
  });
});
