import { createHash, randomUUID } from 'node:crypto';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { errorsIn } from '../support/imports';
import { type TestAnswer, TestService } from '../support/service';

const header = 'user_type,name,email,carrier_id';

describe('the import of users', () => {
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
  const byName = async (name: string) => (await service.get(`/user/list?name=${name}`, service.admin)).body.items[0];
  const count = async () => (await service.rows<{ n: number }>('select count(*)::integer as n from users'))[0]?.n;
  const left = () => service.rows('select 1 from operation_batches');

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
    expect(errorsIn(body).map(({ line, pointer, code }) => [line, pointer, code])).toEqual([
      [3, '/name', 'field.malformed'],
      [4, '/email', 'field.malformed'],
      [6, '/carrier_id', 'field.required'],
      [7, '/name', 'user.name_taken'],
      [9, '/email', 'user.email_taken'],
    ]);
    expect(await byName('csv-1')).toMatchObject({
      status: 'invited',
      carrier_id: 'c1',
      must_change_password: false,
      version: 1,
    });
    expect(await byName('csv-7')).toMatchObject({ user_type: 'system', created_by: service.admin.user_id });
    const { body: audit } = await service.get(
      `/audit/list?operation_id=${body.operation_id}&event_type=user.created`,
      service.admin,
    );
    expect(audit.items).toHaveLength(2);
    expect(audit.items.map(({ changes }: { changes: { name: unknown } }) => changes.name)).toEqual(
      expect.arrayContaining([{ after: 'csv-1' }, { after: 'csv-7' }]),
    );
    expect(await left()).toEqual([]);
  });

  it('skips rows with a taken name and mails invitations only if asked to', async () => {
    expect((await sendRows([row('skip-1')])).body).toMatchObject({ changed: 1 });
    const { body } = await sendRows([row('skip-1'), row('skip-2'), row('skip-2')], 'on_conflict=skip&invite=true');
    expect(body).toMatchObject({ changed: 1, unchanged: 2, skipped_count: 0, skipped: [] });
    const mail = await service.mailbox.take('skip-2@example.com');
    expect(mail.token).toMatch(/^[\w-]{43}$/);
    const tokens = await service.rows(
      `select name from one_time_tokens join users using (user_id) where name like 'skip-%'`,
    );
    expect(tokens).toEqual([{ name: 'skip-2' }]);
  });

  it('checks everything and creates no user in a dry run', async () => {
    const before = await count();
    const rows = [
      row('dry-1'),
      row('dry-2', { email: 'ADMIN@example.com' }),
      row('administrator'),
      row('dry-3', { roles: ['no'] }),
    ];
    const { status, body } = await sendRows(rows, 'dry_run=true');
    expect([status, body.matched, body.would_create, body.skipped_count]).toEqual([200, 4, 1, 3]);
    expect(errorsIn(body).map(({ line, code }) => [line, code])).toEqual([
      [2, 'user.email_taken'],
      [3, 'user.name_taken'],
      [4, 'field.not_allowed'],
    ]);
    expect((await sendRows(rows, 'dry_run=true&on_conflict=skip')).body).toMatchObject({
      would_create: 1,
      unchanged: 2,
      skipped_count: 1,
    });
    expect([
      await count(),
      await service.rows(`select 1 from operations where request ->> 'on_conflict' = 'x'`),
    ]).toEqual([before, []]);
  });

  it('lists the first 100 failed rows of a dry run, and counts all of them (B32)', async () => {
    const rows = Array.from({ length: 1_101 }, (_, i) => row(`!!!${i}`));
    const { body } = await sendRows(rows, 'dry_run=true');
    expect([body.skipped_count, body.skipped_reasons]).toEqual([1_101, { 'field.malformed': 1_101 }]);
    expect(body.skipped.map(({ line }: { line: number }) => line)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  });

  it('does not compare the rows of a dry run with each other, only the rows of an import', async () => {
    const rows = [row('twice-1'), row('twice-1'), row('twice-2', { email: 'TWICE-1@example.com' })];
    expect((await sendRows(rows, 'dry_run=true')).body).toMatchObject({ would_create: 3, skipped_count: 0 });
    const { body } = await sendRows(rows);
    expect(body.changed).toBe(1);
    expect(errorsIn(body).map(({ line, code }) => [line, code])).toEqual([
      [2, 'user.name_taken'],
      [3, 'user.email_taken'],
    ]);
  });

  it('creates one user for an id in several rows: from the first valid row, with its password', async () => {
    const shared = { user_id: randomUUID() };
    const hash = (digit: string) => ({ password_hash: `$2b$04$${digit.repeat(21)}.${digit.repeat(30)}.` });
    const rows = [
      row('administrator', { ...shared, ...hash('A') }),
      row('same-id-1', { ...shared, ...hash('B') }),
      row('same-id-2', { ...shared, ...hash('C') }),
      row('same-id-1', { ...shared, ...hash('D') }),
      row('same-id-3', { user_id: randomUUID() }),
    ];
    rows.push(row('same-id-4', { user_id: rows[4]?.['user_id'], ...hash('E') }));
    const { status, body } = await sendRows(rows);
    expect([status, body.changed]).toEqual([200, 2]);
    expect(errorsIn(body).map(({ line, code }) => [line, code])).toEqual([
      [1, 'user.name_taken'],
      [3, 'field.not_allowed'],
      [4, 'field.not_allowed'],
      [6, 'field.not_allowed'],
    ]);
    const made =
      await service.rows(`select name, status, password_hash as hash from users left join credentials using (user_id)
      where name like 'same-id-%' order by name`);
    expect(made).toEqual([
      { name: 'same-id-1', status: 'active', hash: hash('B').password_hash },
      { name: 'same-id-3', status: 'invited', hash: null },
    ]);
  });

  it('accepts hashes of other systems, with which users log in at once', async () => {
    const rows = [
      row('hash-1', { password_hash: await hashBcrypt('the old password', { cost: 4 }) }),
      row('hash-2', { password_hash: createHash('md5').update('the old password').digest('hex') }),
      row('hash-3', { password_hash: '$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcde' }),
      row('hash-4', { password_hash: '$1$salt$qJH7.N4xYta3aEG/dfqo/0' }),
      row('hash-5', { password: 'correct horse battery staple' }),
      row('hash-6', { status: 'invited', password_hash: createHash('md5').update('x').digest('hex') }),
    ];
    const { body } = await sendRows(rows);
    expect([body.changed, errorsIn(body).map(({ line, pointer }) => [line, pointer])]).toEqual([
      2,
      [
        [3, '/password_hash'],
        [4, '/password_hash'],
        [5, '/password'],
        [6, '/status'],
      ],
    ]);
    for (const login of ['hash-1', 'hash-2']) {
      expect((await service.post('/auth/login', { body: { login, password: 'the old password!' } })).status).toBe(401);
      expect((await service.post('/auth/login', { body: { login, password: 'the old password' } })).status).toBe(200);
    }
    const stored = await service.rows(`select 1 from credentials where password_hash ~ '^[0-9a-f]{32}$'`);
    expect(stored).toEqual([]);
  });

  it('reports a row that the database cannot store as one wrong row and continues', async () => {
    const times = ['2026-02-30T00:00:00Z', '2025-02-29T00:00:00+00:00', '2026-01-01T24:00:00Z', '2026-01-01T00:00:60Z'];
    const wrong = [...times.map((created_at) => ({ created_at })), { attributes: { tiny: Array(400).fill(1e-300) } }];
    const good = row('kept-1', {
      created_at: '2026-01-01T00:00:00.123+20:00',
      attributes: { tiny: [1e-300, -0.5, 0] },
    });
    const rows = [...wrong.map((more, i) => row(`not-kept-${i}`, more)), good];
    for (const query of ['dry_run=true', '']) {
      const { status, body } = await sendRows(rows, query);
      expect([
        status,
        body.changed ?? body.would_create,
        errorsIn(body).map(({ pointer, code }) => [pointer, code]),
      ]).toEqual([200, 1, [...times.map(() => ['/created_at', 'field.malformed']), ['/attributes', 'field.too_long']]]);
    }
    expect((await byName('kept-1')).created_at).toBe('2025-12-31T04:00:00.123Z');
    const { status, body } = await send(
      `${header},first_name\ncarrier,nul-1,nul-1@example.com,c1,a\0b\ncarrier,nul-2,nul-2@example.com,c1,a\n`,
    );
    expect([status, body.changed, errorsIn(body)]).toEqual([
      200,
      1,
      [expect.objectContaining({ line: 2, pointer: '/first_name', code: 'field.malformed' })],
    ]);
    expect(await service.rows(`select 1 from operations where status <> 'done'`)).toEqual([]);
  });

  it.each([
    ['', 'line 1: must have a header line'],
    ['user_type,nmae\r\nx,y', 'line 1, column 2: is not a column of an import'],
    ['name,name\r\nx,y', 'line 1: must not repeat the column'],
    [`${header}\r\ncarrier,a"b,c,d\r\n`, 'line 2: must not have a quote within a cell without quotes'],
    [`${header}\r\ncarrier,ok-1,ok-1@example.com,c1\r\ncarrier,"open`, 'line 3: must close each quote'],
    [`${header}\r\ncarrier,${'x'.repeat(140_000)},c,d\r\n`, 'line 2: must have rows of at most 131072 characters'],
  ])('creates no user from an unreadable file: %#', async (file, detail) => {
    const before = await count();
    const { status, body } = await send(file);
    expect([status, body.code, body.errors?.[0]?.detail]).toEqual([400, 'request.invalid', detail]);
    expect([
      await count(),
      await left(),
      await service.rows(`select 1 from operations where status = 'receiving'`),
    ]).toEqual([before, [], []]);
  });

  it('rejects a file that is not UTF-8 or of another type', async () => {
    const latin = await service.app.inject({
      method: 'POST',
      url: '/user/import',
      payload: Buffer.from(`${header}\r\ncarrier,utf-1,utf-1@example.com,c\xe9`, 'latin1'),
      headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'text/csv' },
    });
    expect([latin.statusCode, latin.json().errors[0].detail]).toEqual([400, 'must be UTF-8']);
    for (const type of ['application/json', 'text/csv; charset=latin1', 'application/xml', 'text/plain']) {
      const { status, body } = await send('{}', '', type);
      expect([type, status, body.detail]).toEqual([type, 415, expect.stringContaining('text/csv')]);
    }
    expect(
      (await service.post('/user/create', { ...service.admin, body: 'a', headers: { 'content-type': 'text/csv' } }))
        .status,
    ).toBe(415);
    expect((await service.post('/user/import', service.admin)).status).toBe(415);
    expect((await send(header, 'on_conflict=overwrite')).body.errors[0].parameter).toBe('on_conflict');
    expect((await send(header, 'dryrun=true')).body.errors[0].parameter).toBe('dryrun');
  });
});
