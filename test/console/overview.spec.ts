import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { eventCatalogue } from '../../src/audit/event-catalogue';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
import {
  click,
  confirm,
  dialogOf,
  fill,
  follow,
  headingOf,
  linkOf,
  rowOf,
  sees,
  submit,
  switchToGerman,
  userMenu,
} from '../support/console/console-page';
import { loginFrom } from '../support/logins/device-logins';
import { importCsv } from '../support/data/imports';
import { createKey, inSeconds } from '../support/data/keys';
import type { ServiceHealthService } from '../../src/stats/service-health.service';
import { addFailedMail, addJob, addMail, addWebhook, refreshOverview } from '../support/data/overview';
import { phone } from '../support/console/screens';
import { until } from '../support/until';

describe('the frame, the start page, the audit log and the sessions of the console', () => {
  const subject = useConsole();
  const patch = async (user_id: string, body: object) => {
    const { token } = subject.service.admin;
    const answer = await subject.service.patch(`/user/${user_id}`, { token, body });
    expect(answer.status).toBe(200);
    return answer;
  };

  // The first test: the figures are those of the whole service.
  it('shows figures, the logins of the last day and what needs attention, each as a link to its list', async () => {
    const { service } = subject;
    const create = (fields = {}) => service.createUser(fields);
    const [first, second, locked, disabled] = [await create(), await create(), await create(), await create()];
    await service.inviteUser();
    await patch(disabled.user_id, { status: 'disabled' });
    await loginFrom(service, first.name, 'phone', '198.51.100.7');
    await loginFrom(service, second.name, 'desktop', '198.51.100.8');
    // The logins of a day of work: 256 succeeded and 39 failed before this hour.
    await service.rows(
      `
        insert into login_counts (hour, carrier_id, succeeded, failed)
        select date_trunc('hour', now(), 'UTC') - make_interval(hours => 23 - number::integer), 'c1', succeeded, failed
        from unnest($1::integer[], $2::integer[]) with ordinality as logins (succeeded, failed, number)`,
      [
        [2, 1, 0, 1, 3, 8, 14, 22, 31, 28, 24, 19, 21, 26, 18, 12, 9, 6, 5, 3, 2, 1],
        [0, 0, 0, 0, 1, 1, 2, 3, 2, 1, 2, 0, 14, 9, 2, 1, 0, 1, 0, 0, 0, 0],
      ],
    );
    const lock = `update users set locked_until = now() + interval '1 hour' where user_id = $1`;
    await service.rows(lock, [locked.user_id]);
    await createKey(service, ['user:read'], { name: 'billing', expires_at: inSeconds(6e5) });
    const page = await subject.login();
    const link = (name: string | RegExp) => page.getByRole('link', { name });
    // Counts after the login, so that a refresh by the job of the service changes no figure.
    await refreshOverview(service);
    await page.reload();
    await sees(page, headingOf(page, 'Overview'), link('Carrier Users, Active: 3'), link('Carrier Users, Disabled: 1'));
    await sees(page, link('Carrier Users, Invited: 1'), link(/^Sessions 4/), link(/^Operations 0/));
    const chart = page.getByRole('group', { name: /^Bar chart of the logins/ });
    expect(await chart.getAttribute('aria-label')).toContain('by hour: 260 succeeded, 39 failed.');
    expect(await chart.locator('g').count()).toBe(24);
    await expectAccessible(page);
    await screenshot(page, 'overview');
    await click(page, 'Show as table');
    expect(await page.getByRole('region', { name: 'Logins by hour' }).getByRole('row').count()).toBe(25);
    await expectAccessible(page);
    await follow(page, '1 locked user', rowOf(page, locked.name));
    expect(await page.getByRole('row').count()).toBe(2);
    await follow(page, 'Overview');
    await follow(page, '1 API key expires within 14 days', rowOf(page, 'billing').getByText('Expires soon'));
    await follow(page, 'Overview');
    await follow(page, /^39$/, headingOf(page, 'Audit log'), 'Event is Login failed');
    await follow(page, 'Overview');
    // The bar of an hour leads to the logins of this hour.
    await chart.locator('a').last().click();
    await sees(page, headingOf(page, 'Audit log'), page.getByRole('cell', { name: 'Login succeeded' }).first());
    const { searchParams } = new URL(page.url());
    const hour =
      Date.parse(searchParams.get('occurred_at_lt') ?? '') - Date.parse(searchParams.get('occurred_at_gte') ?? '');
    expect([hour, searchParams.get('event_type_in')]).toEqual([3_600_000, 'login.succeeded,login.failed']);
  });

  it('lists first what does not work and what to do, and shows the health of each part', async () => {
    const { service } = subject;
    const measure = async () => {
      await service.inside<ServiceHealthService>('ServiceHealthService').measure();
      await refreshOverview(service);
    };
    const { user_id, email } = await service.createUser();
    await addMail(service, user_id, { attempts: 2, last_error: 'mail server: not reachable' });
    await addJob(service, 'unknown', { due: '3 hours' });
    await addWebhook(service, { disabled_reason: 'gone' });
    await measure();
    const page = await subject.login();
    await sees(page, '1 overdue, 0 failed. Check that an instance runs them, and read its log.');
    const entries = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem');
    expect((await entries.allTextContents()).slice(0, 3)).toEqual([
      expect.stringMatching(/^The mail server cannot be used1 waiting/),
      expect.stringMatching(/^Background jobs have stalled/),
      expect.stringMatching(/^1 webhook was disabled by the service/),
    ]);
    const health = page.getByRole('region', { name: 'Health' }).getByRole('listitem');
    expect((await health.allTextContents()).map((text) => text.split(' · ')[0])).toEqual([
      ...['E-mailCritical', 'Background jobsCritical', 'WebhooksCritical', 'DatabaseOK'],
    ]);
    await expectAccessible(page);
    await screenshot(page, 'overview-attention');
    await follow(page, '1 webhook was disabled by the service', rowOf(page, 'https://module.example'));
    await follow(page, 'Overview');
    await follow(
      page,
      '1 e-mail is failing and will be retried',
      rowOf(page, email),
      'Failed twice or rejected is Yes',
    );
    await switchToGerman(page);
    await follow(page, 'Übersicht', 'Der Mailserver ist nicht nutzbar', 'Hintergrundaufgaben stehen still');
    await expectAccessible(page);
    await service.rows('delete from graphile_worker._private_jobs');
    await service.rows('delete from webhooks');
    await measure();
  });

  it('says that nothing needs attention, and shows a Carrier Administrator only their carrier', async () => {
    const { name } = await subject.service.createUser({ carrier_id: 'quiet', roles: ['carrier_administrator'] });
    await refreshOverview(subject.service);
    const page = await subject.login(name);
    await sees(page, 'Nothing needs attention.', linkOf(page, 'Carrier Users, Active: 1'));
    expect(await page.getByText('System Users').count()).toBe(0);
  });

  it('lists the mails that could not be delivered, and sends one again', async () => {
    const { email, user_id } = await subject.service.createUser();
    await addFailedMail(subject.service, user_id);
    await refreshOverview(subject.service);
    const page = await subject.login();
    const mail = rowOf(page, email);
    await follow(page, '1 e-mail could not be delivered', mail.getByText('Failed', { exact: true }));
    await expectAccessible(page, true);
    await click(mail, `Send again: Password reset to ${email}`, 'The e-mail is sent again within seconds.');
    await subject.service.mailbox.take(email, /password/i);
  });

  it('sends a user who may not read users to their account, with links to what the role allows', async () => {
    const { service } = subject;
    const body = { name: 'clerk', user_types: ['system'], permissions: ['user:import', 'mail:manage'] };
    expect((await service.post('/role/create', { token: service.admin.token, body })).status).toBe(201);
    const { page } = await subject.loginAs({ user_type: 'system', roles: ['clerk'] });
    await headingOf(page, 'My account').waitFor();
    const links = await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link').allTextContents();
    expect(links).toEqual(['Import users', 'Operations', 'Sessions', 'Unsent e-mails', 'My account']);
    await click(page, 'Find a page');
    await page.getByPlaceholder('Go to a page', { exact: true }).fill('import');
    await page.keyboard.press('Enter');
    await headingOf(page, 'Import users').waitFor();
    expect(await linkOf(page, /^Users$/).count()).toBe(0);
    await subject.goto(page, '/audit', headingOf(page, 'Page not found'));
  });

  it('shows an auditor no links to operations, which the role does not allow', async () => {
    const { service } = subject;
    const { name } = await service.createUser({ user_type: 'system', roles: ['auditor'] });
    const file = 'user_type,carrier_id,name,email\ncarrier,c1,imported,imported@example.com\n';
    const { operation_id } = (await importCsv(service, file, service.admin)).body;
    await refreshOverview(service);
    const page = await subject.login(name);
    await sees(page, 'Running now');
    // An auditor sees no mails and no webhooks.
    const parts = await page.getByRole('region', { name: 'Health' }).getByRole('listitem').allTextContents();
    expect(parts.map((text) => text.split(/OK|Warning|Critical/)[0])).toEqual(['Background jobs', 'Database']);
    await subject.goto(page, '/audit?target_type=operation', page.getByRole('cell', { name: /^Operation …/ }));
    await click(page, /^Details: /, page.getByRole('dialog').getByText(operation_id));
    expect(await page.locator('a[href*="/operations"]').count()).toBe(0);
    await subject.goto(page, '/operations', headingOf(page, 'Page not found'));
  });

  it('shows in the audit log what changed, who did it and to whom, with the details and the filter', async () => {
    const { user_id, name } = await subject.service.createUser({ first_name: 'Ada', job_title: 'Clerk' });
    await patch(user_id, { job_title: 'Dispatcher', status: 'disabled', attributes: { tier: 'gold' } });
    const page = await subject.login(undefined, '/account');
    await follow(page, 'Audit log');
    const changed = rowOf(page, 'User changed').filter({ hasText: name });
    await sees(changed, 'Clerk becomes Dispatcher', linkOf(changed, 'administrator'), expectAccessible);
    const details = dialogOf(page, 'User changed');
    await click(changed, /^Details: User changed/, details.getByRole('row', { name: 'Status active disabled' }));
    await sees(page, details.getByRole('row', { name: 'Attributes empty tier: gold' }), expectAccessible);
    await screenshot(page, 'audit-details');
    await follow(details, 'Events of this request');
    await details.waitFor({ state: 'hidden' });
    await rowOf(page, 'User created').first().waitFor({ state: 'detached' });
    await changed.waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.waitForURL(/\/audit\?request_id=[^&]+$/);
  });

  it('shows values, filters and tabs unchanged if they look like object keys, times or texts (I4, I14)', async () => {
    const { user_id, name } = await subject.service.createUser();
    const time = '2026-99-99T99:99:99Z';
    await patch(user_id, { first_name: '__proto__', last_name: time, job_title: 'totp' });
    await subject.service.post('/auth/login', { body: { login: '__proto__', password: 'wrong' } });
    const page = await subject.login(undefined, '/audit');
    await rowOf(page, 'Login failed').first().waitFor();
    await click(rowOf(page, 'User changed').filter({ hasText: name }), /^Details: User changed/);
    for (const row of ['First name empty __proto__', `Last name empty ${time}`, 'Job title empty totp'])
      await dialogOf(page, 'User changed').getByRole('row', { name: row }).waitFor();
    await subject.goto(page, `/users/${user_id}?tab=history`);
    await sees(page.getByRole('tabpanel', { name: 'History' }), time);
    await subject.goto(page, '/audit?event_type=constructor', /^Event is constructor$/);
    await subject.goto(page, '/users?status=constructor', 'status: must be one of');
    await subject.goto(page, `/users/${user_id}?tab=constructor`, page.getByRole('tabpanel', { name: 'Overview' }));
  });

  it('finds what a user did yesterday by filling in one field and clicking twice', async () => {
    const { service } = subject;
    const [{ name, user_id }, other] = [await service.createUser(), await service.createUser()];
    const login = await loginFrom(service, name, 'desktop', '203.0.113.77');
    await loginFrom(service, other.name, 'desktop', '203.0.113.78');
    const page = await subject.login();
    await follow(page, 'Audit log', rowOf(page, '203.0.113.78'));
    await page.getByPlaceholder('Actions by…').fill(name);
    await page.getByRole('option', { name: new RegExp(`^${name}`) }).waitFor();
    await page.keyboard.press('Enter');
    await rowOf(page, '203.0.113.78').waitFor({ state: 'detached' });
    const row = rowOf(page, 'Login succeeded');
    await sees(page, `Actor is ${name}`, row.getByText(/:\d\d:\d\d [A-Z]/), linkOf(row, '203.0.113.77'));
    await click(page, 'Yesterday', 'Nothing matches');
    const { searchParams } = new URL(page.url());
    const [from, until] = ['occurred_at_gte', 'occurred_at_lt'].map((key) => new Date(searchParams.get(key) ?? ''));
    expect([searchParams.get('actor_id'), until?.setHours(24, 0, 0, 0)]).toEqual([
      user_id,
      from?.setHours(48, 0, 0, 0),
    ]);
    await click(page, '24 h', row);
    await click(row, /^Details: /, linkOf(dialogOf(page, 'Login succeeded'), 'All actions of this actor'));
    await follow(dialogOf(page, 'Login succeeded'), 'Show the session');
    await page.waitForURL((url) => url.searchParams.get('session_id') === login);
    await linkOf(page, '203.0.113.77').waitFor();
  });

  it('folds the events of an operation, links to it, hides it, and exports the log', async () => {
    const { service } = subject;
    const { token } = service.admin;
    const ids = [];
    for (let index = 0; index < 3; index++) ids.push((await service.createUser()).user_id);
    const body = { first_name: '=1+1' };
    expect((await service.patch(`/user/${ids[0]}`, { token, body })).status).toBe(200);
    const change = { token, body: { department: 'Dispatch' } };
    const { operation_id } = (await service.patch(`/user/all?user_id_in=${ids.join()}`, change)).body;
    const page = await subject.login(undefined, `/audit?event_type_in=user.changed,operation.accepted`);
    const fold = page.getByRole('button', { name: '4 events', expanded: false }).first();
    await fold.click();
    await sees(page, rowOf(page, 'empty becomes Dispatch').nth(2), expectAccessible);
    const operation = rowOf(page, '4 events').first();
    expect(await linkOf(operation, /^Operation/).getAttribute('href')).toContain(operation_id);
    await click(operation, /^Hide 4 events/);
    await rowOf(page, '4 events').first().waitFor({ state: 'detached' });
    for (const [format, line] of [
      ['CSV', /,user\.changed,user,.*""after"":""=1\+1""/],
      ['NDJSON', /"event_type":"user\.changed".*"after":"=1\+1"/],
    ] as const) {
      await click(page, 'Export');
      await dialogOf(page, 'Export events')
        .getByLabel(new RegExp(`^${format}`))
        .check();
      if (format === 'CSV') await expectAccessible(page);
      const saved = page.waitForEvent('download');
      await confirm(page, 'Export');
      const file = readFileSync(await (await saved).path(), 'utf8');
      expect(file).toMatch(line);
      expect(file).not.toContain(operation_id);
      await dialogOf(page, 'Export events').waitFor({ state: 'hidden' });
    }
  });

  it('cancels an export, and says why one failed', async () => {
    const page = await subject.login(undefined, '/audit');
    await click(page, 'Export');
    const dialog = dialogOf(page, 'Export events');
    await page.route('**/audit/list?*per_page=500*', () => undefined);
    await click(dialog, 'Export', '0 events loaded', expectAccessible);
    await click(dialog, 'Cancel');
    await dialog.waitFor({ state: 'hidden' });
    await page.unroute('**/audit/list?*per_page=500*');
    await page.route('**/audit/list?*per_page=500*', (route) => route.fulfill({ status: 500 }));
    await click(page, 'Export');
    await click(dialog, 'Export', dialog.getByRole('alert'));
  });

  const bottomOf = async (element: Locator) => {
    const { y, height } = (await element.boundingBox()) ?? { y: NaN, height: NaN };
    return y + height;
  };

  it('shows 25 to 100 rows above the pager, announces the order, and prints all rows without buttons', async () => {
    for (let index = 0; index < 30; index++) await subject.service.createUser();
    const page = await subject.login(undefined, '/users', { viewport: { width: 1024, height: 600 } });
    const rows = page.getByRole('row');
    const pager = page.getByLabel('Rows per page');
    await pager.selectOption('100 rows');
    await rows.nth(30).waitFor();
    expect(new URL(page.url()).searchParams.get('per_page')).toBe('100');
    const table = page.getByRole('region', { name: 'Users' });
    expect(await bottomOf(table)).toBeLessThan(await bottomOf(pager));
    expect(await bottomOf(pager)).toBeLessThanOrEqual(600);
    const header = page.getByRole('columnheader', { name: 'User name' });
    expect(await header.getAttribute('aria-sort')).toBe('none');
    await header.getByRole('button').click();
    await page.locator('th[aria-sort=ascending]').waitFor();
    // The size is remembered for other lists, also without the URL.
    await subject.goto(page, '/users', rows.nth(30));
    await page.emulateMedia({ media: 'print' });
    await page.getByRole('navigation').waitFor({ state: 'hidden' });
    expect(await bottomOf(table)).toBeGreaterThanOrEqual(await bottomOf(rows.last()));
    expect(await page.locator('button:visible:not(th button), select:visible').count()).toBe(0);
  });

  it('builds a filter of the audit log, and keeps it in the URL', async () => {
    const page = await subject.login(undefined, '/audit');
    await click(page, 'Add filter');
    await page.getByLabel('Field').first().click();
    await page.getByRole('option', { name: 'Event', exact: true }).click();
    const value = page.getByLabel('Value');
    await value.selectOption('User created');
    const types = await value.locator('option').evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    expect(types.filter(Boolean).sort()).toEqual(Object.keys(eventCatalogue).sort());
    await click(page, 'Apply', 'Event is User created');
    await page.waitForURL(subject.at('/audit?event_type=user.created'));
    await page.getByRole('cell', { name: 'User created' }).first().waitFor();
    // The rows of the list before the filter stay until the new list arrives.
    await until(async () => (await page.getByRole('cell', { name: 'Login succeeded' }).count()) === 0);
  });

  it('offers a reload after an update removed a part of the loaded version, and repeats failed loads', async () => {
    const page = await subject.login(undefined, '/account');
    let aborted = 0;
    await page.route('**/*', (route) => {
      aborted += 1;
      return route.abort('connectionrefused');
    });
    await follow(page, 'Users', 'The service cannot be reached.', expectAccessible);
    const before = aborted;
    await click(page, 'Try again', 'The service cannot be reached.');
    await until(() => aborted > before);
    await page.unroute('**/*');
    await click(page, 'Try again', headingOf(page, 'Users'));
    // The file has another name after an update, so the old one is not found.
    await page.route('**/assets/roles.routes-*.js', (route) => route.fulfill({ status: 404 }));
    const notice = dialogOf(page, 'A new version is available');
    await follow(page, 'Roles', notice, expectAccessible);
    await page.unroute('**/assets/roles.routes-*.js');
    await click(notice, 'Reload', headingOf(page, 'Roles'));
  });

  it('finds users with Ctrl+K by name, e-mail, phone, id and request id, and reports a failed search', async () => {
    const { user_id, name, email } = await subject.service.createUser({ phone: '+436641234567' });
    const changed = await patch(user_id, { job_title: 'Pilot' });
    for (let index = 0; index < 8; index++) await subject.service.createUser({ name: `${name}-${index}` });
    const page = await subject.login(undefined, '/account');
    const dialog = page.getByRole('dialog');
    const option = dialog.getByRole('option', { name: email });
    const search = async (text: string) => {
      await page.keyboard.press('Control+K');
      await dialog.getByPlaceholder('Go to a page or find a user').fill(text);
    };
    await page.route('**/user/list?*', (route) => route.fulfill({ status: 500 }));
    await search(email);
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByText('Nothing found').count()).toBe(0);
    await expectAccessible(page);
    await page.unroute('**/user/list?*');
    await click(dialog, 'Try again', option);
    await page.keyboard.press('Escape');
    for (const text of [email, '0664 1234567', user_id, String(changed.headers['x-request-id'])]) {
      await option.waitFor({ state: 'detached' });
      await search(text);
      await option.waitFor();
      await page.keyboard.press('Escape');
    }
    // The exact name is first, however many begin like it.
    await search(name);
    await dialog.getByText(name, { exact: true }).waitFor();
    expect(await dialog.getByRole('option').first().textContent()).toContain(email);
    await expectAccessible(page);
    await dialog.getByRole('option').first().click();
    await headingOf(page, name).waitFor();
  });

  it('opens the first user that Ctrl+K finds when Enter was pressed before the search ended', async () => {
    const { name } = await subject.service.createUser();
    const page = await subject.login(undefined, '/account');
    const search = page.getByRole('combobox', { name: 'Search', exact: true });
    const active = async () => page.locator(`[id="${await search.getAttribute('aria-activedescendant')}"]`);
    await page.keyboard.press('Control+K');
    await search.fill('s');
    await page.keyboard.press('ArrowUp');
    expect(await (await active()).textContent()).toBe('Keyboard shortcuts');
    await page.keyboard.press('ArrowDown');
    expect(await (await active()).textContent()).toBe('Users');
    expect(await (await active()).getAttribute('aria-selected')).toBe('true');
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    await page.route('**/user/list?*', async (route) => {
      await arrived;
      await route.continue();
    });
    await search.fill(name);
    await page.keyboard.press('Enter');
    await page.waitForURL(subject.at('/account'));
    arrive();
    await headingOf(page, name).waitFor();
  });

  it('has an accessible menu, lists the keyboard shortcuts, and can disable single-key shortcuts', async () => {
    const page = await subject.login();
    await userMenu(page).click();
    await sees(page, page.getByRole('menuitem', { name: 'Log out' }), expectAccessible);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+K');
    const search = page.getByRole('combobox', { name: 'Search', exact: true });
    await search.fill('shortcuts');
    await page.keyboard.press('Enter');
    const dialog = dialogOf(page, 'Keyboard shortcuts');
    await sees(dialog, 'Next page', expectAccessible);
    await dialog.getByRole('switch', { name: 'Single-key shortcuts' }).uncheck();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+K');
    await search.waitFor();
    expect(await dialog.count()).toBe(0);
  });

  it('keeps the closed navigation of a phone out of the way of the keyboard', async () => {
    const page = await subject.login(undefined, '/account', { viewport: phone });
    await page.getByLabel('First name').waitFor();
    const next = async () => {
      await userMenu(page).focus();
      await page.keyboard.press('Tab');
      return page.evaluate('document.activeElement.textContent');
    };
    expect(await next()).not.toBe('Overview');
    await click(page, 'Open navigation', expectAccessible);
    await page.setViewportSize(phone);
    expect(await next()).toBe('Overview');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Open navigation' }).waitFor();
  });

  const isActive = async (session_id: string) =>
    (await subject.service.get(`/auth/session/list?session_id=${session_id}`, subject.service.admin)).body.items[0]
      .active as boolean;
  const endDialog = (page: Page) => dialogOf(page, 'End this session?');

  it('shows who is logged in, from where and on what, and ends one session', async () => {
    const { name } = await subject.service.createUser();
    const ended = await loginFrom(subject.service, name, 'phone', '198.51.100.17');
    const kept = await loginFrom(subject.service, name, 'desktop', '203.0.113.20');
    const page = await subject.login(undefined, '/account');
    const phoneRow = rowOf(page, '198.51.100.17');
    await follow(page, /^Sessions$/, phoneRow.getByText('Safari 18 on iOS 18'), rowOf(page, 'This session'));
    await expectAccessible(page, true);
    await screenshot(page, 'sessions');
    await click(phoneRow, `End session of ${name}`, expectAccessible);
    let send: () => void = () => undefined;
    const mayContinue = new Promise<void>((resolve) => (send = resolve));
    await page.route('**/auth/session/*', (route) => void mayContinue.then(() => route.continue()));
    const waiting = endDialog(page).getByRole('button', { name: 'Cancel' }).and(page.locator(':disabled'));
    await click(endDialog(page), 'End session', waiting);
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await endDialog(page).isVisible()).toBe(true);
    send();
    await sees(page, 'The session was ended.');
    await phoneRow.waitFor({ state: 'detached' });
    expect([await isActive(ended), await isActive(kept)]).toEqual([false, true]);
    await page.getByText('Ended', { exact: true }).click();
    await sees(phoneRow, 'Ended by a user');
    await page.waitForURL(subject.at('/sessions?state=ended'));
  });

  it('ends all sessions that match the filter after their number was typed, except the current one', async () => {
    const { name, user_id } = await subject.service.createUser();
    const other = await subject.service.loginAs();
    for (const device of ['phone', 'desktop', 'program'] as const)
      await loginFrom(subject.service, name, device, '203.0.113.5');
    const page = await subject.login(undefined, '/sessions');
    await page.getByPlaceholder('Sessions of a user…').fill(name.slice(0, -1));
    await page.getByRole('option', { name: new RegExp(`^${name}`) }).click();
    await sees(page, `User is ${name}`);
    expect(new URL(page.url()).search).toBe(`?user_id=${user_id}`);
    await click(page, 'End all that match…');
    const dialog = dialogOf(page, 'End all sessions that match?');
    await sees(dialog, '3 live sessions match the filter.', `User is ${name}`, expectAccessible);
    await fill(dialog, { 'Type 3 to confirm': '2' });
    expect(await dialog.getByRole('button', { name: 'End 3 sessions' }).isDisabled()).toBe(true);
    await submit(dialog, { 'Type 3 to confirm': '3' }, 'End 3 sessions', '3 sessions were ended.', 'Nothing matches');
    expect(await isActive(other.session_id)).toBe(true);
    await click(page, 'Clear all', rowOf(page, 'This session'));
    await page.getByText('Mine', { exact: true }).click();
    await headingOf(page, 'My sessions').waitFor();
    await switchToGerman(page);
    await sees(page, headingOf(page, 'Meine Sitzungen'), page.getByRole('cell', { name: /Diese Sitzung/ }));
  });

  it('shows a Carrier User without rights their own sessions, and ends the others', async () => {
    const { name } = await subject.service.createUser();
    const first = await loginFrom(subject.service, name, 'phone', '198.51.100.18');
    const second = await loginFrom(subject.service, name, 'program', '198.51.100.19');
    const other = await subject.service.loginAs();
    const page = await subject.login(name, '/sessions', { viewport: phone });
    const card = page.getByRole('listitem').filter({ hasText: '198.51.100.18' });
    await sees(page, headingOf(page, 'My sessions'), card);
    expect(await page.getByText(other.name).count()).toBe(0);
    await expectAccessible(page);
    await page.setViewportSize(phone);
    await click(card, `End session of ${name}`);
    await confirm(page, 'End session');
    await card.waitFor({ state: 'detached' });
    expect([await isActive(first), await isActive(second)]).toEqual([false, true]);
    await click(page, 'End all other sessions');
    await confirm(page, 'End all other sessions', '1 session was ended.', 'This session');
    expect([await isActive(second), await isActive(other.session_id)]).toEqual([false, true]);
  });
});
