import { randomUUID } from 'node:crypto';
import { TestService } from '../../support/service';

describe('changes of all users that a filter matches', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c1', roles: ['carrier_user'] });
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c2', roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const json = { 'content-type': 'application/json' };
  const send = (method: string, query: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.send(method, `/user/all${query}`, { token, body, headers });
  const change = { locale: 'fr' };

  describe.each([['PATCH'], ['DELETE']])('%s', (method) => {
    const body = method === 'PATCH' ? change : undefined;

    it('changes nothing without a filter, with an emptied one or with one in the wrong place (B1)', async () => {
      const before = await state();
      const queries = [
        ...[
          '',
          '?',
          '?&',
          '?&&&',
          '?=',
          '?=&=',
          '?everyone=false',
          '?everyone=',
          '?everyone',
          '?everyone=1',
          '?everyone=yes',
          '?everyone=TRUE',
        ],
        ...[
          '?everyone=true&everyone=true',
          '?everyone[]=true',
          '?dry_run=true',
          '?dry_run=false',
          '?expected=7',
          '?dry_run=false&expected=7',
        ],
        ...[
          '?email=',
          '?user_id_in=',
          '?user_id_in=,',
          '?status',
          '?carrier_id=&status=',
          '?q=',
          '?q=%20',
          '?q=%20%20%09',
          '?attributes.=a',
        ],
        ...[
          '?attributes.tier=',
          '?filter=',
          '?filter={}',
          '?filter=null',
          '?where=[]',
          '?user_id_in=undefined',
          '?user_id=null',
          '?user_id=undefined',
        ],
        ...[
          '?carrier_id=c1&everyone=true',
          '?all=true',
          '?per_page=1',
          '?order_by=name&order_dir=asc',
          '?page=1',
          '?cursor=a',
          '?count=none',
        ],
      ];
      for (const query of queries) {
        const answer = await send(method, query, body);
        expect([query, answer.status]).toEqual([query, 400]);
      }
      const wrongPlace: [unknown, Record<string, string>][] = [
        [{ carrier_id: 'c1' }, json],
        [{ filter: { carrier_id: 'c1' } }, json],
        [{ everyone: true }, json],
        [{ ...body, user_id_in: [] }, json],
        ['null', json],
        ['[]', json],
        ['{}', json],
        ['""', json],
        ['', json],
        [undefined, json],
        [undefined, { ...json, 'content-length': '0' }],
        ['everyone=true', { 'content-type': 'application/x-www-form-urlencoded' }],
      ];
      for (const [payload, headers] of wrongPlace) {
        const answer = await send(method, '', payload, headers);
        expect([payload, [400, 415].includes(answer.status)]).toEqual([payload, true]);
      }
      expect((await send(method, '', body)).body.code).toBe('bulk.filter_required');
      expect(await state()).toEqual(before);
    });

    it('rejects a misspelt filter by name, alone and beside a right one (B2)', async () => {
      const before = await state();
      const misspelt = [
        'emial',
        'Status',
        'status_',
        'statuses',
        'carrierId',
        'carrier-id',
        'user_ids',
        'id',
        'ids',
        'created_after',
        'role_ne',
        'email_eq',
      ];
      for (const parameter of [
        ...misspelt,
        'email_starts',
        'q_like',
        'attribute.a',
        'attributes',
        'toString',
        '__proto__',
        'constructor',
        'If-Match',
      ]) {
        for (const rest of ['', '&carrier_id=c1']) {
          const answer = await send(method, `?${parameter}=c1${rest}`, body);
          expect([parameter, answer.status, answer.body.errors]).toEqual([
            parameter,
            400,
            [expect.objectContaining({ parameter })],
          ]);
        }
      }
      expect(await state()).toEqual(before);
    });

    it('rejects all conditions if one is wrong, and names each wrong one (B3)', async () => {
      const before = await state();
      const bad = [
        ...[
          'status=activ',
          'created_at_gt=yesterday',
          'created_at_gt=2026-02-30T00:00:00Z',
          'user_id=1',
          'user_id_in=1',
          'online=1',
          'last_login_ip=300.1.1.1',
        ],
        ...[
          'phone_isnull=',
          'phone_isnull=maybe',
          'name_like=ab',
          'user_type=',
          'must_change_password=TRUE',
          'role_in=,',
          'name=%00',
          'expected=-1',
        ],
        ...[
          'expected=1e3',
          'dry_run=1',
          'attributes.a=1&attributes.b=1&attributes.c=1&attributes.d=1',
          'q=a%20b%20c%20d%20e%20f',
          'user_id_isnull=true',
        ],
      ];
      for (const condition of bad) {
        const answer = await send(method, `?carrier_id=c1&${condition}`, body);
        expect([condition, answer.status, answer.body.code]).toEqual([condition, 400, 'request.invalid']);
      }
      const many = await send(method, '?carrier_id=c1&status=activ&emial=a&user_id=1', body);
      expect(many.body.errors.map(({ parameter }: { parameter: string }) => parameter).sort()).toEqual([
        'emial',
        'status',
        'user_id',
      ]);
      expect(await state()).toEqual(before);
    });

    it('reports the count, changes nothing with dry_run or a wrong expected, and rejects If-Match (B5)', async () => {
      const before = await state();
      for (const expected of [0, 2, 4, 999_999_999]) {
        const answer = await send(method, `?carrier_id=c1&expected=${expected}`, body);
        expect([answer.status, answer.body.code]).toEqual([409, 'bulk.expected_mismatch']);
      }
      const preview = await send(method, '?carrier_id=c1&dry_run=true', body);
      expect(preview.body).toMatchObject({ matched: 3, would_change: 3, confirm_token: expect.any(String) });
      expect((await send(method, '?carrier_id=c1&dry_run=true&expected=2', body)).status).toBe(409);
      for (const tag of ['"1"', '*', 'W/"1"'])
        expect((await send(method, '?carrier_id=c1', body, { 'if-match': tag })).status).toBe(400);
      expect(await state()).toEqual(before);
      const missing = await send(method, `?user_id=${randomUUID()}`, body);
      expect(missing.status).toBe(200);
      expect(missing.body).toMatchObject({ matched: 0, changed: 0, unchanged: 0, skipped_count: 0 });
      const changes = `select 1 from events where operation_id = $1 and event_type <> 'operation.accepted'`;
      expect(await service.rows(changes, [missing.body.operation_id])).toEqual([]);
    });

    it('rejects a repeated parameter in either order (B20)', async () => {
      const before = await state();
      for (const query of [
        ...[
          '?carrier_id=c1&carrier_id=c2',
          '?carrier_id=c2&carrier_id=c1',
          '?carrier_id=c1&carrier_id=c1',
          '?carrier_id[]=c1',
          '?carrier_id[0]=c1',
        ],
        ...[
          '?carrier_id=c1&dry_run=true&dry_run=false',
          '?carrier_id=c1&expected=3&expected=3',
          '?carrier_id=c1;status=active',
          '?carrier_id=c1&carrier%5Fid=c2',
        ],
      ]) {
        const status = (await send(method, query, body)).status;
        const found = query.includes(';') ? 200 : 400;
        expect([query, status]).toEqual([query, found]);
      }
      for (const query of [
        'per_page=10&per_page=100',
        'page=1&page=2',
        'order_by=name&order_by=email',
        'carrier_id=c1&carrier_id=c2',
        'count=none&count=exact',
      ]) {
        expect([query, (await service.get(`/user/list?${query}`, { token })).status]).toEqual([query, 400]);
      }
      expect(await state()).toEqual(before);
    });
  });
});
