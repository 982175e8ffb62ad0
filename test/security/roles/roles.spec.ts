import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string };

describe('permissions through roles', () => {
  let service: TestService;
  let admin: TestLogin;
  /** may manage roles and has few other permissions */
  let manager: Login;
  const managed = ['calls:read', 'role:manage', 'role:read', 'user:create', 'user:read', 'user:update'];

  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await make({ name: 'manager', user_types: ['system', 'carrier'], permissions: managed });
    await make({ name: 'detour', user_types: ['system', 'carrier'], may_grant: ['administrator'] });
    await make({
      name: 'detour-2',
      user_types: ['system', 'carrier'],
      permissions: ['user:read'],
      may_grant: ['detour'],
    });
    await make({ name: 'billing', user_types: ['system', 'carrier'], permissions: ['billing:write', 'calls:read'] });
    await make({ name: 'plain', user_types: ['system', 'carrier'], permissions: ['calls:read'] });
    manager = await service.loginAs({ user_type: 'system', roles: ['manager'] });
  });
  afterAll(() => service.close());

  let count = 0;
  const create = (by: TestLogin, body: Record<string, unknown>) =>
    service.post('/role/create', { token: by.token, body: { name: `r${++count}`, user_types: ['system'], ...body } });
  const make = async (body: Record<string, unknown>) => expect((await create(admin, body)).status).toBe(201);
  const change = (by: TestLogin, role: string, body: unknown) =>
    service.patch(`/role/${role}`, { token: by.token, body });
  const outcome = ({ status, body }: TestAnswer) => [status, body?.code];
  const exceeds = [403, 'access.grant_exceeds_own'];
  const denied = [403, 'access.denied'];
  const all = () => service.rows('select * from roles order by name');
  const eventCount = async () => (await service.rows(`select 1 from events where target_type = 'role'`)).length;

  /** Sends requests that must be rejected and must change nothing. */
  async function refusedEach(
    attempts: [title: string, send: () => Promise<TestAnswer>, expected: unknown][],
  ): Promise<void> {
    const [before, events] = [await all(), await eventCount()];
    for (const [title, send, expected] of attempts)
      expect([title, ...outcome(await send())]).toEqual([title, ...(expected as [])]);
    expect([await all(), await eventCount()]).toEqual([before, events]);
  }

  it('rejects a role that grants more than its author could (Z10)', async () => {
    const attempts: Record<string, Record<string, unknown>> = {
      everything: { permissions: ['*'] },
      'a permission that one lacks': { permissions: ['user:delete'] },
      'one among those that one holds': { permissions: [...managed, 'billing:write'] },
      'the role of administrators to give': { may_grant: ['administrator'] },
      'a role with a permission that one lacks': { may_grant: ['billing'] },
      'a role that leads there': { may_grant: ['detour'] },
      'a role that leads there in two steps': { may_grant: ['plain', 'detour-2'] },
      'itself and a role that leads there': { name: 'loop', may_grant: ['loop', 'detour-2'] },
    };
    await refusedEach(Object.entries(attempts).map(([title, body]) => [title, () => create(manager, body), exceeds]));
    // Control: permissions that the callers hold.
    expect(
      (await create(manager, { permissions: managed, may_grant: ['plain', 'manager', 'carrier_user'] })).status,
    ).toBe(201);
  });

  it('rejects changes and deletions of a role that grants more than the caller could (Z10)', async () => {
    await refusedEach([
      ['adding everything', () => change(manager, 'plain', { permissions: ['*'] }), exceeds],
      [
        'adding what one lacks',
        () => change(manager, 'plain', { permissions: ['calls:read', 'billing:write'] }),
        exceeds,
      ],
      ['adding a role to give', () => change(manager, 'plain', { may_grant: ['administrator'] }), exceeds],
      ['adding a detour', () => change(manager, 'plain', { may_grant: ['detour-2'] }), exceeds],
      [
        'adding to the role that one has',
        () => change(manager, 'manager', { permissions: [...managed, 'user:delete'] }),
        exceeds,
      ],
      ['everything to the role that one has', () => change(manager, 'manager', { permissions: ['*'] }), exceeds],
      [
        'a role to give to the role that one has',
        () => change(manager, 'manager', { may_grant: ['administrator'] }),
        exceeds,
      ],
      ['taking what one lacks from others', () => change(manager, 'billing', { permissions: ['calls:read'] }), exceeds],
      ['all at once from others', () => change(manager, 'billing', { permissions: [] }), exceeds],
      ['taking a role to give from others', () => change(manager, 'detour', { may_grant: [] }), exceeds],
      ['describing a role above', () => change(manager, 'billing', { description: 'mine' }), exceeds],
      ['opening a role above', () => change(manager, 'detour', { user_types: ['carrier'] }), exceeds],
      ['changing nothing of a role above', () => change(manager, 'billing', {}), exceeds],
      ['deleting a role above', () => service.delete('/role/billing', manager), exceeds],
      ['deleting a detour', () => service.delete('/role/detour-2', manager), exceeds],
    ]);
    expect((await change(manager, 'plain', { permissions: ['calls:read', 'user:read'] })).status).toBe(200);
    expect((await change(manager, 'plain', { permissions: ['calls:read'] })).status).toBe(200);
  });

  it('checks may_grant transitively, both to grant a role and to change a user who has it (Z10)', async () => {
    const victim = await service.createUser({ user_type: 'system', roles: [] });
    const above = await service.createUser({ user_type: 'system', roles: ['detour-2'] });
    const { token } = manager;
    for (const role of ['detour', 'detour-2', 'billing']) {
      const body = { name: `n${++count}`, email: `n${count}@example.com`, user_type: 'system', roles: [role] };
      expect(outcome(await service.post('/user/create', { token, body }))).toEqual(exceeds);
      expect(outcome(await service.patch(`/user/${victim.user_id}`, { token, body: { roles: [role] } }))).toEqual(
        exceeds,
      );
      expect(
        outcome(await service.patch(`/user/all?user_id=${victim.user_id}`, { token, body: { roles_add: [role] } })),
      ).toEqual(exceeds);
    }
    expect(
      outcome(await service.patch(`/user/${above.user_id}`, { token, body: { email: 'eve@example.com' } })),
    ).toEqual([403, 'access.protected_user']);
    // Control: a role that names it makes it grantable.
    await make({ name: 'granter', may_grant: ['detour'], permissions: managed });
    const granter = await service.loginAs({ user_type: 'system', roles: ['granter'] });
    const allowed = await service.patch(`/user/${victim.user_id}`, {
      token: granter.token,
      body: { roles: ['detour', 'detour-2'] },
    });
    expect(allowed.body.roles).toEqual(['detour', 'detour-2']);
  });

  it('does not let a caller change a role that they may only grant (Z10)', async () => {
    await make({ name: 'giver', permissions: ['role:manage', 'role:read'], may_grant: ['billing', 'administrator'] });
    const giver = await service.loginAs({ user_type: 'system', roles: ['giver'] });
    await refusedEach([
      ['changing it', () => change(giver, 'billing', { permissions: ['billing:write'] }), exceeds],
      ['deleting it', () => service.delete('/role/billing', giver), exceeds],
      ['putting its permissions into another', () => create(giver, { permissions: ['billing:write'] }), exceeds],
      ['everything', () => create(giver, { permissions: ['*'] }), exceeds],
    ]);
    // A role that the caller may grant can be granted by others through may_grant.
    expect((await create(giver, { may_grant: ['billing'] })).status).toBe(201);
  });

  it('rejects changes of built-in roles, for administrators too', async () => {
    const names = ['administrator', 'operator', 'auditor', 'carrier_administrator', 'carrier_user'];
    await refusedEach(
      names.flatMap((name) => [
        [`${name} changed`, () => change(admin, name, { permissions: [] }), denied],
        [`${name} described`, () => change(admin, name, { description: '' }), denied],
        [
          `${name} changed beside the second factor`,
          () => change(admin, name, { second_factor_required_from: null, permissions: [] }),
          denied,
        ],
        [`${name} deleted`, () => service.delete(`/role/${name}`, admin), denied],
        [`${name} by another manager`, () => change(manager, name, { permissions: managed }), denied],
      ]),
    );
  });

  it('rejects role changes by Carrier Users and scoped System Users with any permissions (Z3)', async () => {
    const logins = [
      await service.loginAs({ roles: ['manager'] }),
      await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: ['c1'] }),
      await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: [] }),
      await service.loginAs({ user_type: 'system', roles: ['auditor'] }),
    ];
    for (const login of logins) {
      await refusedEach([
        ['create', () => create(login, { permissions: [] }), denied],
        ['create wrongly', () => create(login, { name: '', nonsense: true }), denied],
        ['change', () => change(login, 'plain', { description: 'x' }), denied],
        ['change wrongly', () => change(login, 'plain', { permissions: null }), denied],
        ['change one that is not there', () => change(login, 'no-such-role', {}), denied],
        ['delete', () => service.delete('/role/plain', login), denied],
      ]);
    }
    expect((await service.get('/role/plain', logins[1])).status).toBe(200);
  });

  it('shows role events only to users without a scope (Z4)', async () => {
    await make({ name: 'watcher', user_types: ['system', 'carrier'], permissions: ['audit:read'] });
    const fields = { roles: ['watcher'] };
    const seen = async (login: TestLogin, query: string) =>
      (await service.get(`/audit/list?${query}`, login)).body.items.length;
    const unscoped = await service.loginAs({ ...fields, user_type: 'system' });
    for (const query of [
      'target_type=role',
      'event_type=role.created',
      `event_type=role.created&actor_id=${admin.user_id}`,
    ]) {
      expect(await seen(unscoped, query)).toBeGreaterThan(0);
      for (const scope of [
        { user_type: 'system', carrier_scope: ['c1'] },
        { user_type: 'system', carrier_scope: [] },
        {},
      ])
        expect(await seen(await service.loginAs({ ...fields, ...scope }), query)).toBe(0);
    }
  });

  it.each([
    ...['list', 'create', 'List', 'CREATE', 'lIsT'],
    ...[
      '.',
      '..',
      '...',
      '.hidden',
      '../administrator',
      'a/b',
      'a%2fb',
      'a b',
      ' administrator',
      'administrator ',
      'administrator\n',
      'a\0',
    ],
    ...[
      'administratоr',
      'ａdministrator',
      'adminıstrator',
      'admin\u200Bistrator',
      'administrator\u202E',
      'roĺe',
      'ﬁnance',
      '*',
      'a:b',
      'a,b',
      "a'b",
    ],
  ])('rejects %j as the name of a role', async (name) => {
    const before = await all();
    const answer = await create(admin, { name });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, '/name']);
    expect(await all()).toEqual(before);
  });

  it('accepts unusual valid names, which can be read, granted and deleted', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'null', '-', '0', 'lists', 'created', 'a..b', 'x.']) {
      await make({ name, permissions: [] });
      expect((await service.get(`/role/${name}`, admin)).body.name).toBe(name);
      const user = await service.createUser({ user_type: 'system', roles: [name] });
      expect((await service.delete(`/role/${name}`, admin)).body.code).toBe('role.in_use');
      await service.delete(`/user/${user.user_id}`, admin);
      expect((await service.delete(`/role/${name}`, admin)).status).toBe(204);
    }
    for (const name of ['Administrator', 'plain%20', 'unknown', 'a'.repeat(5_000)])
      expect((await service.get(`/role/${name}`, admin)).status).toBe(404);
  });

  it.each([
    ...[
      'user:*',
      '*:*',
      '*:read',
      '**',
      'USER:READ',
      'User:read',
      'user',
      'user:',
      ':read',
      'user:read ',
      ' user:read',
      'user:read\n',
    ],
    ...[
      'user:read:all',
      'user.read',
      'üser:read',
      'usеr:read',
      'user：read',
      '',
      `${'a'.repeat(65)}:b`,
      `a:${'b'.repeat(65)}`,
    ],
  ])('rejects %j as a permission (Z20)', async (permission) => {
    for (const answer of [
      await create(admin, { permissions: [permission] }),
      await change(admin, 'plain', { permissions: [permission] }),
    ])
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, '/permissions']);
  });
});
