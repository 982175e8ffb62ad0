import { parse } from 'csv-parse/sync';
import { TestService } from '../support/service';

const columns = [
  ...[
    'user_id',
    'user_type',
    'name',
    'email',
    'email_verified_at',
    'first_name',
    'last_name',
    'phone',
    'job_title',
    'locale',
    'timezone',
  ],
  ...[
    'carrier_id',
    'carrier_scope',
    'roles',
    'status',
    'allowed_ips',
    'attributes',
    'must_change_password',
    'created_at',
  ],
  ...['last_login_at', 'last_login_ip', 'last_seen_at', 'password_changed_at'],
];
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the export of users', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const csv = (query: string, token = service.admin.token) => service.get(`/user/export?${query}`, { token });
  const lines = async (query: string, token = service.admin.token): Promise<Record<string, unknown>[]> => {
    const { status, text } = await service.get(`/user/export?format=ndjson${query}`, { token });
    expect([status, text === '' || text.endsWith('\n')]).toEqual([200, true]);
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  it('writes CSV with a header, one line per user, every column and times in UTC', async () => {
    const fields = {
      first_name: 'Ada, "the first"',
      last_name: 'Lovelace',
      phone: '+4312345678',
      job_title: '=Head, of "Operations"',
      locale: 'en-GB',
      timezone: 'Europe/London',
      roles: ['carrier_user', 'carrier_administrator'],
      allowed_ips: ['10.0.0.0/8', '2001:db8::1'],
      attributes: { tier: 'gold', note: 'two\nlines', n: 1.5, nested: { deep: [null, true] } },
    };
    const { user_id, name } = await service.createUser(fields);
    const { status, headers, text } = await csv(`user_id=${user_id}`);
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="users-\d{8}T\d{6}Z\.csv"$/);
    expect(text.split('\r\n')).toHaveLength(3);
    expect(text).toContain('"Ada, ""the first"""');
    const [header, row, ...rest] = parse(text);
    expect([header, rest]).toEqual([columns, []]);
    const cell = Object.fromEntries(columns.map((column, index) => [column, row?.[index] ?? '']));
    expect(cell).toMatchObject({
      user_id,
      user_type: 'carrier',
      name,
      email: `${name}@example.com`,
      carrier_id: 'c1',
      status: 'active',
    });
    expect(cell).toMatchObject({
      first_name: fields.first_name,
      phone: `'${fields.phone}`,
      locale: 'en-GB',
      must_change_password: 'false',
    });
    expect(cell).toMatchObject({ carrier_scope: '', email_verified_at: '', last_login_ip: '' });
    expect(cell['roles']).toBe('carrier_administrator;carrier_user');
    expect(cell['allowed_ips']).toBe('10.0.0.0/8;2001:db8::1/128');
    expect(JSON.parse(cell['attributes'] ?? '')).toEqual(fields.attributes);
    expect([cell['created_at'], cell['password_changed_at']]).toEqual([
      expect.stringMatching(instant),
      expect.stringMatching(instant),
    ]);
  });

  it('writes the users of the API as NDJSON, without secrets', async () => {
    const { user_id } = await service.loginAs({ first_name: 'Zoë' });
    const [row, ...rest] = await lines(`&user_id=${user_id}`);
    const { body } = await service.get(`/user/${user_id}`, service.admin);
    expect(rest).toEqual([]);
    expect(row).toEqual(Object.fromEntries(columns.map((column) => [column, body[column]])));
  });

  it('filters like a list, and without a filter exports every user who is not deleted', async () => {
    const { user_id } = await service.createUser({ carrier_id: 'found' });
    await service.createUser({ carrier_id: 'found', first_name: 'Deleted' });
    await service.delete('/user/all?first_name=Deleted', service.admin);
    expect((await lines('&carrier_id=found')).map((user) => user['user_id'])).toEqual([user_id]);
    expect(await lines('&carrier_id=nowhere')).toEqual([]);
    expect((await csv('carrier_id=nowhere')).text).toBe(`${columns.join(',')}\r\n`);
    const [{ n } = { n: 0 }] = await service.rows<{ n: number }>(
      'select count(*)::integer as n from users where deleted_at is null',
    );
    expect(await lines('')).toHaveLength(n);
  });

  it('exports more users than one batch holds, each once, ordered by id', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status)
      select uuid_v7(), 'carrier', 'many-' || i, 'many-' || i || '@example.com', 'many', 'invited'
      from generate_series(1, 1234) i`);
    const ids = (await lines('&carrier_id=many')).map((user) => String(user['user_id']));
    expect([ids.length, new Set(ids).size]).toEqual([1234, 1234]);
    expect(ids).toEqual([...ids].sort());
    expect(parse((await csv('carrier_id=many')).text)).toHaveLength(1235);
  });

  it('records the number of users and the names of the filters, but no filter value', async () => {
    const { user_id } = await service.createUser({ first_name: 'Grace' });
    await csv(`first_name=Grace&user_id=${user_id}`);
    const { body } = await service.get('/audit/list?event_type=user.exported&per_page=1', service.admin);
    expect(body.items[0]).toMatchObject({ actor_id: service.admin.user_id, target_id: null });
    expect(body.items[0].changes).toEqual({
      count: { after: 1 },
      format: { after: 'csv' },
      hashes: { after: false },
      filter: { after: ['first_name', 'user_id'] },
    });
  });

  it.each([
    ['format=xml', 'format', 'parameter.malformed'],
    ['format=', 'format', 'parameter.malformed'],
    ['hashes=yes', 'hashes', 'parameter.malformed'],
    ['hashes=true', 'hashes', 'parameter.conflict'],
    ['nmae=ada', 'nmae', 'parameter.unknown'],
    ['name=a&name=b', 'name', 'parameter.malformed'],
    ['per_page=10', 'per_page', 'parameter.unknown'],
    ['deleted=true', 'deleted', 'parameter.unknown'],
    ['everyone=true', 'everyone', 'parameter.unknown'],
  ])('rejects %s before it sends anything', async (query, parameter, code) => {
    const { status, body } = await csv(query);
    expect([status, body.code, body.errors]).toEqual([
      400,
      'request.invalid',
      [expect.objectContaining({ parameter, code })],
    ]);
  });

  it.each([
    ['csv', 'text/csv', '"'],
    ['csv', 'text/csv', ';='],
    ['ndjson', 'application/x-ndjson', '"'],
  ])(
    'holds the longest possible user in one row, which can be imported again: %s (%s) of %s',
    async (format, type, filler) => {
      const carriers = (from: number) => Array.from({ length: 500 }, (_, i) => `carrier-${from + i}-`.padEnd(64, 'x'));
      const longest = { user_type: 'system', carrier_id: undefined, attributes: { filler: filler.repeat(8_150) } };
      const { user_id } = await service.createUser(longest);
      // More than one request body can contain.
      await service.rows('update users set carrier_scope = $2 where user_id = $1', [
        user_id,
        [...carriers(0), ...carriers(500)],
      ]);
      const state = () => service.rows('select carrier_scope, attributes from users where user_id = $1', [user_id]);
      const before = await state();
      const { text } = await csv(`user_id=${user_id}&format=${format}`);
      await service.rows('delete from users where user_id = $1', [user_id]);
      // As in another installation, where this id does not exist.
      await service.rows('delete from user_tombstones');
      const { body } = await service.post('/user/import', {
        ...service.admin,
        body: text,
        headers: { 'content-type': type },
      });
      expect([body.changed, body.skipped]).toEqual([1, []]);
      expect(await state()).toEqual(before);
    },
  );
});
