import { createKey } from '../../support/keys';
import { document } from '../../support/document';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

describe('requests without a permission', () => {
  let service: TestService;
  let nobody: TestLogin;
  let target: string;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values
        ('writer', '{system}', '{user:update,user:delete,user:export}'), ('reader', '{system}', '{user:read}')`,
    );
    nobody = await service.loginAs({ user_type: 'system' });
    ({ user_id: target } = await service.createUser());
  });
  afterAll(() => service.close());

  const named = ({ status, body }: TestAnswer) => [status, body.code, body.errors];
  const missing = (permission: string) => [
    403,
    'access.denied',
    [{ code: 'permission.missing', detail: `The permission ${permission} is missing.`, params: { permission } }],
  ];

  it('names the missing permission on every route that needs one (Z2)', async () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, permission: operation['x-permission'] })),
    );
    const guarded = operations.filter(({ permission = '' }) => permission.includes(':'));
    expect(guarded.length).toBeGreaterThan(25);
    for (const { path, method, permission = '' } of guarded) {
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'role' ? 'auditor' : target));
      const answer = await service.send(method.toUpperCase(), url, { token: nobody.token });
      expect([path, method, ...named(answer)]).toEqual([path, method, ...missing(permission)]);
    }
  });

  it('names the permission that a parameter, a field or an API key needs (Z2)', async () => {
    const by = async (role: string) => service.loginAs({ user_type: 'system', roles: [role] });
    const [writer, reader] = [await by('writer'), await by('reader')];
    const { key } = await createKey(service, ['user:read']);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const own = (body: object) => service.patch(`/user/${nobody.user_id}`, { token: nobody.token, body });
    const answers: [string, TestAnswer][] = [
      ['user:purge', await service.delete(`/user/${target}?purge=true`, writer)],
      ['user:purge', await service.get('/user/export?hashes=true', writer)],
      ['user:read', await service.patch(`/user/${target}`, { token: writer.token, body: {} })],
      ['user:update', await own({ status: 'disabled' })],
      [
        'user:reset_factors',
        await service.patch(`/user/all?user_id=${target}`, {
          token: writer.token,
          body: { reset_second_factors: true },
        }),
      ],
      ['user:read_deleted', await service.get('/user/list?deleted=true&name=ada', reader)],
      ['user:update', await service.get('/user/operation/list', reader)],
      // A 403 comes before the 400 for an invalid query.
      ['user:purge', await service.get('/user/export?hashes=true&unknown=1', writer)],
      ['user:read_deleted', await service.get('/user/list?deleted=true&name=ada&per_page=0', reader)],
      ['user:update', await service.get('/user/operation/list?per_page=0', reader)],
      ['user:update', await service.get(`/user/operation/${target}/skipped?per_page=0`, reader)],
      ['token:introspect', await service.post('/auth/introspect', { token: key, headers: form, body: 'token=x' })],
    ];
    for (const [index, [permission, answer]] of answers.entries())
      expect([index, ...named(answer)]).toEqual([index, ...missing(permission)]);
  });

  it('names no permission if another rule rejects the request', async () => {
    const scoped = await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: ['c1'] });
    const { key } = await createKey(service, ['*']);
    const body = { name: 'x', user_types: ['system'] };
    for (const answer of [
      await service.post('/role/create', { token: scoped.token, body }),
      await service.get('/user', { token: key }),
    ])
      expect(named(answer)).toEqual([403, 'access.denied', undefined]);
  });
});
