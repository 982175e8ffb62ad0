import { type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string; email: string };

describe('granting and removing permissions', () => {
  let service: TestService;
  let operator: Login;
  let support: Login;
  let carrierAdministrator: Login;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('support', '{system,carrier}', '{user:read,user:update}', '{}'),
      ('carrier_auditor', '{carrier}', '{user:read,audit:read}', '{}'),
      ('reader', '{system,carrier}', '{user:read}', '{}'),
      ('odd', '{system,carrier}', '{}', '{}')`);
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    support = await service.loginAs({ user_type: 'system', roles: ['support'] });
    carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];

  describe('granting permissions that the caller lacks', () => {
    const create = (by: TestLogin, fields: Record<string, unknown>) => {
      const name = `z10-${Math.random().toString(36).slice(2)}`;
      return service.post('/user/create', {
        token: by.token,
        body: { name, email: `${name}@example.com`, user_type: 'system', ...fields },
      });
    };
    const carrier = { user_type: 'carrier', carrier_id: 'c1' };

    it('rejects a new user with a role whose permissions the caller does not all hold (Z10)', async () => {
      for (const [by, fields] of [
        [operator, { roles: ['administrator'] }],
        [operator, { roles: ['auditor'] }],
        [operator, { roles: ['operator', 'administrator'] }],
        [operator, { ...carrier, roles: ['carrier_auditor'] }],
        [carrierAdministrator, { ...carrier, roles: ['carrier_auditor'] }],
        [carrierAdministrator, { ...carrier, roles: ['carrier_user', 'carrier_auditor'] }],
      ] as const) {
        const answer = await create(by, fields);
        expect([fields, answer.status, answer.body.code]).toEqual([fields, 403, 'access.grant_exceeds_own']);
      }
      // Control: roles that the callers hold or may grant.
      expect((await create(operator, { roles: ['operator'] })).status).toBe(201);
      expect(
        (
          await create(carrierAdministrator, {
            ...carrier,
            roles: ['carrier_administrator', 'carrier_user', 'support'],
          })
        ).status,
      ).toBe(201);
    });

    it('rejects granting or removing a role beyond the caller for one user or many (Z10)', async () => {
      const victim = await service.createUser({ user_type: 'system', roles: ['reader'] });
      for (const [method, path, body] of [
        ['PATCH', `/user/${victim.user_id}`, { roles: ['operator'] }],
        ['PATCH', `/user/${victim.user_id}`, { roles: ['reader', 'administrator'] }],
        ['PATCH', `/user/all?user_id=${victim.user_id}`, { roles: ['operator'] }],
        ['PATCH', `/user/all?user_id=${victim.user_id}`, { roles_add: ['administrator'] }],
        ['PATCH', `/user/all?role=administrator`, { roles_remove: ['administrator'] }],
        ['PATCH', `/user/all?role=administrator&dry_run=true`, { roles_add: ['administrator'] }],
      ] as const) {
        const answer = await service.send(method, path, { token: support.token, body });
        expect([path, body, answer.status, answer.body.code]).toEqual([path, body, 403, 'access.grant_exceeds_own']);
      }
      expect(await rowOf(victim.user_id)).toMatchObject({ roles: ['reader'], version: 1 });
      const allowed = await service.patch(`/user/${victim.user_id}`, {
        token: support.token,
        body: { roles: ['support'] },
      });
      expect(allowed.body.roles).toEqual(['support']);
    });

    it('rejects changes of address, status, roles, sessions and invitation of a stronger user (Z10)', async () => {
      const above = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const before = await rowOf(above.user_id);
      const changes = [
        { email: 'eve@example.com' },
        { name: 'eve-was-here' },
        { status: 'disabled' },
        { roles: [] },
        { carrier_scope: [] },
        { allowed_ips: ['192.0.2.1'] },
        { must_change_password: true },
        { attributes: { a: 1 } },
        {},
      ];
      for (const by of [operator, support]) {
        for (const body of changes) {
          const answer = await service.patch(`/user/${above.user_id}`, { token: by.token, body });
          expect([body, answer.status, answer.body.code]).toEqual([body, 403, 'access.protected_user']);
        }
        const bulk = await service.patch(`/user/all?user_id=${above.user_id}`, {
          token: by.token,
          body: { status: 'disabled' },
        });
        expect(bulk.body).toMatchObject({
          matched: 1,
          changed: 0,
          skipped: [{ user_id: above.user_id, reason: 'access.protected_user' }],
        });
      }
      const { token } = operator;
      expect((await service.delete(`/user/${above.user_id}`, { token })).body.code).toBe('access.protected_user');
      expect((await service.delete(`/user/all?user_id=${above.user_id}`, { token })).body.changed).toBe(0);
      expect((await service.post(`/user/${above.user_id}/invite`, { token })).body.code).toBe('access.protected_user');
      expect((await service.delete(`/auth/session/${above.session_id}`, { token })).body.code).toBe(
        'access.protected_user',
      );
      expect((await service.delete(`/auth/session/all?user_id=${above.user_id}`, { token })).body.ended).toBe(0);
      expect((await service.delete(`/user/${support.user_id}?purge=true`, { token })).body.code).toBe('access.denied');
      expect(await rowOf(above.user_id)).toEqual(before);
      expect((await service.get('/user', above)).status).toBe(200);
    });

    it('rejects System Users and wider scopes from a scoped administrator (Z10, Z12)', async () => {
      const scoped = await service.loginAs({
        user_type: 'system',
        roles: ['administrator'],
        carrier_scope: ['c1', 'c2'],
      });
      for (const fields of [
        {},
        { carrier_scope: ['c1'] },
        { carrier_scope: [] },
        { carrier_scope: null },
        { roles: ['administrator'] },
      ]) {
        expect([fields, (await create(scoped, fields)).status]).toEqual([fields, 403]);
      }
      const user = await service.createUser();
      for (const carrier_scope of [null, ['c3'], ['c1', 'c3']]) {
        for (const path of [`/user/${user.user_id}`, `/user/all?user_id=${user.user_id}`]) {
          const answer = await service.patch(path, { token: scoped.token, body: { carrier_scope } });
          expect([path, answer.body.code]).toEqual([path, 'access.grant_exceeds_own']);
        }
      }
    });
  });

  describe('granting yourself permissions', () => {
    const changes = [
      { roles: ['administrator'] },
      { roles: [] },
      { status: 'disabled' },
      { status: 'active' },
      { carrier_scope: null },
      { carrier_scope: [] },
    ];

    it('rejects a change of the own permissions by any caller, in any spelling of the id (Z11)', async () => {
      for (const login of [service.admin, operator, support, carrierAdministrator]) {
        const before = await rowOf(login.user_id);
        for (const body of changes) {
          for (const id of [login.user_id, login.user_id.toUpperCase()]) {
            const answer = await service.patch(`/user/${id}`, { token: login.token, body });
            expect([body, answer.status]).toEqual([body, 403]);
          }
        }
        expect(await rowOf(login.user_id)).toEqual(before);
      }
    });

    it('skips the caller in a bulk change that matches the caller among others (Z11)', async () => {
      const { admin } = service;
      const other = await service.createUser({ user_type: 'system', carrier_scope: ['c1'] });
      const ids = `user_id_in=${admin.user_id},${other.user_id}`;
      for (const body of [
        { roles_add: ['operator'] },
        { carrier_scope: ['c2'] },
        { status: 'disabled' },
        { roles: ['auditor'] },
      ]) {
        const before = await rowOf(admin.user_id);
        const answer = await service.patch(`/user/all?${ids}`, { token: admin.token, body });
        expect(answer.body).toMatchObject({
          matched: 2,
          changed: 1,
          skipped: [{ user_id: admin.user_id, reason: 'user.self_protected' }],
        });
        expect(await rowOf(admin.user_id)).toEqual(before);
      }
      const mine = await service.patch(`/user/all?user_id=${support.user_id}`, {
        token: support.token,
        body: { roles_add: ['reader'] },
      });
      expect(mine.body.skipped).toEqual([{ user_id: support.user_id, reason: 'user.self_protected' }]);
    });
  });
});
