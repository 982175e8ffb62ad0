import { randomUUID } from 'node:crypto';
import { TestService } from '../../support/service';

const lists = ['/user/list', '/auth/session/list', '/audit/list'];

describe('pages, cursors and nested filters', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    await service.rows(`
      insert into users (user_id, user_type, name, email, first_name, last_name, carrier_id, status, created_at)
      select
        gen_random_uuid(), 'carrier', 'crowd' || n, 'crowd' || n || '@example.com', 'C', 'Smith', 'c' || n % 3,
        'active', '2026-01-01'
      from generate_series(1, 10007) n`);
    await service.rows('analyze users');
  });
  afterAll(() => service.close());

  const get = (path: string, query: string) => service.get(`${path}?${query}`, { token });

  it('rejects page numbers and sizes out of bounds (B12)', async () => {
    const numbers = [
      '-1',
      '0',
      '1e9',
      '1e2',
      'NaN',
      '10abc',
      '[1]',
      '1.5',
      ' 1',
      '1 ',
      '+1',
      '01',
      '0x10',
      '9223372036854775808',
      '',
      'null',
      '１',
      '501',
      '∞',
    ];
    for (const path of lists) {
      for (const value of numbers)
        expect([value, (await get(path, `per_page=${encodeURIComponent(value)}`)).status]).toEqual([value, 400]);
      for (const value of numbers.filter((number) => number !== '501')) {
        expect([value, (await get(path, `page=${encodeURIComponent(value)}`)).status]).toEqual([value, 400]);
      }
      for (const query of [
        'page=100001&per_page=1',
        'page=2001&per_page=50',
        'page=201&per_page=500',
        'page=9007199254740991',
      ]) {
        expect([query, (await get(path, query)).body.code]).toEqual([query, 'page.too_deep']);
      }
      expect((await get(path, 'page=200&per_page=500')).status).toBe(200);
    }
  });

  it('rejects a cursor with a changed byte, or of another caller, filter, sort or list (B12)', async () => {
    const query = 'per_page=2&order_by=last_name&carrier_id=c1';
    const cursor = String((await get('/user/list', query)).body.next_cursor);
    expect((await get('/user/list', `${query}&cursor=${cursor}`)).status).toBe(200);
    for (let index = 0; index < cursor.length; index++) {
      const other = cursor[index] === 'A' ? 'B' : 'A';
      const answer = await get(
        '/user/list',
        `${query}&cursor=${cursor.slice(0, index)}${other}${cursor.slice(index + 1)}`,
      );
      expect([index, answer.status, answer.body.code]).toEqual([index, 400, 'page.cursor_invalid']);
    }
    const [payload = '', signature = ''] = cursor.split('.');
    const forged = Buffer.from(JSON.stringify(["x') or 1=1--", randomUUID()])).toString('base64url');
    for (const one of [
      payload,
      `${payload}.`,
      `.${signature}`,
      `${forged}.${signature}`,
      forged,
      `${cursor}.`,
      `${cursor}=`,
      'a',
      '.',
      '..',
      'null',
    ]) {
      expect([one, (await get('/user/list', `${query}&cursor=${one}`)).body.code]).toEqual([
        one,
        'page.cursor_invalid',
      ]);
    }
    for (const other of [
      'carrier_id=c1',
      'order_by=last_name',
      'order_by=last_name&carrier_id=c2',
      'order_by=name&carrier_id=c1',
      `${query}&order_dir=asc`,
      `${query}&deleted=true`,
    ]) {
      expect([other, (await get('/user/list', `${other}&cursor=${cursor}`)).body.code]).toEqual([
        other,
        'page.cursor_invalid',
      ]);
    }
    const another = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    expect((await service.get(`/user/list?${query}&cursor=${cursor}`, another)).body.code).toBe('page.cursor_invalid');
    const sessions = String((await get('/auth/session/list', 'per_page=1')).body.next_cursor);
    expect((await get('/audit/list', `per_page=1&cursor=${sessions}`)).body.code).toBe('page.cursor_invalid');
    expect((await get('/user/list', `${query}&cursor=${cursor}&page=1`)).body.errors[0].code).toBe(
      'parameter.conflict',
    );
    expect((await get('/user/list', `${query}&cursor=${'a'.repeat(1_025)}`)).status).toBe(400);
  });

  it.each(['last_name', 'created_at', 'last_login_at', 'status'])(
    'visits each of 10,007 users with the same %s exactly once (B13)',
    async (sort) => {
      const wanted = await service.rows<{ user_id: string }>(`select user_id from users where last_name = 'Smith'`);
      const met: string[] = [];
      let cursor: string | null = null;
      do {
        const { body } = await get(
          '/user/list',
          `last_name=Smith&per_page=500&count=none&order_by=${sort}${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        met.push(...body.items.map(({ user_id }: { user_id: string }) => user_id));
        cursor = body.next_cursor;
      } while (cursor !== null);
      expect(met).toHaveLength(10_007);
      expect([...met].sort()).toEqual(wanted.map(({ user_id }) => user_id).sort());
    },
  );

  it('rejects endlessly nested filters at once (B23)', async () => {
    const deep = 10_000;
    const queries = [
      `filter=${'('.repeat(deep)}${')'.repeat(deep)}`,
      `and${'[and]'.repeat(deep)}=1`,
      `filter=${'{"and":['.repeat(2_000)}`,
      `carrier_id_in=${Array.from({ length: 501 }, (_item, index) => `c${index}`).join()}`,
      `last_login_ip_in=${Array.from({ length: 501 }, (_item, index) => `10.0.${index >> 8}.${index & 255}`).join()}`,
      Array.from({ length: 5_000 }, () => 'carrier_id=c1').join('&'),
      Array.from({ length: 3_000 }, (_item, index) => `attributes.k${index}=1`).join('&'),
      `q=${'a%20'.repeat(deep)}`,
    ];
    for (const query of queries) {
      await get('/user/list', 'nothing=1');
      const began = performance.now();
      const answer = await get('/user/list', query);
      expect([query.slice(0, 30), answer.status, performance.now() - began < 2_500]).toEqual([
        query.slice(0, 30),
        400,
        true,
      ]);
    }
  });
});
