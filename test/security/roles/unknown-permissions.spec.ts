import { inSeconds } from '../../support/keys';
import { type TestAnswer, TestService } from '../../support/service';

describe('unknown permissions', () => {
  let service: TestService;
  let token: string;
  let count = 0;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());

  const createRole = (permissions: string[], query = '') =>
    service.post(`/role/create${query}`, {
      token,
      body: { name: `role-${++count}`, user_types: ['system'], permissions },
    });
  const createKey = (permissions: string[], query = '') =>
    service.post(`/auth/key/create${query}`, {
      token,
      body: { name: 'machine', permissions, expires_at: inSeconds(600) },
    });
  const suggested = ({ status, body }: TestAnswer) => [
    status,
    body.code,
    ...(body.errors ?? []).map(({ pointer, code, params }: Record<string, unknown>) => ({
      pointer,
      code,
      ...Object(params),
    })),
  ];
  const refused = (permission: string, did_you_mean: string) => [
    400,
    'request.invalid',
    { pointer: '/permissions', code: 'permission.unknown', permission, did_you_mean },
  ];

  it('rejects a misspelt permission of the service in roles and keys, and suggests the right one (Z40)', async () => {
    for (const create of [createRole, createKey])
      for (const [wrong, right] of [
        ['user:raed', 'user:read'],
        ['user:read-deleted', 'user:read_deleted'],
        ['session:revok', 'session:revoke'],
        ['token:inspect', 'token:introspect'],
      ] as const) {
        expect(suggested(await create([wrong, 'user:read']))).toEqual(refused(wrong, right));
        // The permissions of this service are a closed list, which `new_prefix` does not extend.
        expect(suggested(await create([wrong], '?new_prefix=true'))).toEqual(refused(wrong, right));
      }
  });

  it('rejects a module name one edit from a module of the service, unless the caller confirms it (Z40)', async () => {
    for (const create of [createRole, createKey])
      for (const [wrong, right] of [
        ['usr:read', 'user:read'],
        ['users:read', 'user:read'],
        ['rule:manage', 'role:manage'],
        ['email:manage', 'mail:manage'],
      ] as const) {
        const answer = await create([wrong]);
        expect(suggested(answer)).toEqual(refused(wrong, right));
        expect(answer.body.errors[0].detail).toContain(`Did you mean ${right}?`);
        expect(answer.body.errors[0].detail).toContain('new_prefix=true');
        expect((await create([wrong], '?new_prefix=true')).status).toBe(201);
        expect(suggested(await create([wrong], '?new_prefix=false'))).toEqual(refused(wrong, right));
      }
    expect((await createRole(['billing:read', 'uzers:read', 'constructor:read', '*'])).status).toBe(201);
    expect((await createRole([], '?new_prefix=maybe')).body.errors[0].parameter).toBe('new_prefix');
  });

  it('names each misspelt permission of a request', async () => {
    const answer = await createRole(['user:raed', 'usr:read', 'billing:read']);
    expect(answer.body.errors.map(({ params }: { params: object }) => params)).toEqual([
      { permission: 'user:raed', did_you_mean: 'user:read' },
      { permission: 'usr:read', did_you_mean: 'user:read' },
    ]);
  });

  it('rejects a misspelt permission in a change of a role, but not one that the role already has (Z40)', async () => {
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('legacy', '{system}', '{user:raed,users:read}')`,
    );
    const change = (permissions: string[], query = '') =>
      service.patch(`/role/legacy${query}`, { token, body: { permissions } });
    expect(suggested(await change(['user:raed', 'users:read', 'user:delet']))).toEqual(
      refused('user:delet', 'user:delete'),
    );
    expect(suggested(await change(['usr:read']))).toEqual(refused('usr:read', 'user:read'));
    expect((await change(['user:raed', 'users:read', 'tour:plan'])).status).toBe(200);
    expect((await change(['usr:read'], '?new_prefix=true')).status).toBe(200);
    expect(suggested(await change(['usr:read', 'user:raed']))).toEqual(refused('user:raed', 'user:read'));
  });
});
