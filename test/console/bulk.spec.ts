import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import {
  choose,
  click,
  faultyInput,
  fill,
  follow,
  headingOf,
  inputOf,
  linkOf,
  sees,
  type Shown,
} from '../support/console-page';
import { enrolApp } from '../support/factors';
import { addManyUsers } from '../support/many-users';
import { lockWaits } from '../support/locks';

/** The minimum number of users or rows of an operation in the background. */
const many = 10_001;
const badFile = [
  'user_type;carrier_id;name;email;first_name',
  'carrier;c1;good-1;good-1@example.com;Ada',
  'carrier;c1;bad-1;not an address;"Two',
  'lines"',
  'carrier;c1;good-2;good-2@example.com;Grace',
  'carrier;;bad-2;bad-2@example.com;',
].join('\r\n');

describe('bulk changes, imports and exports in the console', () => {
  const subject = useConsole();
  const done = (page: Page) => sees(page, /^Done$/);
  const figure = (page: Page, name: string) => {
    const fact = page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });
    return fact.locator('dd').textContent();
  };

  const open = (query: string) => subject.login(undefined, `/users/bulk?${query}`);
  const chooseField = (page: Page, label: string) => choose(page, 'Add a field', new RegExp(`^${label}$`));
  const preview = (page: Page, ...shown: Shown[]) => click(page, /^Preview$/, ...shown);
  const confirm = async (page: Page, action: string, count: string, typed = count, effects: string[] = []) => {
    await click(page, new RegExp(`^${action} .*…$`));
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: action, exact: true });
    expect(await button.isDisabled()).toBe(true);
    for (const effect of effects) await dialog.getByText(effect, { exact: true }).waitFor();
    await fill(dialog, { [`Type ${count} to confirm`]: typed });
    await button.click();
  };
  const valuesOf = (carrier: string, column: string) =>
    subject.service.rows<{ value: string | null; count: number }>(
      `select ${column} as value, count(*)::integer from users where carrier_id = $1 group by 1 order by 1`,
      [carrier],
    );

  it('follows the change of many users to its end, and undoes it', async () => {
    await addManyUsers(subject.service, many, 'many');
    const page = await open('carrier_id=many&order_by=name');
    await sees(page, 'Carrier is many');
    await chooseField(page, 'Status');
    await chooseField(page, 'Language');
    await inputOf(page, 'Language').fill('de-AT');
    await preview(page, 'Sample: 20 of 10,001');
    await screenshot(page, 'bulk-preview');
    await expectAccessible(page);
    const effects = ['Carrier is many', 'Language', 'de-AT', 'The users are logged out and cannot log in.'];
    await confirm(page, 'Change', '10001', '10,001', effects);
    await headingOf(page, 'Change of 10,001 users').waitFor();
    await done(page);
    expect(await figure(page, 'Changed')).toBe('10,001');
    expect(await valuesOf('many', `status || ' ' || locale`)).toEqual([{ value: 'disabled de-AT', count: many }]);
    await expectAccessible(page);
    await click(page, /^Undo$/);
    await click(page, 'Restore 10,001 users', headingOf(page, 'Undo for 10,001 users'));
    await done(page);
    expect(await valuesOf('many', 'status')).toEqual([{ value: 'active', count: many }]);
    await follow(page, 'Show that operation', 'A later operation undoes this one.');
    await follow(page, 'All operations', linkOf(page, 'Undo for 10,001 users'), /Language.* · Carrier is many$/);
    await expectAccessible(page);
  });

  it('shows the progress of a running change of the same users, and cancels it', async () => {
    const page = await open('carrier_id=many');
    const holder = await subject.service.sql.connect();
    try {
      // Holds the second batch.
      await holder.query('begin');
      await holder.query(
        `select from users
        where user_id = (select user_id from users where carrier_id = 'many' order by 1 offset 5000 limit 1)
        for update`,
      );
      await chooseField(page, 'Must change the password');
      await preview(page);
      await confirm(page, 'Change', '10001');
      await sees(page, /per second/, page.getByRole('progressbar', { name: 'Progress' }));
      await click(page, /^Cancel$/, page.getByRole('button', { name: 'Keep running' }));
      await click(page, 'Cancel the operation');
      // The cancellation waits for the batch, unless the batch waits for another attempt.
      await Promise.race([lockWaits(subject.service, 2), sees(page, /^Canceled$/)]);
    } finally {
      holder.release(true);
    }
    await sees(page, /^Canceled$/);
    const changed = Number((await figure(page, 'Changed'))?.replaceAll(',', ''));
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(many);
    await page.getByRole('button', { name: 'Undo', exact: true }).waitFor();
  });

  it('says who is skipped and why, and deletes the others', async () => {
    const users = [await subject.service.createUser(), await subject.service.createUser()];
    const ids = [...users.map(({ user_id }) => user_id), subject.service.admin.user_id].join();
    const page = await open(`user_id_in=${ids}`);
    await sees(page, '3 users selected in the list');
    await page.getByText('Delete', { exact: true }).click();
    await preview(page, 'You cannot do this to your own user.');
    expect(await figure(page, 'Will be deleted')).toBe('2');
    await expectAccessible(page);
    await confirm(page, 'Delete', '2');
    await done(page);
    expect(await figure(page, 'Deleted')).toBe('2');
    await sees(page, 'You cannot do this to your own user.', expectAccessible);
    const list = await subject.service.get(`/user/list?user_id_in=${ids}`, subject.service.admin);
    expect(list.body.items).toHaveLength(1);
  });

  it('shows a new preview if other users match when the change is confirmed', async () => {
    await addManyUsers(subject.service, 3, 'moving');
    const page = await open('carrier_id=moving');
    await chooseField(page, 'Status');
    await preview(page, 'Sample: 3 of 3');
    await subject.service.createUser({ carrier_id: 'moving' });
    await confirm(page, 'Change', '3');
    await sees(page, 'The matching users changed in the meantime.', 'Sample: 4 of 4');
    expect(await valuesOf('moving', 'status')).toEqual([{ value: 'active', count: 4 }]);
  });

  it('shows an error at its field, and previews no users for an unknown condition instead of all', async () => {
    const page = await open('carrier_id=nobody');
    await chooseField(page, 'Time zone');
    await inputOf(page, 'Time zone').fill('Europe/Nowhere');
    await preview(page, faultyInput(page, 'Time zone'));
    await inputOf(page, 'Time zone').fill('Europe/Vienna');
    await preview(page, 'No user would change.');
    await subject.goto(page, '/users/bulk?carrier=nobody');
    await chooseField(page, 'Status');
    await preview(page);
    await sees(page.getByRole('alert'), /^carrier: /);
    expect(await page.getByText(/^Sample:/).count()).toBe(0);
  });

  it('shows the search of the list among the conditions', async () => {
    const user = await subject.service.createUser({ first_name: 'Zenobia' });
    await subject.service.createUser();
    const page = await subject.login(undefined, '/users?q=zenobia');
    await follow(page, 'Change all that match', page.getByRole('button', { name: 'Search: zenobia', exact: true }));
    await chooseField(page, 'Status');
    await preview(page, 'Sample: 1 of 1');
    await confirm(page, 'Change', '1');
    await done(page);
    await sees(page, 'Search: zenobia', headingOf(page, 'Change of 1 user'));
    expect(await subject.userOf(user.user_id)).toMatchObject({ status: 'disabled' });
  });

  it('secures the matching users, and states who keeps factors and that there is no undo (R40)', async () => {
    const { service } = subject;
    const users = [await service.loginAs({ carrier_id: 'stolen' }), await service.loginAs({ carrier_id: 'stolen' })];
    for (const user of users.slice(1)) await enrolApp(service, user);
    const page = await open('carrier_id=stolen');
    await chooseField(page, 'Secure accounts');
    expect(await page.getByRole('button', { name: 'Add a field' }).count()).toBe(0);
    await preview(page, 'Keep second factors', expectAccessible);
    await confirm(page, 'Change', '2', '2', ['This cannot be undone.']);
    await sees(page, headingOf(page, 'Change of 2 users'), 'Kept second factors');
    expect(await page.getByRole('button', { name: 'Undo', exact: true }).count()).toBe(0);
    for (const { email, token } of users) {
      expect((await service.get('/user', { token })).status).toBe(401);
      await service.mailbox.take(email, /secured/);
    }
  });

  const usersOf = async (pattern: string) => {
    const text = 'select name from users where name like $1 order by name';
    return (await subject.service.rows<{ name: string }>(text, [pattern])).map(({ name }) => name);
  };
  /** Drops a file on the page, as a user does who drags it there. */
  const drop = async (page: Page, name: string, text: string) => {
    const transfer = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
      return data;
    })()`);
    const target = page.getByText(/^(Drop a file here|.*\.csv \(.*\))$/);
    await target.dispatchEvent('dragover', { dataTransfer: transfer });
    await target.dispatchEvent('drop', { dataTransfer: transfer });
  };
  const check = async (page: Page, name: string, text: string) => {
    await drop(page, name, text);
    await click(page, 'Check the file');
  };
  /** Downloads a file with a button. */
  const download = async (page: Page, button: string) => {
    const [file] = await Promise.all([page.waitForEvent('download'), click(page, button)]);
    return { name: file.suggestedFilename(), url: file.url(), text: readFileSync(await file.path(), 'utf8') };
  };

  it('checks a file, imports its valid rows, and imports the failed rows after a correction', async () => {
    const page = await subject.login(undefined, '/users/import');
    await sees(page, 'Drop a file here', expectAccessible);
    await check(page, 'people.csv', badFile);
    await sees(page, /^2 rows have errors and will be skipped/);
    expect(await usersOf('%')).not.toContain('good-1');
    await screenshot(page, 'import-report');
    await expectAccessible(page);
    const file = await download(page, 'Download 2 rows for correction');
    expect(file.name).toBe('people-errors.csv');
    const [header, first, , second] = file.text.split('\r\n');
    expect(header).toBe('import_line;import_errors;user_type;carrier_id;name;email;first_name');
    expect(first).toMatch(/^3;"email .+";carrier;c1;bad-1;not an address;"Two$/);
    expect(second).toMatch(/^6;"carrier_id .+";carrier;;bad-2;bad-2@example.com;$/);
    await click(page, 'Import 2 users', headingOf(page, 'Import of 4 rows'));
    await done(page);
    expect(await usersOf('good-%')).toEqual(['good-1', 'good-2']);
    await expectAccessible(page);
    const skipped = await download(page, 'Download for correction');
    expect(skipped.text).toMatch(/^import_line,import_errors,.+\r\n3,.*bad-1/);
    await subject.goto(page, '/users/import');
    const corrected = file.text
      .replace('not an address', 'bad-1@example.com')
      .replace('"Two\r\nlines"', 'Two')
      .replace('carrier;;', 'carrier;c1;');
    await check(page, file.name, corrected);
    await sees(page, 'All rows are fine. 2 users will be created.');
    await click(page, 'Import 2 users');
    await done(page);
    expect(await usersOf('bad-%')).toEqual(['bad-1', 'bad-2']);
  });

  it('says what is wrong with a file, and follows the import of many rows in the background', async () => {
    const page = await subject.login(undefined, '/users/import');
    await check(page, 'people.csv', 'name;colour\r\nada;blue\r\n');
    await sees(page, 'colour: line 1, column 2: is not a column of an import');
    await check(page, 'people.csv', 'user_type;carrier_id;name;email\r\n');
    await sees(page, 'The file has no rows below its header.');
    await drop(page, 'people.xlsx', 'PK');
    await sees(page, 'This is not a CSV or NDJSON file.');
    const rows = Array.from({ length: many }, (_, i) => `carrier,c1,row-${i},row-${i}@example.com`);
    await page.reload();
    await check(page, 'many.csv', ['user_type,carrier_id,name,email', ...rows].join('\n'));
    await click(page, 'Import 10,001 users', headingOf(page, 'Import of 10,001 rows'));
    await done(page);
    expect(await usersOf('row-%')).toHaveLength(many);
  });

  it('exports the users of the filter to a file with a link that works once', async () => {
    await addManyUsers(subject.service, 1_200, 'export');
    const page = await subject.login(undefined, '/users?carrier_id=export');
    await choose(page, 'Import and export', 'Export users…');
    await sees(page, 'The file will contain 1,200 users', expectAccessible);
    const file = await download(page, 'Download');
    expect(file.name).toMatch(/^users-.+\.csv$/);
    const lines = file.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(1_201);
    expect(lines.slice(1).every((line) => line.includes(',export,'))).toBe(true);
    expect(page.url()).toBe(subject.at('/users?carrier_id=export'));
    expect((await fetch(file.url)).status).toBe(404);
    await subject.goto(page, '/users?deleted=true');
    await choose(page, 'Import and export', 'Export users…');
    await sees(page, 'Deleted users are not exported');
  });
});
