import { eventCatalogue } from '../../src/audit/event-catalogue';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { rowOf } from '../support/console-page';
import { addFailedMail, refreshOverview } from '../support/overview';
import { desktop } from '../support/screens';
import { loginFrom } from '../support/device-logins';

describe('the start page and the audit log of the console', () => {
  const subject = useConsole();
  const refresh = () => refreshOverview(subject.service);

  it('shows figures, the logins of the last day and what needs attention, each as a link to its list', async () => {
    const { service } = subject;
    const users = [];
    for (const fields of [{}, {}, {}, {}, { password: undefined, must_change_password: undefined }])
      users.push(await service.createUser(fields));
    const [first, second, locked, disabled] = users;
    const change = { token: service.admin.token, body: { status: 'disabled' }, headers: { 'if-match': '*' } };
    expect((await service.patch(`/user/${disabled?.user_id}`, change)).status).toBe(200);
    await loginFrom(service, first?.name ?? '', 'phone', '198.51.100.7');
    await loginFrom(service, second?.name ?? '', 'desktop', '198.51.100.8');
    await addLogins();
    await service.sql.query(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [
      locked?.user_id,
    ]);
    await service.post('/auth/key/create', {
      token: service.admin.token,
      body: { name: 'billing', permissions: ['user:read'], expires_at: new Date(Date.now() + 6e8).toISOString() },
    });
    const page = await subject.login();
    // Counts after the login, so that a refresh by the job of the service changes no figure.
    await refresh();
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Carrier Users, Active: 3' }).waitFor();
    await page.getByRole('link', { name: 'Carrier Users, Disabled: 1' }).waitFor();
    await page.getByRole('link', { name: 'Carrier Users, Invited: 1' }).waitFor();
    await page.getByRole('link', { name: /^Live sessions 4/ }).waitFor();
    await page.getByRole('link', { name: /^Running operations 0/ }).waitFor();
    const chart = page.getByRole('img', { name: /^Bar chart of the logins/ });
    expect(await chart.getAttribute('aria-label')).toContain('by hour: 260 succeeded, 39 failed.');
    expect(await chart.locator('g').count()).toBe(24);
    await expectAccessible(page);
    await screenshot(page, 'overview');
    await page.setViewportSize(desktop);
    await page.getByRole('button', { name: 'Show as table' }).click();
    expect(await page.getByRole('region', { name: 'Logins by hour' }).getByRole('row').count()).toBe(25);
    await expectAccessible(page);
    await page.getByRole('link', { name: '1 locked user' }).click();
    await rowOf(page, locked?.name ?? '').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: '1 API key expires within 14 days' }).click();
    await rowOf(page, 'billing').getByText('Expires soon').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: '39', exact: true }).click();
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    await page.getByText('Event is Login failed').waitFor();
  });

  it('says that nothing needs attention, and shows a Carrier Administrator only their carrier', async () => {
    const { name } = await subject.service.createUser({ carrier_id: 'quiet', roles: ['carrier_administrator'] });
    await refresh();
    const page = await subject.login(name);
    await page.getByText('Nothing needs attention.').waitFor();
    await page.getByRole('link', { name: 'Carrier Users, Active: 1' }).waitFor();
    expect(await page.getByText('System Users').count()).toBe(0);
  });

  it('lists the mails that could not be delivered, and sends one again', async () => {
    const { email, user_id } = await subject.service.createUser();
    await addFailedMail(subject.service, user_id);
    await refresh();
    const page = await subject.login();
    await page.getByRole('link', { name: '1 e-mail could not be delivered' }).click();
    const mail = rowOf(page, email);
    await mail.getByText('Failed', { exact: true }).waitFor();
    await expectAccessible(page, true);
    await mail.getByRole('button', { name: `Send again: Password reset to ${email}` }).click();
    await page.getByText('The e-mail is sent again within seconds.').waitFor();
    await subject.service.mailbox.take(email, /password/i);
  });

  it('sends a user who may not read users to their account, with links to what the role allows', async () => {
    const { service } = subject;
    const body = { name: 'clerk', user_types: ['system'], permissions: ['user:import', 'mail:manage'] };
    expect((await service.post('/role/create', { token: service.admin.token, body })).status).toBe(201);
    const { name } = await service.createUser({ user_type: 'system', roles: ['clerk'] });
    const page = await subject.login(name);
    await page.getByRole('heading', { name: 'My account' }).waitFor();
    const links = await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link').allTextContents();
    expect(links).toEqual(['Import users', 'Operations', 'Sessions', 'Unsent e-mails', 'My account']);
    await page.getByRole('button', { name: 'Find a page' }).click();
    await page.getByPlaceholder('Go to a page', { exact: true }).fill('import');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Import users' }).waitFor();
    expect(await page.getByRole('link', { name: 'Users', exact: true }).count()).toBe(0);
    await page.goto(subject.at('/audit'));
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  });

  it('shows an auditor no links to operations, which the role does not allow', async () => {
    const { service } = subject;
    const { name } = await service.createUser({ user_type: 'system', roles: ['auditor'] });
    const imported = await service.inject({
      method: 'POST',
      url: '/user/import',
      payload: 'user_type,carrier_id,name,email\ncarrier,c1,imported,imported@example.com\n',
      headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'text/csv' },
    });
    expect(imported.statusCode).toBe(200);
    const { operation_id } = JSON.parse(imported.body) as { operation_id: string };
    await refresh();
    const page = await subject.login(name);
    await page.getByText('Running operations').waitFor();
    await page.goto(subject.at('/audit?target_type=operation'));
    await page.getByRole('cell', { name: /^Operation …/ }).waitFor();
    await page.getByRole('button', { name: /^Details: / }).click();
    await page.getByRole('dialog').getByText(operation_id).waitFor();
    expect(await page.locator('a[href*="/operations"]').count()).toBe(0);
    await page.goto(subject.at('/operations'));
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  });

  it('shows in the audit log what changed, who did it and to whom, with the details and the filter', async () => {
    const { service } = subject;
    const { user_id, name } = await service.createUser({ first_name: 'Ada', job_title: 'Clerk' });
    const body = { job_title: 'Dispatcher', status: 'disabled', attributes: { tier: 'gold' } };
    const { status } = await service.patch(`/user/${user_id}`, {
      token: service.admin.token,
      body,
      headers: { 'if-match': '*' },
    });
    expect(status).toBe(200);
    const page = await subject.login();
    await page.getByRole('link', { name: 'Audit log' }).click();
    const changed = rowOf(page, 'User changed').filter({ hasText: name });
    await changed.getByText('Clerk becomes Dispatcher').waitFor();
    await changed.getByRole('link', { name: 'administrator' }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize(desktop);
    await changed.getByRole('button', { name: /^Details: User changed/ }).click();
    const details = page.getByRole('dialog', { name: 'User changed' });
    await details.getByRole('row', { name: 'Status active disabled' }).waitFor();
    await details.getByRole('row', { name: 'Attributes empty tier: gold' }).waitFor();
    await expectAccessible(page);
    await screenshot(page, 'audit-details');
    await details.getByRole('link', { name: 'Events of this request' }).click();
    await details.waitFor({ state: 'hidden' });
    await rowOf(page, 'User created').first().waitFor({ state: 'detached' });
    await changed.waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(page.url()).toMatch(/\/audit\?request_id=[^&]+$/);
  });

  it('shows recorded values unchanged if they look like object keys, times or fixed texts (I4, I14)', async () => {
    const { service } = subject;
    const { token } = service.admin;
    const { user_id, name } = await service.createUser();
    const time = '2026-99-99T99:99:99Z';
    const body = { first_name: '__proto__', last_name: time, job_title: 'totp' };
    expect((await service.patch(`/user/${user_id}`, { token, body })).status).toBe(200);
    await service.post('/auth/login', { body: { login: '__proto__', password: 'wrong' } });
    const page = await subject.login(undefined, '/audit');
    await rowOf(page, 'Login failed').first().waitFor();
    const changed = rowOf(page, 'User changed').filter({ hasText: name });
    await changed.getByRole('button', { name: /^Details: User changed/ }).click();
    const details = page.getByRole('dialog', { name: 'User changed' });
    await details.getByRole('row', { name: 'First name empty __proto__' }).waitFor();
    await details.getByRole('row', { name: `Last name empty ${time}` }).waitFor();
    await details.getByRole('row', { name: 'Job title empty totp' }).waitFor();
    await page.goto(subject.at(`/users/${user_id}?tab=history`));
    await page.getByRole('tabpanel', { name: 'History' }).getByText(time).waitFor();
  });

  it('shows filters and tabs in the URL that are named like inherited object keys (I4)', async () => {
    const { user_id } = await subject.service.createUser();
    const page = await subject.login(undefined, '/audit?event_type=constructor');
    await page.getByText('Event is constructor', { exact: true }).waitFor();
    await page.goto(subject.at('/users?status=constructor'));
    await page.getByText('status: must be one of').waitFor();
    await page.goto(subject.at(`/users/${user_id}?tab=constructor`));
    await page.getByLabel('First name').waitFor();
  });

  it('resolves a conflict of attributes that are named like inherited object keys (I4)', async () => {
    const { service } = subject;
    const { token } = service.admin;
    const { user_id } = await service.createUser();
    const change = async (body: object) =>
      expect((await service.patch(`/user/${user_id}`, { token, body })).status).toBe(200);
    await change({ attributes: { toString: 'x' } });
    const page = await subject.login(undefined, `/users/${user_id}`);
    await page.getByLabel('First name').fill('Ada');
    await page.getByLabel('Attributes').fill('');
    await change({ last_name: '2026-99-99T99:99:99Z' });
    await page.getByRole('button', { name: 'Save' }).click();
    const versions = page.getByRole('dialog', { name: 'Someone else changed this user' });
    await versions.getByText('2026-99-99T99:99:99Z').waitFor();
    await versions.getByRole('button', { name: 'Save my choice' }).click();
    await versions.waitFor({ state: 'hidden' });
    expect(await subject.userOf(user_id)).toMatchObject({ first_name: 'Ada', attributes: {} });
  });

  it('builds a filter of the audit log and keeps it in the URL', async () => {
    const page = await subject.login(undefined, '/audit');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByLabel('Field').first().click();
    await page.getByRole('option', { name: 'Event', exact: true }).click();
    await page.getByLabel('Value').selectOption('User created');
    const types = await page
      .getByLabel('Value')
      .locator('option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    expect(types.filter(Boolean).sort()).toEqual(Object.keys(eventCatalogue).sort());
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Event is User created').waitFor();
    expect(page.url()).toBe(subject.at('/audit?event_type=user.created'));
    await page.getByRole('cell', { name: 'User created' }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'Login succeeded' }).count()).toBe(0);
  });

  /** Adds the logins of a day of work: 256 succeeded and 39 failed before this hour. */
  async function addLogins(): Promise<void> {
    const succeeded = [2, 1, 0, 1, 3, 8, 14, 22, 31, 28, 24, 19, 21, 26, 18, 12, 9, 6, 5, 3, 2, 1];
    const failed = [0, 0, 0, 0, 1, 1, 2, 3, 2, 1, 2, 0, 14, 9, 2, 1, 0, 1, 0, 0, 0, 0];
    await subject.service.sql.query(
      `insert into login_counts (hour, carrier_id, succeeded, failed)
      select date_trunc('hour', now(), 'UTC') - make_interval(hours => 23 - number::integer), 'c1', succeeded, failed
      from unnest($1::integer[], $2::integer[]) with ordinality as logins (succeeded, failed, number)`,
      [succeeded, failed],
    );
  }
});
