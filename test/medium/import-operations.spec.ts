import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { OperationRetention } from '../../src/operations/operation-retention.service';
import { errorsIn } from '../support/imports';
import { type TestAnswer, TestService } from '../support/service';
import { ended } from '../support/many-users';

describe('imports as operations', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const send = (body: string, query = '', type = 'text/csv', token = service.admin.token): Promise<TestAnswer> =>
    service.post(`/user/import?${query}`, { token, body, headers: { 'content-type': type } });
  const sendRows = (rows: object[], query = '', token = service.admin.token): Promise<TestAnswer> =>
    send(rows.map((row) => JSON.stringify(row)).join('\n'), query, 'application/x-ndjson', token);
  const row = (name: string, more: object = {}): Record<string, unknown> => ({
    user_type: 'carrier',
    name,
    email: `${name}@example.com`,
    carrier_id: 'c1',
    ...more,
  });
  const left = () => service.rows('select 1 from operation_batches');

  it('creates no user and keeps nothing when it is canceled during the upload, and says so', async () => {
    const lines = (from: number) =>
      Array.from({ length: 1_000 }, (_, i) => JSON.stringify(row(`cancel-${from + i}`))).join('\n') + '\n';
    const receiving = async () =>
      (await service.get('/user/operation/list?status=receiving', service.admin)).body.items.find(
        ({ matched }: { matched: number }) => matched > 0,
      );
    let canceled: { operation_id: string } | undefined;
    async function* file() {
      yield lines(0);
      while (canceled === undefined) {
        canceled = await receiving();
        yield '';
      }
      await service.post(`/user/operation/${canceled.operation_id}/cancel`, service.admin);
      yield lines(1_000);
      yield lines(2_000);
    }
    const answer = await service.app.inject({
      method: 'POST',
      url: '/user/import',
      payload: Readable.from(file()),
      headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'application/x-ndjson' },
    });
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      expect.objectContaining({ operation_id: canceled?.operation_id, status: 'canceled', changed: 0 }),
    ]);
    expect([await left(), await service.rows(`select 1 from users where name like 'cancel-%'`)]).toEqual([[], []]);
  });

  it('continues as an operation above 10,000 rows and reports its progress', async () => {
    const rows = Array.from({ length: 10_001 }, (_, i) => row(i % 50 === 7 ? '!!!' : `many-${i}`));
    const { status, body, headers } = await sendRows(rows);
    expect([status, body.kind, body.matched, headers['location']]).toEqual([
      202,
      'import',
      10_001,
      `/user/operation/${body.operation_id}`,
    ]);
    const operation = await ended(service, body.operation_id);
    expect(operation).toMatchObject({
      status: 'done',
      processed: 10_001,
      changed: 9_801,
      skipped_count: 200,
      undo_until: null,
    });
    const bad = Array.from({ length: 200 }, (_, i) => 8 + 50 * i);
    const linesOf = (rows: { line: number }[]) => rows.map(({ line }) => line);
    expect(operation.skipped[0]).toEqual({
      line: 8,
      reason: 'field.malformed',
      errors: [expect.objectContaining({ pointer: '/name', code: 'field.malformed' })],
    });
    expect(linesOf(operation.skipped)).toEqual(bad.slice(0, 100));
    expect(Date.parse(operation.skipped_until) - Date.parse(operation.finished_at)).toBe(30 * 86_400_000);
    const path = `/user/operation/${body.operation_id}/skipped`;
    const pages = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { items: { line: number }[]; total: object; next_cursor: string | null } = (
        await service.get(`${path}?per_page=80${cursor && `&cursor=${cursor}`}`, service.admin)
      ).body;
      expect(page.total).toEqual({ value: 200, relation: 'eq' });
      pages.push(linesOf(page.items));
      cursor = page.next_cursor;
    }
    expect(pages).toEqual([bad.slice(0, 80), bad.slice(80, 160), bad.slice(160)]);
    const [last] = (await service.get(`${path}?order_dir=desc&per_page=1`, service.admin)).body.items;
    expect(last).toMatchObject({ line: 9_958, reason: 'field.malformed', cells: { name: '!!!', carrier_id: 'c1' } });
    expect(await left()).toEqual([]);
  });

  const download = (operation_id: string, token = service.admin.token) =>
    service.get(`/user/operation/${operation_id}/skipped`, { token, headers: { accept: 'text/csv' } });

  it('accepts the file of failed rows after the cells were corrected, with any delimiter', async () => {
    const columns = ['user_type', 'name', 'email', 'carrier_id', 'roles', 'first_name', 'attributes', 'allowed_ips'];
    const cells = [
      ['carrier', 'fix-1', 'fix-1@example.com', 'c1', 'carrier_user', 'Ada', '"{""a"":1}"', '10.0.0.0/8;192.0.2.1'],
      ['carrier', 'fix 2', 'fix-2', 'c1', 'no_role;carrier_user', '"=1+1"', '"{""a"":"', ''],
      ['carrier', 'FIX-1', 'fix-3@example.com', 'c1', '"carrier_user;carrier_administrator"', '', '"{\n""b"": 1}"', ''],
      ['carrier', 'fix-4', 'fix-4@example.com', '', '', '', '', ''],
    ];
    const { status, body } = await send([columns, ...cells].map((row) => row.join('\t')).join('\r\n'));
    expect([status, body.kind, body.status, body.changed, body.skipped_count]).toEqual([200, 'import', 'done', 1, 3]);
    expect(errorsIn(body).map(({ line, pointer, code }) => `${line} ${pointer} ${code}`)).toEqual([
      '3 /attributes field.malformed',
      '3 /name field.malformed',
      '3 /email field.malformed',
      '4 /name user.name_taken',
      '6 /carrier_id field.required',
    ]);
    const { text, headers } = await download(body.operation_id);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(headers['content-disposition']).toMatch(/^attachment; filename="skipped-\d{8}T\d{6}Z\.csv"$/);
    const rows = parse(text, { columns: true }) as unknown as Record<string, string>[];
    expect(rows).toMatchObject([
      {
        import_line: '3',
        import_errors:
          '/attributes must be JSON; /name must be 3 to 64 letters, digits, `.`, `_` or `-`; ' +
          '/email must be an e-mail address',
        ...{ name: 'fix 2', email: 'fix-2', roles: 'no_role;carrier_user', first_name: "'=1+1", attributes: '{"a":' },
      },
      { import_line: '4', import_errors: '/name is taken', roles: 'carrier_user;carrier_administrator' },
      { import_line: '6', import_errors: '/carrier_id is required for a Carrier User', carrier_id: '' },
    ]);
    const [first, second, third] = rows as [Record<string, string>, Record<string, string>, Record<string, string>];
    Object.assign(first, { name: 'fix-2', email: 'fix-2@example.com', attributes: '{"a":2}' });
    Object.assign(second, { name: 'fix-3' });
    Object.assign(third, { carrier_id: 'c1' });
    const quoted = (cell: string) => (cell === '' ? '' : `"${cell.replaceAll('"', '""')}"`);
    const file = (list: Record<string, string>[]) => {
      const lines = [Object.keys(first), ...list.map((row) => Object.values(row))];
      return `\ufeff${lines.map((line) => line.map(quoted).join(';')).join('\r\n')}\r\n`;
    };
    const again = (await send(file(rows))).body;
    expect([again.changed, errorsIn(again)]).toMatchObject([2, [{ line: 2, pointer: '/roles' }]]);
    first['roles'] = 'carrier_user';
    expect((await send(file([first]))).body).toMatchObject({ changed: 1, skipped: [], skipped_until: null });
    const made = await service.rows(
      `select name, roles, first_name, attributes, allowed_ips::text from users where name like 'fix-%' order by name`,
    );
    expect(made).toEqual([
      {
        ...{ name: 'fix-1', roles: ['carrier_user'], first_name: 'Ada', attributes: { a: 1 } },
        allowed_ips: '{10.0.0.0/8,192.0.2.1/32}',
      },
      { name: 'fix-2', roles: ['carrier_user'], first_name: '=1+1', attributes: { a: 2 }, allowed_ips: '{}' },
      {
        ...{ name: 'fix-3', roles: ['carrier_administrator', 'carrier_user'], first_name: '' },
        ...{ attributes: { b: 1 }, allowed_ips: '{}' },
      },
      { name: 'fix-4', roles: [], first_name: '', attributes: {}, allowed_ips: '{}' },
    ]);
  });

  it('removes the failed rows 30 days after the end of the import, and records each download', async () => {
    const { body } = await send('user_type,name\ncarrier,gone\n');
    const rows = () => service.rows('select 1 from operation_skipped where operation_id = $1', [body.operation_id]);
    const age = (days: number) =>
      service.rows(`update operations set finished_at = now() - make_interval(days => $2) where operation_id = $1`, [
        body.operation_id,
        days,
      ]);
    const retention = service.app.get(OperationRetention, { strict: false });
    await age(29);
    await retention.removeOldRows();
    expect([(await rows()).length, (await download(body.operation_id)).status]).toEqual([1, 200]);
    const { body: audit } = await service.get(
      `/audit/list?operation_id=${body.operation_id}&event_type=operation.skipped_exported`,
      service.admin,
    );
    expect(audit.items).toMatchObject([{ actor_id: service.admin.user_id, changes: { count: { after: 1 } } }]);
    await age(31);
    for (const headers of [{ accept: 'text/csv' }, { accept: 'application/json' }]) {
      const late = await service.get(`/user/operation/${body.operation_id}/skipped`, { ...service.admin, headers });
      expect([late.status, late.body.code, late.body.detail]).toEqual([
        404,
        'operation.not_found',
        'The skipped rows were removed 30 days after the end of the import.',
      ]);
    }
    await retention.removeOldRows();
    expect(await rows()).toEqual([]);
    expect((await service.get(`/user/operation/${body.operation_id}`, service.admin)).body.skipped).toHaveLength(1);
  });

  it('restores the same users by export, purge and import, with any names', async () => {
    const text = fc.string({ unit: fc.constantFrom(...`'"=+-@,; aé😀＝`), maxLength: 12 });
    const value = fc.oneof(
      text,
      fc.string({ unit: fc.constantFrom('\n', '\r', '\t', '"', '\\', "'") }),
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.boolean(),
    );
    const people = fc.sample(
      fc.record({
        first_name: text,
        last_name: text,
        attributes: fc.dictionary(fc.constantFrom('a', '=b', '"'), value),
      }),
      40,
    );
    await sendRows(
      people.map((person, i) =>
        row(`-round-${i}`, { ...person, allowed_ips: ['10.1.2.3/8'], roles: ['carrier_user'], carrier_id: 'round' }),
      ),
    );
    await service.loginAs({ carrier_id: 'round', first_name: '=1', phone: '+4312345678' });
    const state = () =>
      service.rows(`
        select
          to_jsonb(users) - '{created_by,updated_at,version,search_text}'::text[] as u,
          user_logins.last_login_at,
          user_logins.last_login_ip,
          (select password_hash from credentials where credentials.user_id = users.user_id) as hash
        from users
        join user_logins using (user_id)
        where carrier_id = 'round'
        order by user_id`);
    const unchanged = (file: string) => file;
    // As a spreadsheet with another list separator saves it again.
    const resaved = (file: string) =>
      `\ufeff${parse(file)
        .map((row) => row.map((cell) => (/[;"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(';'))
        .join('\r\n')}\r\n`;
    for (const [format, type, saved] of [
      ['ndjson&hashes=true', 'application/x-ndjson', unchanged],
      ['csv', 'text/csv', unchanged],
      ['csv', 'text/csv', resaved],
    ] as const) {
      const before = await state();
      expect(before.length).toBeGreaterThanOrEqual(40);
      const { text: file } = await service.get(`/user/export?carrier_id=round&format=${format}`, service.admin);
      await service.rows(`delete from users where carrier_id = 'round'`);
      // As in another installation, where these ids do not exist.
      await service.rows('delete from user_tombstones');
      const { status, body } = await send(saved(file), '', type);
      expect([status, body.changed, body.skipped]).toEqual([200, before.length, []]);
      if (format !== 'csv') expect(await state()).toEqual(before);
      // A user without a password hash is not active.
      else
        expect(await state()).toEqual(
          before.map(({ u, ...rest }) => ({ ...rest, u: { ...(u as object), status: 'invited' }, hash: null })),
        );
    }
  });
});
