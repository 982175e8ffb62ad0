import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console/console';
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
} from '../support/console/console-page';
import { enrolApp } from '../support/logins/factors';
import { addManyUsers } from '../support/data/many-users';
import { inTransaction, lockWaits } from '../support/locks';

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

const csvFile = { name: 'people.csv', mimeType: 'text/csv' };

describe('bulk changes, imports and exports in the console', () => {
  const subject = useConsole();
  const done = (page: Page) => sees(page, /^Done$/);
  const figure = (page: Page, name: string) => {
    const fact = page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });
    return fact.locator('dd').textContent();
  };

  const open = (query: string) => subject.login(undefined, `/users/bulk?${query}`);
  const chooseField = (page: Page, label: string) => choose(page, 'Add a field', new RegExp(`^${label}$`));
  const chooseStatus = async (page: Page, status = 'disabled') => {
    await chooseField(page, 'Status');
    expect(await page.getByRole('button', { name: 'Preview', exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('Status', { exact: true }).selectOption(status);
  };
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
    await chooseStatus(page);
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
    await inTransaction(subject.service, async (holder) => {
      // Holds the second batch.
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
    });
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
    await page.getByRole('radio', { name: 'Delete' }).check();
    await sees(page, 'You cannot do this to your own user.');
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
    await chooseStatus(page);
    await preview(page, 'Sample: 3 of 3');
    await subject.service.createUser({ carrier_id: 'moving' });
    await confirm(page, 'Disable', '3');
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
    await chooseStatus(page);
    await preview(page);
    await sees(page.getByRole('alert'), /^carrier: /);
    expect(await page.getByText(/^Sample:/).count()).toBe(0);
  });

  it('shows the search of the list among the conditions', async () => {
    const user = await subject.service.createUser({ first_name: 'Zenobia' });
    await subject.service.createUser();
    const page = await subject.login(undefined, '/users?q=zenobia');
    await follow(page, 'Change all that match', page.getByRole('button', { name: 'Search: zenobia', exact: true }));
    await chooseStatus(page);
    await preview(page, 'Sample: 1 of 1');
    await confirm(page, 'Disable', '1');
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
    expect(header).toBe('\ufeffimport_line;import_errors;user_type;carrier_id;name;email;first_name');
    expect(first).toMatch(/^3;"email .+";carrier;c1;bad-1;not an address;"Two$/);
    expect(second).toMatch(/^6;"carrier_id .+";carrier;;bad-2;bad-2@example.com;$/);
    await sees(page, /^2 new users have no password/, '(“not an address”)');
    await click(page, 'Import 2 users without invitations', headingOf(page, 'Import of 4 rows'));
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
    await click(page, 'Import 2 users and send 2 invitations');
    await done(page);
    expect(await usersOf('bad-%')).toEqual(['bad-1', 'bad-2']);
    await subject.service.mailbox.take('bad-1@example.com');
    await click(page, 'Undo', expectAccessible);
    await click(page, 'Delete 2 users', headingOf(page, 'Undo for 2 users'));
    await done(page);
    expect(await figure(page, 'Deleted')).toBe('2');
    expect((await subject.service.get('/user/list?name=bad-1', subject.service.admin)).body.items).toEqual([]);
  });

  it('says what is wrong with a file, and follows the import of many rows in the background', async () => {
    const page = await subject.login(undefined, '/users/import');
    await check(page, 'people.csv', 'user_type;name;email\r\ncarrier;"ada;x\r\n');
    await sees(page, /line \d: must close each quote/);
    await check(page, 'people.csv', 'user_type;carrier_id;name;email\r\n');
    await sees(page, 'The file has no rows below its header.');
    await drop(page, 'people.xlsx', 'PK');
    await sees(page, 'This is not a CSV or NDJSON file.');
    const rows = Array.from({ length: many }, (_, i) => `carrier,c1,row-${i},row-${i}@example.com`);
    await page.reload();
    await check(page, 'many.csv', ['user_type,carrier_id,name,email', ...rows].join('\n'));
    await click(page, 'Import 10,001 users without invitations', headingOf(page, 'Import of 10,001 rows'));
    await done(page);
    expect(await usersOf('row-%')).toHaveLength(many);
  });

  it('reads an Excel file in Windows-1252 with other titles, and asks what unknown columns contain', async () => {
    const page = await subject.login(undefined, '/users/import', { locale: 'de-DE' });
    const [template] = await Promise.all([page.waitForEvent('download'), click(page, 'Vorlage herunterladen')]);
    expect(readFileSync(await template.path(), 'utf8')).toMatch(/^\ufeffBenutzername;E-Mail-Adresse;Vorname;/);
    const text = 'Benutzername;E-Mail-Adresse;Nachname;Personalnummer;Firma\r\nums;ums@example.com;M\xfcller;7;xl\r\n';
    await page.locator('input[type=file]').setInputFiles({ ...csvFile, buffer: Buffer.from(text, 'latin1') });
    await sees(page, 'Diese Spalten sind nicht bekannt.');
    expect(await page.getByLabel('Zeichenkodierung').inputValue()).toBe('windows-1252');
    expect(await page.getByLabel('Personalnummer').inputValue()).toBe('');
    await page.getByLabel('Firma').selectOption('Carrier');
    await expectAccessible(page);
    await click(page, 'Datei prüfen');
    await click(page, '1 Benutzer ohne Einladung importieren', headingOf(page, 'Import von einer Zeile'));
    const rows = await subject.service.rows(`select last_name, carrier_id, user_type from users where name = 'ums'`);
    expect(rows).toEqual([{ last_name: 'Müller', carrier_id: 'xl', user_type: 'carrier' }]);
  });

  /** Runs steps, each one click or one field, and returns their number. */
  const clicks = async (...steps: (() => Promise<unknown>)[]) => {
    for (const step of steps) await step();
    return steps.length;
  };
  const radio = (page: Page, name: string) => page.getByRole('radio', { name }).check();

  it('switches off the users of a carrier in 8 clicks and back on in 2, invitations included (task 5)', async () => {
    const { service } = subject;
    await addManyUsers(service, 3, 'five');
    const { token } = await service.mailbox.take((await service.inviteUser({ carrier_id: 'five' })).email);
    const page = await subject.login();
    const off = await clicks(
      () => linkOf(page, /^Users$/).click(),
      () => inputOf(page, 'Carrier').fill('five'),
      () => page.getByRole('option', { name: 'five' }).click(),
      () => follow(page, 'Change all that match', 'Carrier is five'),
      () => radio(page, 'Disable'),
      () => click(page, 'Disable 4 users…'),
      () => fill(page.getByRole('dialog'), { 'Type 4 to confirm': '4' }),
      () => click(page.getByRole('dialog'), 'Disable', headingOf(page, 'Change of 4 users')),
    );
    await done(page);
    expect(await valuesOf('five', 'status')).toEqual([{ value: 'disabled', count: 4 }]);
    const on = await clicks(
      () => click(page, /^Undo$/),
      () => click(page, 'Restore 4 users', headingOf(page, 'Undo for 4 users')),
    );
    await sees(page, 'Invitations restored');
    expect([off <= 8, on]).toEqual([true, 2]);
    expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
  });

  it('imports an Excel file, corrects its faulty rows and invites all in 12 clicks (task 6)', async () => {
    const title = 'Benutzername;E-Mail-Adresse;Nachname;Firma';
    const lines = Array.from(
      { length: 20 },
      (_, i) => `six-${i};six-${i}@${i < 3 ? 'bad' : 'example.com'};J\xe4ger;six`,
    );
    const give = (page: Page, text: string, encoding: BufferEncoding) =>
      page.locator('input[type=file]').setInputFiles({ ...csvFile, buffer: Buffer.from(text, encoding) });
    const page = await subject.login();
    let bad = '';
    const used = await clicks(
      () => linkOf(page, /^Users$/).click(),
      () => click(page, 'Import and export'),
      () => page.getByRole('menuitem', { name: 'Import users…' }).click(),
      () => give(page, [title, ...lines].join('\r\n'), 'latin1'),
      () => page.getByLabel('Firma').selectOption('Carrier'),
      () => click(page, 'Check the file', '(“six-0@bad”)'),
      async () => (bad = (await download(page, 'Download 3 rows for correction')).text),
      () => click(page, 'Import 17 users and send 17 invitations', headingOf(page, 'Import of 20 rows')),
      () => follow(page, 'Import the corrected rows'),
      () => give(page, bad.replaceAll('@bad;', '@example.com;'), 'utf8'),
      () => click(page, 'Check the file'),
      () => click(page, 'Import 3 users and send 3 invitations', headingOf(page, 'Import of 3 rows')),
    );
    await done(page);
    expect(used).toBeLessThanOrEqual(12);
    expect(await valuesOf('six', 'last_name')).toEqual([{ value: 'Jäger', count: 20 }]);
    await subject.service.mailbox.take('six-0@example.com');
  });

  it('sends invitations to many users, and previews the number of mails and the time', async () => {
    await addManyUsers(subject.service, 2, 'again');
    await subject.service.rows(
      `with gone as (
         delete from credentials using users
         where credentials.user_id = users.user_id and users.name = 'again-1'
       )
       update users set status = 'invited' where name = 'again-1'`,
    );
    const page = await open('carrier_id=again');
    await radio(page, 'Send invitations');
    await sees(page, 'One e-mail will be sent.', /is not invited/, expectAccessible);
    await confirm(page, 'Send invitations', '1', '1', ['This cannot be undone.']);
    await done(page);
    await subject.service.mailbox.take('again-1@example.com');
    expect(await page.getByRole('button', { name: 'Undo', exact: true }).count()).toBe(0);
  });

  it('exports the users who have not logged in for 90 days for a German Excel in 8 clicks (task 10)', async () => {
    await addManyUsers(subject.service, 2, 'ten');
    await subject.service.rows(
      `update user_logins set last_login_at = now() - interval '91 days' where user_id in
         (select user_id from users where name = 'ten-1')`,
    );
    const page = await subject.login(undefined, '/', { locale: 'de-DE' });
    let text = '';
    const used = await clicks(
      () => linkOf(page, /^Benutzer$/).click(),
      () => click(page, 'Filter hinzufügen'),
      () => page.getByRole('combobox', { name: 'Feld' }).fill('Letzte Anmeldung'),
      () => page.getByRole('option', { name: 'Letzte Anmeldung', exact: true }).click(),
      () => click(page, 'Länger her als 90 Tage', linkOf(page, 'ten-1')),
      () => click(page, 'Import und Export'),
      () => page.getByRole('menuitem', { name: 'Benutzer exportieren …' }).click(),
      async () => (text = (await download(page, 'Herunterladen')).text),
    );
    expect(used).toBeLessThanOrEqual(8);
    const [header, ...rows] = text.trimEnd().split('\r\n');
    expect(header).toMatch(/^\ufeffuser_id;user_type;name;/);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toContain(';ten-1;');
  });

  it('exports the users of the filter to a file with a link that works once', async () => {
    await addManyUsers(subject.service, 1_200, 'export');
    const page = await subject.login(undefined, '/users?carrier_id=export');
    await choose(page, 'Import and export', 'Export users…');
    await sees(page, 'The file will contain 1,200 users', expectAccessible);
    for (const column of ['User name', 'Carrier']) {
      await inputOf(page, 'Columns').fill(column);
      await page.getByRole('option', { name: column, exact: true }).first().click();
    }
    await page.getByRole('heading', { name: 'Export users' }).click();
    await page.getByLabel('Delimiter').selectOption('tab');
    const file = await download(page, 'Download');
    expect(file.name).toMatch(/^users-.+\.csv$/);
    const lines = file.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(1_201);
    expect(lines[0]).toBe('\ufeffname\tcarrier_id');
    expect(lines.slice(1).every((line) => /^export-\d+\texport$/.test(line))).toBe(true);
    await page.waitForURL(subject.at('/users?carrier_id=export'));
    expect((await fetch(file.url)).status).toBe(404);
    await subject.goto(page, '/users?deleted=true');
    await choose(page, 'Import and export', 'Export users…');
    await sees(page, 'Deleted users are not exported');
  });
});
