import { type TestAnswer, type TestLogin, TestService } from '../support/service';

type Login = TestLogin & { name: string };

const exceeds = 'access.grant_exceeds_own';
const system = { user_type: 'system' };

describe('granting permissions', () => {
  let service: TestService;
  let admin: TestLogin;
  let operator: Login;
  /** a System User with `user:read` and `user:update` */
  let support: Login;
  let carrierAdministrator: Login;
  /** may manage roles and has few other permissions */
  let manager: Login;
  const managed = ['calls:read', 'role:manage', 'role:read', 'user:create', 'user:read', 'user:update'];
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('support', '{system,carrier}', '{user:read,user:update}', '{}'),
      ('carrier_auditor', '{carrier}', '{user:read,audit:read}', '{}'),
      ('reader', '{system,carrier}', '{user:read}', '{}'),
      ('manager', '{system,carrier}', '{${managed.join()}}', '{}'),
      ('plain', '{system,carrier}', '{calls:read}', '{}'),
      ('billing', '{system,carrier}', '{billing:write,calls:read}', '{}'),
      ('detour', '{system,carrier}', '{}', '{administrator}'),
      ('detour-2', '{system,carrier}', '{user:read}', '{detour}')`);
    operator = await service.loginAs({ ...system, roles: ['operator'] });
    support = await service.loginAs({ ...system, roles: ['support'] });
    carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
    manager = await service.loginAs({ ...system, roles: ['manager'] });
  });
  afterAll(() => service.close());

  let count = 0;
  type By = Pick<TestLogin, 'token'>;
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const patch = ({ token }: By, url: string, body: object) => service.patch(url, { token, body });
  const create = ({ token }: By, fields: Record<string, unknown>) => {
    const name = `created-${++count}`;
    const body = { name, email: `${name}@example.com`, ...system, ...fields };
    return service.post('/user/create', { token, body });
  };
  const createRole = ({ token }: By, fields: object) =>
    service.post('/role/create', { token, body: { name: `role-${++count}`, user_types: ['system'], ...fields } });
  const changeRole = (by: By, name: string, body: object) => patch(by, `/role/${name}`, body);
  const removeRole = ({ token }: By, name: string) => service.delete(`/role/${name}`, { token });
  /** Sends requests that must be rejected with the code, and must change no role. */
  async function expectAll(code: string, requests: (() => Promise<TestAnswer>)[]): Promise<void> {
    const stored = async () => [
      await service.rows('select * from roles order by name'),
      await service.rows(`select count(*) from events where target_type = 'role'`),
    ];
    const before = await stored();
    for (const [index, request] of requests.entries()) {
      const { status, body } = await request();
      expect([index, status, body.code]).toEqual([index, 403, code]);
    }
    expect(await stored()).toEqual(before);
  }

  describe('that the caller lacks', () => {
    const carrier = { user_type: 'carrier', carrier_id: 'c1' };

    it('is rejected in a new user whose role has a permission that the caller does not hold (Z10)', async () => {
      for (const [by, type, ...roles] of [
        [operator, system, 'administrator'],
        [operator, system, 'auditor'],
        [operator, system, 'operator', 'administrator'],
        [operator, carrier, 'carrier_auditor'],
        [carrierAdministrator, carrier, 'carrier_auditor'],
        [carrierAdministrator, carrier, 'carrier_user', 'carrier_auditor'],
        [manager, system, 'detour'],
        [manager, system, 'detour-2'],
        [manager, system, 'billing'],
      ] satisfies [Login, object, ...string[]][]) {
        const { status, body } = await create(by, { ...type, roles });
        expect([roles, status, body.code]).toEqual([roles, 403, exceeds]);
      }
      // Control: roles that the callers hold or may grant.
      expect((await create(operator, { roles: ['operator'] })).status).toBe(201);
      const own = ['carrier_administrator', 'carrier_user', 'support'];
      expect((await create(carrierAdministrator, { ...carrier, roles: own })).status).toBe(201);
    });

    it('is rejected in single and bulk changes, for added and for removed roles (Z10)', async () => {
      const victim = await service.createUser({ ...system, roles: ['reader'] });
      const [path, all] = [`/user/${victim.user_id}`, `/user/all?user_id=${victim.user_id}`];
      await expectAll(exceeds, [
        () => patch(support, path, { roles: ['operator'] }),
        () => patch(support, path, { roles: ['reader', 'administrator'] }),
        () => patch(support, all, { roles: ['operator'] }),
        () => patch(support, all, { roles_add: ['administrator'] }),
        () => patch(support, '/user/all?role=administrator', { roles_remove: ['administrator'] }),
        () => patch(support, '/user/all?role=administrator&dry_run=true', { roles_add: ['administrator'] }),
        ...['detour', 'detour-2', 'billing'].flatMap((role) => [
          () => patch(manager, path, { roles: [role] }),
          () => patch(manager, all, { roles_add: [role] }),
        ]),
      ]);
      expect(await rowOf(victim.user_id)).toMatchObject({ roles: ['reader'], version: 1 });
      expect((await patch(support, path, { roles: ['support'] })).body.roles).toEqual(['support']);
      // Control: `may_grant` of the caller names the role "detour", so both roles can be granted.
      await createRole(admin, { name: 'granter', may_grant: ['detour'], permissions: managed });
      const granter = await service.loginAs({ ...system, roles: ['granter'] });
      const granted = await patch(granter, path, { roles: ['detour', 'detour-2'] });
      expect(granted.body.roles).toEqual(['detour', 'detour-2']);
    });

    it('is rejected for a wider scope, and for any new System User of a scoped administrator (Z10, Z12)', async () => {
      const carrier_scope = ['c1', 'c2'];
      const scoped = await service.loginAs({ ...system, roles: ['administrator'], carrier_scope });
      const { user_id } = await service.createUser();
      const scopes = [['c1'], [], null].map((own) => ({ carrier_scope: own }));
      for (const fields of [{}, ...scopes, { roles: ['administrator'] }])
        expect([fields, (await create(scoped, fields)).status]).toEqual([fields, 403]);
      for (const wider of [null, ['c3'], ['c1', 'c3']])
        for (const path of [`/user/${user_id}`, `/user/all?user_id=${user_id}`])
          expect((await patch(scoped, path, { carrier_scope: wider })).body.code).toBe(exceeds);
    });
  });

  it('is not possible through a change of a user with more permissions than the caller (Z10)', async () => {
    const above = await service.loginAs({ ...system, roles: ['administrator'] });
    const detour = await service.createUser({ ...system, roles: ['detour-2'] });
    const before = await rowOf(above.user_id);
    const path = `/user/${above.user_id}`;
    const all = `/user/all?user_id=${above.user_id}`;
    const changes = [
      ...[{ email: 'eve@example.com' }, { name: 'eve-was-here' }, { status: 'disabled' }, { roles: [] }],
      ...[{ carrier_scope: [] }, { allowed_ips: ['192.0.2.1'] }, { must_change_password: true }],
      ...[{ attributes: { a: 1 } }, {}],
    ];
    await expectAll('access.protected_user', [
      ...[operator, support].flatMap((by) => changes.map((body) => () => patch(by, path, body))),
      () => service.delete(path, operator),
      () => service.post(`${path}/invite`, operator),
      () => service.delete(`/auth/session/${above.session_id}`, operator),
      () => patch(manager, `/user/${detour.user_id}`, { email: 'eve@example.com' }),
    ]);
    const skipped = [{ user_id: above.user_id, reason: 'access.protected_user' }];
    for (const answer of [
      await patch(operator, all, { status: 'disabled' }),
      await patch(support, all, { status: 'disabled' }),
      await service.delete(all, operator),
    ])
      expect(answer.body).toMatchObject({ matched: 1, changed: 0, skipped });
    expect((await service.delete(`/auth/session/all?user_id=${above.user_id}`, operator)).body.ended).toBe(0);
    expect((await service.delete(`/user/${support.user_id}?purge=true`, operator)).body.code).toBe('access.denied');
    expect(await rowOf(above.user_id)).toEqual(before);
    expect((await service.get('/user', above)).status).toBe(200);
  });

  describe('to oneself', () => {
    it('is rejected for every caller and spelling of the id, as is deleting oneself (Z11, Z13)', async () => {
      // The caller is not the last administrator.
      await service.createUser({ ...system, roles: ['administrator'] });
      for (const login of [admin, operator, support, carrierAdministrator]) {
        const before = await rowOf(login.user_id);
        for (const id of [login.user_id, login.user_id.toUpperCase()]) {
          for (const body of [
            ...[{ roles: ['administrator'] }, { roles: [] }, { status: 'disabled' }, { status: 'active' }],
            ...[{ carrier_scope: null }, { carrier_scope: [] }],
          ])
            expect([body, (await patch(login, `/user/${id}`, body)).status]).toEqual([body, 403]);
          // The role "support" lacks the permission to delete users.
          const code = login === support ? 'access.denied' : 'user.self_protected';
          expect((await service.delete(`/user/${id}`, login)).body.code).toBe(code);
        }
        expect(await rowOf(login.user_id)).toEqual(before);
      }
      for (const body of [{ status: 'disabled' }, { roles: [] }])
        expect((await patch(admin, `/user/${admin.user_id}`, body)).body.code).toBe('user.self_protected');
      const purged = await service.delete(`/user/${admin.user_id}?purge=true`, admin);
      expect(purged.body.code).toBe('user.self_protected');
    });

    it('is skipped in a bulk change that also matches others, as is deleting oneself (Z11, Z13)', async () => {
      const other = await service.createUser({ ...system, carrier_scope: ['c1'] });
      const all = `/user/all?user_id_in=${admin.user_id},${other.user_id}`;
      const one = { matched: 2, changed: 1, skipped: [{ user_id: admin.user_id, reason: 'user.self_protected' }] };
      const before = await rowOf(admin.user_id);
      const changes = [{ roles_add: ['operator'] }, { carrier_scope: ['c2'] }, { roles: ['auditor'] }];
      for (const body of [...changes, { status: 'disabled' }])
        expect((await patch(admin, all, body)).body).toMatchObject(one);
      expect((await service.delete(all, admin)).body).toMatchObject(one);
      expect(await rowOf(admin.user_id)).toEqual(before);
      expect((await service.get('/user', admin)).status).toBe(200);
    });
  });

  describe('through a role', () => {
    it('is rejected in a new role with more permissions than its creator may grant (Z10)', async () => {
      await expectAll(
        exceeds,
        [
          ...[{ permissions: ['*'] }, { permissions: ['user:delete'] }, { permissions: [...managed, 'billing:write'] }],
          ...[{ may_grant: ['administrator'] }, { may_grant: ['billing'] }, { may_grant: ['detour'] }],
          ...[{ may_grant: ['plain', 'detour-2'] }, { name: 'loop', may_grant: ['loop', 'detour-2'] }],
        ].map((fields) => () => createRole(manager, fields)),
      );
      // Control: permissions that the caller holds.
      const may_grant = ['plain', 'manager', 'carrier_user'];
      expect((await createRole(manager, { permissions: managed, may_grant })).status).toBe(201);
    });

    it('is rejected in changes and deletions of a role that grants more than the caller may (Z10)', async () => {
      await expectAll(exceeds, [
        () => changeRole(manager, 'plain', { permissions: ['*'] }),
        () => changeRole(manager, 'plain', { permissions: ['calls:read', 'billing:write'] }),
        () => changeRole(manager, 'plain', { may_grant: ['administrator'] }),
        () => changeRole(manager, 'plain', { may_grant: ['detour-2'] }),
        () => changeRole(manager, 'manager', { permissions: [...managed, 'user:delete'] }),
        () => changeRole(manager, 'manager', { permissions: ['*'] }),
        () => changeRole(manager, 'manager', { may_grant: ['administrator'] }),
        () => changeRole(manager, 'billing', { permissions: ['calls:read'] }),
        () => changeRole(manager, 'billing', { permissions: [] }),
        () => changeRole(manager, 'detour', { may_grant: [] }),
        () => changeRole(manager, 'billing', { description: 'mine' }),
        () => changeRole(manager, 'detour', { user_types: ['carrier'] }),
        () => changeRole(manager, 'billing', {}),
        () => removeRole(manager, 'billing'),
        () => removeRole(manager, 'detour-2'),
      ]);
      for (const permissions of [['calls:read', 'user:read'], ['calls:read']])
        expect((await changeRole(manager, 'plain', { permissions })).status).toBe(200);
      await expectAll('access.denied', [() => changeRole(manager, 'operator', { permissions: managed })]);
    });

    it('is rejected in a change of a role that the caller may only grant (Z10)', async () => {
      const giverRole = { name: 'giver', permissions: ['role:manage'], may_grant: ['billing', 'administrator'] };
      expect((await createRole(admin, giverRole)).status).toBe(201);
      const giver = await service.loginAs({ ...system, roles: ['giver'] });
      await expectAll(exceeds, [
        () => changeRole(giver, 'billing', { permissions: ['billing:write'] }),
        () => removeRole(giver, 'billing'),
        () => createRole(giver, { permissions: ['billing:write'] }),
        () => createRole(giver, { permissions: ['*'] }),
      ]);
      // Control: a new role may name the role in `may_grant`.
      expect((await createRole(giver, { may_grant: ['billing'] })).status).toBe(201);
    });
  });
});
