import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { Client } from 'pg';
import { UploadedFile } from '../../src/http/bodies/upload';
import type { OperationRetention } from '../../src/users/operations/operation-retention.service';
import { readFile } from '../../src/users/transfer/files/import-file';
import { importColumns } from '../../src/users/transfer/files/transfer-columns';
import { badRowsOf } from '../../web/src/transfer/bad-rows';
import { importColumns as namedColumns } from '../../web/src/users/fields';
import { errorsIn, importCsv, importRow as row, importRows } from '../support/data/imports';
import { lockWaits } from '../support/locks';
import { ended } from '../support/data/many-users';
import { acceptWork } from '../support/data/operations';
import { type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

const header = 'user_type,name,email,carrier_id';

describe('the import of users', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const send = (body: string, query = '') => importCsv(service, body, service.admin, query);
  const sendRows = (rows: object[], query = '') => importRows(service, rows, service.admin, query);
  const byName = async (name: string) => (await service.get(`/user/list?name=${name}`, service.admin)).body.items[0];
  const count = async () => (await service.rows<{ n: number }>('select count(*)::integer as n from users'))[0]?.n;
  const left = () => service.rows('select 1 from operation_batches');
  const download = (operation_id: string) =>
    service.get(`/user/operation/${operation_id}/skipped`, { ...service.admin, headers: { accept: 'text/csv' } });

  it('creates the users of a CSV file row by row, and reports line, field and code of wrong rows', async () => {
    const file = [
      header,
      'carrier,csv-1,csv-1@example.com,c1',
      'carrier,csv 2,csv-2@example.com,c1',
      'carrier,csv-3,"csv-3@',
      'example.com",c1',
      'carrier,csv-4,csv-4@example.com',
      'carrier,CSV-1,csv-5@example.com,c1',
      '',
      'carrier,csv-6,CSV-1@example.com,c1',
      'system,csv-7,csv-7@example.com,',
    ].join('\r\n');
    const { status, body } = await send(`\ufeff${file}\r\n`);
    expect([status, body.changed, body.unchanged, body.skipped_count]).toEqual([200, 2, 0, 5]);
    expect(errorsIn(body).map(({ line, pointer, code }) => `${line} ${pointer} ${code}`)).toEqual([
      ...['3 /name field.malformed', '4 /email field.malformed', '6 /carrier_id field.required'],
      ...['7 /name user.name_taken', '9 /email user.email_taken'],
    ]);
    const made = { status: 'invited', carrier_id: 'c1', must_change_password: false, version: 1 };
    expect(await byName('csv-1')).toMatchObject(made);
    expect(await byName('csv-7')).toMatchObject({ user_type: 'system', created_by: service.admin.user_id });
    const events = `/audit/list?operation_id=${body.operation_id}&event_type=user.created`;
    const { items } = (await service.get(events, service.admin)).body;
    const names = (items as { changes: { name: { after: string } } }[]).map(({ changes }) => changes.name.after);
    expect(names.sort()).toEqual(['csv-1', 'csv-7']);
    expect(await left()).toEqual([]);
  });

  it('skips rows with a taken name and mails invitations only if asked to', async () => {
    expect((await sendRows([row('skip-1')])).body).toMatchObject({ changed: 1 });
    const { body } = await sendRows([row('skip-1'), row('skip-2'), row('skip-2')], 'on_conflict=skip&invite=true');
    expect(body).toMatchObject({ changed: 1, unchanged: 2, skipped_count: 0, skipped: [] });
    expect((await service.mailbox.take('skip-2@example.com')).token).toMatch(/^[\w-]{43}$/);
    const tokens = `select name from one_time_tokens join users using (user_id) where name like 'skip-%'`;
    expect(await service.rows(tokens)).toEqual([{ name: 'skip-2' }]);
  });

  it('checks everything and creates no user in a dry run, which does not compare rows with each other', async () => {
    const before = await count();
    const twice = [row('twice-1'), row('twice-1'), row('twice-2', { email: 'TWICE-1@example.com' })];
    const rows = [
      ...[row('dry-1'), row('dry-2', { email: 'ADMIN@example.com' }), row('administrator')],
      ...[row('dry-3', { roles: ['no'] }), ...twice],
    ];
    const { status, body } = await sendRows(rows, 'dry_run=true');
    expect([status, body.matched, body.would_create, body.skipped_count]).toEqual([200, 7, 4, 3]);
    expect(errorsIn(body).map(({ line, code }) => `${line} ${code}`)).toEqual([
      ...['2 user.email_taken', '3 user.name_taken', '4 field.not_allowed'],
    ]);
    const skipping = await sendRows(rows, 'dry_run=true&on_conflict=skip');
    expect(skipping.body).toMatchObject({ would_create: 4, unchanged: 2, skipped_count: 1 });
    expect(await count()).toBe(before);
    expect(await service.rows(`select 1 from operations where request ->> 'dry_run' = 'true'`)).toEqual([]);

    const done = (await sendRows(twice)).body;
    expect(done.changed).toBe(1);
    expect(errorsIn(done).map(({ line, code }) => `${line} ${code}`)).toEqual([
      ...['2 user.name_taken', '3 user.email_taken'],
    ]);
  });

  it('lists the first 100 failed rows of a dry run, and counts all of them (B32)', async () => {
    const { body } = await sendRows(
      Array.from({ length: 1_101 }, (_, i) => row(`!!!${i}`)),
      'dry_run=true',
    );
    expect([body.skipped_count, body.skipped_reasons]).toEqual([1_101, { 'field.malformed': 1_101 }]);
    expect(body.skipped.map(({ line }: { line: number }) => line)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  });

  it('creates one user for an id in several rows: from the first valid row, with its password', async () => {
    const shared = { user_id: randomUUID() };
    const hash = (digit: string) => ({ password_hash: `$2b$04$${digit.repeat(21)}.${digit.repeat(30)}.` });
    const other = randomUUID();
    const { status, body } = await sendRows([
      row('administrator', { ...shared, ...hash('A') }),
      row('same-id-1', { ...shared, ...hash('B') }),
      row('same-id-2', { ...shared, ...hash('C') }),
      row('same-id-1', { ...shared, ...hash('D') }),
      row('same-id-3', { user_id: other }),
      row('same-id-4', { user_id: other, ...hash('E') }),
    ]);
    expect([status, body.changed]).toEqual([200, 2]);
    expect(errorsIn(body).map(({ line, code }) => `${line} ${code}`)).toEqual([
      ...['1 user.name_taken', '3 field.not_allowed', '4 field.not_allowed', '6 field.not_allowed'],
    ]);
    const made = await service.rows(`
      select name, status, password_hash as hash
      from users
      left join credentials using (user_id)
      where name like 'same-id-%'
      order by name`);
    expect(made).toEqual([
      { name: 'same-id-1', status: 'active', hash: hash('B').password_hash },
      { name: 'same-id-3', status: 'invited', hash: null },
    ]);
  });

  it('reports a row that the database cannot store as one wrong row and continues', async () => {
    const times = ['2026-02-30T00:00:00Z', '2025-02-29T00:00:00+00:00', '2026-01-01T24:00:00Z', '2026-01-01T00:00:60Z'];
    const wrong = [...times.map((created_at) => ({ created_at })), { attributes: { tiny: Array(400).fill(1e-300) } }];
    const attributes = { tiny: [1e-300, -0.5, 0] };
    const good = row('kept-1', { created_at: '2026-01-01T00:00:00.123+20:00', attributes });
    for (const query of ['dry_run=true', '']) {
      const { body } = await sendRows([...wrong.map((more, i) => row(`not-kept-${i}`, more)), good], query);
      expect([
        body.changed ?? body.would_create,
        errorsIn(body).map(({ pointer, code }) => `${pointer} ${code}`),
      ]).toEqual([1, [...times.map(() => '/created_at field.malformed'), '/attributes field.too_long']]);
    }
    expect((await byName('kept-1')).created_at).toBe('2025-12-31T04:00:00.123Z');
    const { body } = await send(
      `${header},first_name\ncarrier,nul-1,nul-1@example.com,c1,a\0b\ncarrier,nul-2,n@e.at,c1,a`,
    );
    expect([body.changed, errorsIn(body)]).toMatchObject([
      1,
      [{ line: 2, pointer: '/first_name', code: 'field.malformed' }],
    ]);
  });

  it('creates no user from a file whose end cannot be read, and keeps nothing of it', async () => {
    const before = await count();
    const file = `${header}\r\n${'carrier,ok-1,ok-1@example.com,c1\r\n'.repeat(1_500)}carrier,"open`;
    const { status, body } = await send(file);
    expect([status, body.code, body.errors]).toMatchObject([
      ...[400, 'request.invalid', [{ detail: 'line 1502: must close each quote' }]],
    ]);
    expect([await count(), await left()]).toEqual([before, []]);
    expect(await service.rows(`select 1 from operations where status = 'receiving'`)).toEqual([]);
  });

  it('rejects a file that is not UTF-8 or of another type, and unknown parameters', async () => {
    const latin = await service.inject({
      method: 'POST',
      url: '/user/import',
      payload: Buffer.from(`${header}\r\ncarrier,utf-1,utf-1@example.com,c\xe9`, 'latin1'),
      headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'text/csv' },
    });
    expect([latin.statusCode, JSON.parse(latin.body)]).toMatchObject([400, { errors: [{ detail: 'must be UTF-8' }] }]);
    const post = (path: string, type: string) =>
      service.post(path, { ...service.admin, body: '{}', headers: { 'content-type': type } });
    for (const type of ['application/json', 'text/csv; charset=latin1', 'application/xml', 'text/plain']) {
      const { status, body } = await post('/user/import', type);
      expect([type, status, body.detail]).toEqual([type, 415, expect.stringContaining('text/csv')]);
    }
    expect((await post('/user/create', 'text/csv')).status).toBe(415);
    expect((await service.post('/user/import', service.admin)).status).toBe(415);
    expect((await send(header, 'on_conflict=overwrite')).body.errors[0].parameter).toBe('on_conflict');
    expect((await send(header, 'dryrun=true')).body.errors[0].parameter).toBe('dryrun');
  });

  it('continues as an operation above 10,000 rows, and lists the failed rows in pages', async () => {
    const rows = Array.from({ length: 10_001 }, (_, i) => row(i % 50 === 7 ? '!!!' : `many-${i}`));
    const { status, body, headers } = await sendRows(rows);
    const { operation_id } = body;
    expect([status, body.kind, body.matched]).toEqual([202, 'import', 10_001]);
    expect(headers['location']).toBe(`/user/operation/${operation_id}`);
    const operation = await ended(service, operation_id);
    expect(operation).toMatchObject({
      ...{ status: 'done', processed: 10_001, changed: 9_801, skipped_count: 200 },
    });
    const bad = Array.from({ length: 200 }, (_, i) => 8 + 50 * i);
    const linesOf = (items: { line: number }[]) => items.map(({ line }) => line);
    const errors = [expect.objectContaining({ pointer: '/name', code: 'field.malformed' })];
    expect(operation.skipped[0]).toEqual({ line: 8, reason: 'field.malformed', errors });
    expect(linesOf(operation.skipped)).toEqual(bad.slice(0, 100));
    expect(Date.parse(operation.skipped_until) - Date.parse(operation.finished_at)).toBe(30 * 86_400_000);
    const path = `/user/operation/${operation_id}/skipped`;
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

  it('accepts the file of failed rows after the cells were corrected, with any delimiter', async () => {
    const columns = ['user_type', 'name', 'email', 'carrier_id', 'roles', 'first_name', 'attributes', 'allowed_ips'];
    const cells = [
      ['carrier', 'fix-1', 'fix-1@example.com', 'c1', 'carrier_user', 'Ada', '"{""a"":1}"', '10.0.0.0/8;192.0.2.1'],
      ['carrier', 'fix 2', 'fix-2', 'c1', 'no_role;carrier_user', '"=1+1"', '"{""a"":"', ''],
      ['carrier', 'FIX-1', 'fix-3@example.com', 'c1', '"carrier_user;carrier_administrator"', '', '"{\n""b"": 1}"', ''],
      ['carrier', 'fix-4', 'fix-4@example.com', '', '', '', '', ''],
    ];
    const { body } = await send([columns, ...cells].map((one) => one.join('\t')).join('\r\n'));
    expect([body.kind, body.status, body.changed, body.skipped_count]).toEqual(['import', 'done', 1, 3]);
    expect(errorsIn(body).map(({ line, pointer, code }) => `${line} ${pointer} ${code}`)).toEqual([
      ...['3 /attributes field.malformed', '3 /name field.malformed', '3 /email field.malformed'],
      ...['4 /name user.name_taken', '6 /carrier_id field.required'],
    ]);
    const { text, headers } = await download(body.operation_id);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(headers['content-disposition']).toMatch(/^attachment; filename="skipped-\d{8}T\d{6}Z\.csv"$/);
    const rows = parse(text, { columns: true }) as unknown as Record<string, string>[];
    expect(rows).toMatchObject([
      {
        import_line: '3',
        import_errors:
          '/attributes must be JSON; /name must contain only letters, digits, `.`, `_` or `-`; ' +
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
      const lines = [Object.keys(first), ...list.map((one) => Object.values(one))];
      return `\ufeff${lines.map((line) => line.map(quoted).join(';')).join('\r\n')}\r\n`;
    };
    const again = (await send(file(rows))).body;
    expect([again.changed, errorsIn(again)]).toMatchObject([2, [{ line: 2, pointer: '/roles' }]]);
    first['roles'] = 'carrier_user';
    expect((await send(file([first]))).body).toMatchObject({ changed: 1, skipped: [], skipped_until: null });
    const made = await service.rows(
      `select name, roles, first_name, attributes, allowed_ips::text from users where name like 'fix-%' order by name`,
    );
    const defaults = { roles: [] as string[], first_name: '', attributes: {}, allowed_ips: '{}' };
    const roles = ['carrier_user'];
    expect(made).toEqual([
      { name: 'fix-1', roles, first_name: 'Ada', attributes: { a: 1 }, allowed_ips: '{10.0.0.0/8,192.0.2.1/32}' },
      { ...defaults, name: 'fix-2', roles, first_name: '=1+1', attributes: { a: 2 } },
      { ...defaults, name: 'fix-3', roles: ['carrier_administrator', ...roles], attributes: { b: 1 } },
      { ...defaults, name: 'fix-4' },
    ]);
  });

  it('removes the failed rows 30 days after the end of the import, and records each download', async () => {
    const { body } = await send('user_type,name\ncarrier,gone\n');
    const { operation_id } = body;
    const rows = () => service.rows('select 1 from operation_skipped where operation_id = $1', [operation_id]);
    const age = (days: number) =>
      service.rows(`update operations set finished_at = now() - make_interval(days => $2) where operation_id = $1`, [
        operation_id,
        days,
      ]);
    const retention = service.inside<OperationRetention>('OperationRetention');
    await age(29);
    await retention.removeOldRows();
    expect([(await rows()).length, (await download(operation_id)).status]).toEqual([1, 200]);
    const events = `/audit/list?operation_id=${operation_id}&event_type=operation.skipped_exported`;
    expect((await service.get(events, service.admin)).body.items).toMatchObject([
      { actor_id: service.admin.user_id, changes: { count: { after: 1 } } },
    ]);
    await age(31);
    for (const accept of ['text/csv', 'application/json']) {
      const path = `/user/operation/${operation_id}/skipped`;
      const late = await service.get(path, { ...service.admin, headers: { accept } });
      expect([late.status, late.body.code, late.body.detail]).toEqual([
        404,
        'operation.not_found',
        'The skipped rows were removed 30 days after the end of the import.',
      ]);
    }
    await retention.removeOldRows();
    expect(await rows()).toEqual([]);
    expect((await service.get(`/user/operation/${operation_id}`, service.admin)).body.skipped).toHaveLength(1);
  });

  it('shows no skipped rows of other operations, which keep none', async () => {
    const { body } = await service.patch('/user/all?carrier_id=nowhere', { ...service.admin, body: { locale: 'de' } });
    const { status, body: problem } = await download(body.operation_id);
    expect([status, problem.code]).toEqual([404, 'operation.not_found']);
  });

  describe('beside other imports', () => {
    let gate: Client;
    beforeAll(async () => {
      await service.rows(`create function wait_at_gate() returns trigger language plpgsql set lock_timeout = 0
        as $$ begin if new.name like '%-slow' then perform pg_advisory_xact_lock(77); end if; return new; end $$`);
      await service.rows('create trigger gate before insert on users for each row execute function wait_at_gate()');
    });
    beforeEach(async () => {
      gate = new Client(service.config.DATABASE_URL);
      await gate.connect();
      await gate.query('begin; select pg_advisory_xact_lock(77)');
    });
    afterEach(() => gate.end());

    /** Imports rows, of which the first one waits at the gate. */
    const sendSlow = (prefix: string, count: number): Promise<TestAnswer> =>
      sendRows(Array.from({ length: count }, (_, i) => row(i === 0 ? `${prefix}-slow` : `${prefix}-${i}`)));
    const operation = async (operation_id: string) =>
      (await service.get(`/user/operation/${operation_id}`, service.admin)).body;

    it('responds to a small file when it is done, even if another worker processes a part of it', async () => {
      const other = new Client(service.config.DATABASE_URL);
      await other.connect();
      try {
        const answer = sendSlow('turns', 1_500);
        await lockWaits(service, 1);
        await other.query('begin');
        const turn = other.query('select 1 from operations where finished_at is null for update');
        await lockWaits(service, 2);
        await gate.query('commit');
        await turn;
        await Promise.race([answer, lockWaits(service, 1)]);
        await other.query('commit');
        const { status, body } = await answer;
        expect([status, body.changed]).toEqual([200, 1_500]);
      } finally {
        await other.end();
      }
    });

    it('lets the operation of another actor end while a batch of an import takes long (B31)', async () => {
      // More than 100 MD5 hashes make an operation in the background.
      const password_hash = '5f4dcc3b5aa765d61d8327deb882cf99';
      const rows = Array.from({ length: 101 }, (_, i) => row(i === 0 ? 'held-slow' : `held-${i}`, { password_hash }));
      const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const { status, body } = await sendRows(rows);
      expect(status).toBe(202);
      await lockWaits(service);
      const batches = [[other.user_id]];
      const free = await acceptWork(service, { actor_id: other.user_id, change: { locale: 'fr' }, batches });
      expect(await ended(service, free)).toMatchObject({ status: 'done', changed: 1 });
      expect(await operation(body.operation_id)).toMatchObject({ finished_at: null, processed: 0 });
      const canceled = service.post(`/user/operation/${body.operation_id}/cancel`, service.admin);
      await gate.query('commit');
      expect((await canceled).status).toBe(202);
      expect((await ended(service, body.operation_id)).changed).toBeGreaterThan(0);
    });

    it('continues as an operation and rejects no row while users cannot be created', async () => {
      await service.rows(`create function not_now() returns trigger language plpgsql
        as $$ begin raise exception 'not now' using errcode = 'lock_not_available'; end $$`);
      await service.rows('create trigger a_fault before insert on users for each row execute function not_now()');
      const { status, body } = await sendSlow('fault', 2);
      expect([status, body.kind, body.finished_at]).toEqual([202, 'import', null]);
      await service.rows('drop function not_now cascade');
      await gate.query('commit');
      await until(async () => (await operation(body.operation_id)).finished_at !== null, 60_000);
      expect(await operation(body.operation_id)).toMatchObject({ status: 'done', changed: 2, skipped_count: 0 });
    });
  });
});

describe('the correction file of an import', () => {
  const text = fc.constantFrom('a', 'é', ' ', '0');
  const quotable = fc.constantFrom('a', ',', '\r', '\n', '\r\n', '""');
  const plainCell = (inner: string) => fc.array(fc.oneof(text, fc.constant(inner)), { maxLength: 3 });
  const quotedCell = fc.array(quotable, { maxLength: 4 }).map((parts) => [`"${parts.join('')}"`]);
  const cellOf = (inner: string) => fc.oneof(plainCell(inner), quotedCell).map((parts) => parts.join(''));

  /** Files whose rows end with one kind of line break, with the other kinds in their cells. */
  const files = fc.constantFrom('\r\n', '\n', '\r').chain((end) =>
    fc
      .record({
        first: fc.constantFrom('', 'sep=,\r\n', 'sep=,\r', '"sep=,"\n'),
        rows: fc.array(fc.tuple(cellOf(end === '\r' ? '\n' : '\r'), cellOf('')), { minLength: 1, maxLength: 6 }),
      })
      .map(({ first, rows }) => {
        const records = rows.map(([one, other], index) => `n${index},${one},${other}`);
        return [`${first}name,first_name,last_name`, ...records, ''].join(end);
      }),
  );

  const errors = [{ pointer: '/name', code: 'field.malformed', detail: 'is bad' }];
  const linesOf = async (format: UploadedFile['format'], content: string) => {
    const read = [];
    const upload = new UploadedFile(format, Readable.from([Buffer.from(content)], { objectMode: false }), Infinity);
    for await (const { line, values = {} } of readFile(upload)) read.push({ line, values });
    return read;
  };
  const corrected = async (content: string, lines: number[], name = 'people.csv') => {
    const blob = await badRowsOf(
      new File([content], name),
      lines.map((line) => ({ line, errors })),
    );
    return blob.text();
  };

  it('contains the rows that the service read at these lines, for any line break', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (content) => {
        const read = await linesOf('csv', content);
        for (const { line, values } of read) {
          const found = await linesOf('csv', await corrected(content, [line]));
          expect(found.map((row) => row.values['name'])).toEqual([values['name']]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('ends NDJSON lines only at LF, as the service does', async () => {
    const content = '{"name":\r"a"}\r\n\r\n{"name":"b"}\n{"name":"c"}';
    const read = await linesOf('ndjson', content);
    expect(read.map(({ line }) => line)).toEqual([1, 3, 4]);
    expect(await corrected(content, [3, 4], 'people.ndjson')).toBe('{"name":"b"}\r\n{"name":"c"}\r\n');
    expect(await corrected(content, [1], 'people.ndjson')).toBe('{"name":\r"a"}\r\n');
  });

  it.each([
    ['quoted cells', '"import_line";"import_errors";"name";"email"\r\n"9";"email; is ""bad""";"a";"x;y"\r\n'],
    ['their columns elsewhere', 'name;import_errors;email;import_line\r\n"a";"email; is bad";"x;y";9\r\n'],
    ['one of their columns', 'name;email;import_errors\r\n"a";"x;y"\r\n'],
  ])('can be corrected again after a spreadsheet saved it with %s', async (_title, content) => {
    const [header, row] = (await corrected(content, [2])).split('\r\n');
    expect(header?.replaceAll('"', '')).toBe('import_line;import_errors;name;email');
    expect(row).toBe('2;"name is bad";"a";"x;y"');
  });

  it('contains the columns that the service reads', () => {
    expect(namedColumns).toEqual(Object.keys(importColumns));
  });
});
