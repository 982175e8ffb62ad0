import { randomUUID } from 'node:crypto';
import { requestHead } from '../../support/raw-connection';
import { rawRequest, statusOf } from '../../support/raw-request';
import { type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string };

describe('requests that are not what they seem', () => {
  let service: TestService;
  let user: Login;
  let port: number;
  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ roles: ['carrier_user'] });
    ({ port } = await service.listen());
  });
  afterAll(() => service.close());

  const everybody = () => service.rows('select user_id, version, deleted_at from users order by user_id');

  /** Sends a request over a socket as written, and returns the status. */
  async function sendRaw(method: string, target: string, token: string): Promise<number> {
    const head = requestHead(method, target, { authorization: `Bearer ${token}`, connection: 'close' });
    return statusOf(await rawRequest(port, Buffer.from(head)));
  }

  describe('the order of rejections', () => {
    const wrong: [string, string, Record<string, unknown>][] = [
      ['POST', '/user/create', { body: { name: 1, unknown: true } }],
      ['POST', '/user/create', { body: '{"name":', headers: { 'content-type': 'application/json' } }],
      ['POST', '/user/create', { body: '<a/>', headers: { 'content-type': 'application/xml' } }],
      ['POST', '/user/create', {}],
      ['GET', '/user/list?nothing=1&per_page=0&cursor=x', {}],
      ['GET', '/user/list?deleted=true', {}],
      ['PATCH', '/user/all', { body: {} }],
      ['PATCH', '/user/all?nothing=1', { body: { roles: [1] }, headers: { 'if-match': '"1"' } }],
      ['DELETE', '/user/all', {}],
      ['DELETE', '/user/all?everyone=true', { body: { a: 1 } }],
      ['GET', `/user/${randomUUID()}`, {}],
      ['GET', '/user/not-an-id', {}],
      ['PATCH', `/user/${randomUUID()}`, { body: { roles: ['nothing'] }, headers: { 'if-match': '"1"' } }],
      ['PATCH', '/user/not-an-id', { body: { unknown: true } }],
      ['DELETE', `/user/${randomUUID()}?purge=perhaps`, {}],
      ['POST', `/user/${randomUUID()}/restore`, { body: { a: 1 } }],
      ['GET', '/audit/list?nothing=1', {}],
      ['GET', '/role/list?nothing=1', {}],
    ];

    it.each(wrong)(
      '%s %s (%#): responds with 401 without a login and 403 without the permission first (Z21)',
      async (method, url, request) => {
        for (const [token, status, code] of [
          [undefined, 401, 'auth.token_missing'],
          ['not.a.token', 401, 'auth.token_invalid'],
          [user.token, 403, 'access.denied'],
        ] as const) {
          const answer = await service.send(method, url, { ...request, ...(token === undefined ? {} : { token }) });
          const named = (answer.body.errors as { code: string }[] | undefined)?.map((error) => error.code);
          expect([answer.status, answer.body.code, named]).toEqual([
            status,
            code,
            status === 403 ? ['permission.missing'] : undefined,
          ]);
        }
      },
    );

    it('responds with 400 before 404, 404 before 412, and 412 before 409 (Z21)', async () => {
      const { token } = service.admin;
      const { user_id } = await service.createUser();
      const stale = { 'if-match': '"99"' };
      const change = async (id: string, body: unknown, headers = {}) =>
        (await service.patch(`/user/${id}`, { token, body, headers })).status;
      expect(await change(randomUUID(), { unknown: 1 }, stale)).toBe(400);
      expect(await change(randomUUID(), { name: user.name }, stale)).toBe(404);
      expect(await change(user_id, { name: user.name }, stale)).toBe(412);
      expect(await change(user_id, { name: user.name }, { 'if-match': '"1"' })).toBe(409);
    });
  });

  it('finds no user by other forms of an id, without a 500 (Z22)', async () => {
    const { user_id } = await service.createUser();
    const bare = user_id.replace(/-/g, '');
    const forms = [
      ...[
        '1',
        '01',
        '1e0',
        '0',
        '-1',
        '0x1',
        'null',
        'undefined',
        'NaN',
        'true',
        'me',
        'self',
        '*',
        'administrator',
        user.name,
      ],
      ...[
        bare,
        `{${user_id}}`,
        `urn:uuid:${user_id}`,
        `(${user_id})`,
        `${user_id}0`,
        user_id.slice(0, -1),
        `${user_id},${user.user_id}`,
      ],
      ...[
        `%20${user_id}`,
        `${user_id}%20`,
        `${user_id}%00`,
        `${user_id}%0a`,
        `${user_id}.json`,
        `${user_id}'`,
        `"${user_id}"`,
        `${user_id}--`,
      ],
      ...[
        user_id.replace('-', '_'),
        user_id.replace(/-/g, '–'),
        '00000000-0000-0000-0000-000000000000',
        'ffffffff-ffff-ffff-ffff-ffffffffffff',
      ],
      ...[
        'g'.repeat(8) + user_id.slice(8),
        'a'.repeat(127),
        'a'.repeat(4_000),
        '１',
        `${user_id};a=1`,
        `${user_id}/`,
        `/${user_id}`,
      ],
    ];
    const before = await everybody();
    for (const form of forms) {
      for (const [method, suffix] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/restore'],
        ['POST', '/invite'],
      ] as const) {
        const answer = await service.app.inject({
          method,
          url: `/user/${form}${suffix}`,
          headers: { authorization: `Bearer ${service.admin.token}` },
          ...(method === 'PATCH' ? { payload: { first_name: 'Eve' } } : {}),
        });
        expect([method, form, answer.headers['content-type']]).toEqual([
          method,
          form,
          'application/problem+json; charset=utf-8',
        ]);
        expect([method, form, answer.statusCode]).toEqual([method, form, 404]);
      }
    }
    expect(await everybody()).toEqual(before);
    // RFC 9562 §4: an id in upper case is the same id.
    const upper = await service.get(`/user/${user_id.toUpperCase()}`, service.admin);
    expect([upper.status, upper.body.user_id]).toEqual([200, user_id]);
  });

  it('ignores a method in headers, parameters and fields (Z23)', async () => {
    const { user_id } = await service.createUser();
    const { token } = service.admin;
    const before = await everybody();
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override', 'x-method', '_method']) {
      const headers = { [name]: 'DELETE' };
      expect([name, (await service.post(`/user/${user_id}`, { token, headers })).status]).toEqual([name, 405]);
      expect([name, (await service.get(`/user/${user_id}`, { token, headers })).status]).toEqual([name, 200]);
      expect([name, (await service.patch(`/user/${user_id}`, { token, headers, body: {} })).status]).toEqual([
        name,
        200,
      ]);
      expect([name, (await service.post('/user/all?everyone=true', { token, headers })).status]).toEqual([name, 405]);
      expect([
        name,
        (await service.get(`/user/list`, { token: user.token, headers: { [name]: 'OPTIONS' } })).status,
      ]).toEqual([name, 403]);
    }
    for (const parameter of ['_method=DELETE', 'method=DELETE', 'X-HTTP-Method-Override=DELETE']) {
      expect([parameter, (await service.get(`/user/${user_id}?${parameter}`, { token })).status]).toEqual([
        parameter,
        400,
      ]);
    }
    expect((await service.patch(`/user/${user_id}`, { token, body: { _method: 'DELETE' } })).status).toBe(400);
    expect(await everybody()).toEqual(before);
  });

  it('treats other spellings of /user/all and /user/list as no route, or applies the same rules (B4)', async () => {
    const paths = [
      ...[
        '/user/ALL',
        '/user/All',
        '/USER/all',
        '/User/All',
        '/user/all/',
        '/user//all',
        '//user/all',
        '/user/./all',
        '/user/x/../all',
        '/./user/all',
      ],
      ...[
        '/user/%61ll',
        '/user/al%6c',
        '/%75ser/all',
        '/user/all%2F',
        '/user%2Fall',
        '/user/%2561ll',
        '/user/all%00',
        '/user/all%20',
        '/user/%20all',
      ],
      ...[
        '/user/all;x',
        '/user/all;/x',
        '/user;a/all',
        '/user/all.json',
        '/user/all*',
        '/user/*',
        '/user\\all',
        '/user/all\\',
        '/user/ａll',
        '/user/all%3Feveryone=true',
      ],
      ...[
        '/user/list/all',
        '/user/all/all',
        '/user/all,list',
        '/user/LIST',
        '/user/list/',
        'http://localhost/user/all',
        'user/all',
        '*',
        '/../user/all',
        '/user/all#',
      ],
    ];
    const before = await everybody();
    for (const path of paths) {
      for (const [token, refused] of [
        [service.admin.token, [400, 404]] as const,
        [user.token, [400, 403, 404]] as const,
      ]) {
        const status = await sendRaw('DELETE', Buffer.from(`${path}?everyone=true`).toString('latin1'), token);
        expect([path, status, refused.some((one) => one === status)]).toEqual([path, status, true]);
      }
    }
    for (const path of ['/user/all', '/user/all?', '/user/all?#everyone=true']) {
      expect([path, await sendRaw('DELETE', path, user.token)]).toEqual([path, 403]);
      expect([path, await sendRaw('DELETE', path, service.admin.token)]).toEqual([path, 400]);
    }
    expect(await everybody()).toEqual(before);
    expect((await service.delete('/user/all', service.admin)).body.code).toBe('bulk.filter_required');
    expect((await service.delete('/user/all?', service.admin)).body.code).toBe('bulk.filter_required');
    expect((await service.delete('/user/all?everyone=true', user)).body.code).toBe('access.denied');
    for (const [path, methods] of [
      ['/user/all', ['GET', 'POST', 'PUT']] as const,
      ['/user/list', ['PATCH', 'DELETE', 'POST']] as const,
    ]) {
      for (const method of methods)
        expect([method, path, await sendRaw(method, path, service.admin.token)]).toEqual([method, path, 405]);
    }
    for (const name of ['all', 'list', 'create']) {
      const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
      expect((await service.post('/user/create', { token: service.admin.token, body })).status).toBe(201);
      expect([name, await sendRaw('GET', `/user/${name}?nothing=1`, service.admin.token)]).toEqual([
        name,
        name === 'list' ? 400 : 405,
      ]);
    }
    expect((await everybody()).filter(({ deleted_at }) => deleted_at !== null)).toEqual([]);
  });
});
