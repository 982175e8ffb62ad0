import { readFileSync } from 'node:fs';
import type { Download, Page } from 'playwright-core';
import { expectAccessible, screenshot, useConsole } from '../support/console';
import { addManyUsers } from '../support/many-users';

const badFile = [
  'user_type;carrier_id;name;email;first_name',
  'carrier;c1;good-1;good-1@example.com;Ada',
  'carrier;c1;bad-1;not an address;"Two',
  'lines"',
  'carrier;c1;good-2;good-2@example.com;Grace',
  'carrier;;bad-2;bad-2@example.com;',
].join('\r\n');

describe('import and export in the console', () => {
  const subject = useConsole();
  const usersOf = async (pattern: string) => {
    const rows = await subject.service.rows<{ name: string }>(
      'select name from users where name like $1 order by name',
      [pattern],
    );
    return rows.map(({ name }) => name);
  };
  /** Drops a file as a person does: the browser gets it from a drag, not from a file dialog. */
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
  const downloaded = async (page: Page, start: () => Promise<void>) => {
    const [download] = await Promise.all<[Promise<Download>, Promise<void>]>([page.waitForEvent('download'), start()]);
    const text = readFileSync(await download.path(), 'utf8');
    return { name: download.suggestedFilename(), url: download.url(), text };
  };
  const check = (page: Page) => page.getByRole('button', { name: 'Check the file' }).click();

  it('checks a file, imports its good rows, and imports the bad rows after a correction', async () => {
    const page = await subject.login(undefined, '/users/import');
    await page.getByText('Drop a file here').waitFor();
    await expectAccessible(page);
    await drop(page, 'people.csv', badFile);
    await check(page);
    await page.getByText(/^2 rows have errors and will be skipped/).waitFor();
    expect(await usersOf('%')).not.toContain('good-1');
    await screenshot(page, 'import-report');
    await expectAccessible(page);
    const file = await downloaded(page, () =>
      page.getByRole('button', { name: 'Download 2 rows for correction' }).click(),
    );
    expect(file.name).toBe('people-errors.csv');
    const [header, first, , second] = file.text.split('\r\n');
    expect(header).toBe('import_line;import_errors;user_type;carrier_id;name;email;first_name');
    expect(first).toMatch(/^3;"email .+";carrier;c1;bad-1;not an address;"Two$/);
    expect(second).toMatch(/^6;"carrier_id .+";carrier;;bad-2;bad-2@example.com;$/);
    await page.getByRole('button', { name: 'Import 2 users' }).click();
    await page.getByRole('heading', { name: 'Import of 4 rows' }).waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await usersOf('good-%')).toEqual(['good-1', 'good-2']);
    await expectAccessible(page);
    const skipped = await downloaded(page, () => page.getByRole('button', { name: 'Download for correction' }).click());
    expect(skipped.text).toMatch(/^import_line,import_errors,.+\r\n3,.*bad-1/);
    await page.goto(subject.at('/users/import'));
    const corrected = file.text
      .replace('not an address', 'bad-1@example.com')
      .replace('"Two\r\nlines"', 'Two')
      .replace('carrier;;', 'carrier;c1;');
    await drop(page, file.name, corrected);
    await check(page);
    await page.getByText('All rows are fine. 2 users will be created.').waitFor();
    await page.getByRole('button', { name: 'Import 2 users' }).click();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await usersOf('bad-%')).toEqual(['bad-1', 'bad-2']);
  });

  it('says what is wrong with a file that cannot be read', async () => {
    const page = await subject.login(undefined, '/users/import');
    await drop(page, 'people.csv', 'name;colour\r\nada;blue\r\n');
    await check(page);
    await page.getByText('colour: line 1, column 2: is not a column of an import').waitFor();
    await drop(page, 'people.csv', 'user_type;carrier_id;name;email\r\n');
    await check(page);
    await page.getByText('The file has no rows below its header.').waitFor();
    await drop(page, 'people.xlsx', 'PK');
    await page.getByText('This is not a CSV or NDJSON file.').waitFor();
  });

  it('imports and follows a file of many rows in the background', async () => {
    const page = await subject.login(undefined, '/users/import');
    const rows = Array.from({ length: 10_100 }, (_, i) => `carrier,c1,row-${i},row-${i}@example.com`);
    await drop(page, 'many.csv', ['user_type,carrier_id,name,email', ...rows].join('\n'));
    await check(page);
    await page.getByRole('button', { name: 'Import 10,100 users' }).click();
    await page.getByRole('heading', { name: 'Import of 10,100 rows' }).waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await usersOf('row-%')).toHaveLength(10_100);
  });

  it('exports the users of the filter to a file with a link that works once', async () => {
    await addManyUsers(subject.service, 1_200, 'export');
    const page = await subject.login(undefined, '/users?carrier_id=export');
    await page.getByRole('button', { name: 'Import and export' }).click();
    await page.getByRole('menuitem', { name: 'Export users…' }).click();
    await page.getByText('The file will contain 1,200 users').waitFor();
    await expectAccessible(page);
    const file = await downloaded(page, () => page.getByRole('button', { name: 'Download' }).click());
    expect(file.name).toMatch(/^users-.+\.csv$/);
    const lines = file.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(1_201);
    expect(lines.slice(1).every((line) => line.includes(',export,'))).toBe(true);
    expect(page.url()).toBe(subject.at('/users?carrier_id=export'));
    expect((await fetch(file.url)).status).toBe(404);
    await page.goto(subject.at('/users?deleted=true'));
    await page.getByRole('button', { name: 'Import and export' }).click();
    await page.getByRole('menuitem', { name: 'Export users…' }).click();
    await page.getByText('Deleted users are not exported').waitFor();
  });
});
