import { inSeconds } from '../support/data/keys';
import { codeOf, type TestAnswer, type TestLogin, TestService } from '../support/service';

const exceeds = 'access.grant_exceeds_own';
const system = { user_type: 'system' };
/** Users who never log in need no hash. */
const noPassword = { password: undefined, must_change_password: undefined };

type Login = TestLogin & { name: string };
type By = Pick<TestLogin, 'token'>;

describe('roles', () => {
  let service: TestService;
  let admin: TestLogin;
  let count = 0;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  const newName = () => `role-${++count}`;
  const create = (body: Record<string, unknown> = {}, { token }: By = admin, query = '') =>
    service.post(`/role/create${query}`, { token, body: { name: newName(), user_types: ['carrier'], ...body } });
  /** Creates a role for both types of users; any field can be given. */
  const add = async (fields: Record<string, unknown> = {}): Promise<string> => {
    const answer = await create({ user_types: ['system', 'carrier'], ...fields });
    expect([fields, answer.status]).toEqual([fields, 201]);
    return answer.body.name;
  };
  const get = (name: string) => service.get(`/role/${name}`, admin);
  const ifMatch = (version?: string): Record<string, string> => (version === undefined ? {} : { 'if-match': version });
  const change = (name: string, body: unknown, version?: string, { token }: By = admin) =>
    service.patch(`/role/${name}`, { token, body, headers: ifMatch(version) });
  const remove = (name: string, version?: string, { token }: By = admin) =>
    service.delete(`/role/${name}`, { token, headers: ifMatch(version) });
  /** Returns the status, with the ETag or the code of the error. */
  const outcome = ({ status, headers, body }: TestAnswer) => `${status} ${headers['etag'] ?? body?.code ?? ''}`.trim();
  const userOf = (roles: string[], fields = {}) => service.createUser({ roles, ...noPassword, ...fields });
  const deleteUser = async ({ user_id }: { user_id: string }) =>
    expect((await service.delete(`/user/${user_id}`, admin)).status).toBe(204);
  const restoreUser = ({ user_id }: { user_id: string }) => service.post(`/user/${user_id}/restore`, admin);
  const eventsOf = (name: string) =>
    service.rows(
      `
        select event_type, target_type, actor_id, carrier_id, changes
        from events
        where target_type = 'role' and changes->'name' @> any(array[$1::jsonb, $2::jsonb])
        order by event_id`,
      [JSON.stringify({ after: name }), JSON.stringify({ before: name })],
    );
  const stored = async () => [
    await service.rows('select * from roles order by name'),
    await service.rows(`select count(*) from events where target_type = 'role'`),
  ];

  it('are created, read, changed and deleted, each with a version and an event', async () => {
    const name = newName();
    const lists = { user_types: ['system', 'carrier'], permissions: ['calls:read', 'billing-2:read_all'] };
    const made = await create({ name, ...lists, may_grant: [name, 'carrier_user'], description: 'Looks at calls' });
    const role = {
      ...{ name, user_types: ['carrier', 'system'], permissions: ['billing-2:read_all', 'calls:read'] },
      ...{ may_grant: ['carrier_user', name], second_factor_required_from: null },
    };
    expect([outcome(made), made.headers['location']]).toEqual(['201 "1"', `/role/${name}`]);
    expect(made.body).toEqual({ ...role, description: 'Looks at calls', built_in: false, version: 1 });
    const read = await get(name);
    expect([outcome(read), read.body]).toEqual(['200 "1"', made.body]);
    expect((await service.get('/role/list', admin)).body.items).toContainEqual(made.body);
    // Changes without effect.
    for (const body of [{}, { permissions: [...lists.permissions].reverse(), user_types: ['carrier', 'system'] }])
      expect(outcome(await change(name, body, '"1"'))).toBe('200 "1"');
    const changed = await change(name, { description: null, permissions: ['calls:read'] });
    expect(outcome(changed)).toBe('200 "2"');
    expect(changed.body).toEqual({ ...made.body, description: '', permissions: ['calls:read'], version: 2 });
    expect((await service.get('/role/list', admin)).body.items).toContainEqual(changed.body);
    expect((await remove(name)).status).toBe(204);
    for (const gone of [await get(name), await change(name, {}, '"1"'), await remove(name)])
      expect(codeOf(gone)).toBe('404 role.not_found');

    const { permissions } = role;
    const final = { ...role, description: '', permissions: ['calls:read'] };
    const all = (side: 'before' | 'after', fields: object) =>
      Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, { [side]: value as unknown }]));
    const changes = {
      name: { before: name, after: name },
      description: { before: 'Looks at calls', after: '' },
      permissions: { before: permissions, after: ['calls:read'] },
    };
    const events = [
      { event_type: 'role.created', changes: all('after', { ...role, description: 'Looks at calls' }) },
      { event_type: 'role.changed', changes },
      { event_type: 'role.deleted', changes: all('before', final) },
    ];
    const common = { target_type: 'role', actor_id: admin.user_id, carrier_id: null };
    expect(await eventsOf(name)).toEqual(events.map((event) => ({ ...common, ...event })));
  });

  it('are neither changed nor deleted in a version that another editor replaced (B16)', async () => {
    const name = await add({ permissions: ['user:read'] });
    expect(outcome(await change(name, { permissions: ['user:read', 'tour:plan'] }, '"1"'))).toBe('200 "2"');
    const late = { permissions: ['user:read', 'tour:close'] };
    expect(outcome(await change(name, late, '"1"'))).toBe('412 role.version_mismatch');
    expect(outcome(await remove(name, '"1"'))).toBe('412 role.version_mismatch');
    expect((await get(name)).body).toMatchObject({ permissions: ['tour:plan', 'user:read'], version: 2 });
    const answers = await Promise.all(['one', 'two'].map((description) => change(name, { description }, '"2"')));
    expect(answers.map(outcome).sort()).toEqual(['200 "3"', '412 role.version_mismatch']);
    const user = await userOf([name]);
    expect(outcome(await remove(name, '"2"'))).toBe('412 role.version_mismatch');
    expect(outcome(await remove(name, '*'))).toBe('409 role.in_use');
    await deleteUser(user);
    expect((await remove(name, '"1", "3"')).status).toBe(204);

    const required = { second_factor_required_from: '2030-01-01T00:00:00Z' };
    const etag = String((await get('auditor')).headers['etag']);
    expect((await change('auditor', required, etag)).status).toBe(200);
    expect(outcome(await change('auditor', required, etag))).toBe('412 role.version_mismatch');
  });

  const long = (length: number) => 'a'.repeat(length);
  const wrongNames = [
    ...['.', '..', '...', '.hidden', '../administrator', 'a/b', 'a%2fb', 'a b', ' administrator', 'administrator '],
    ...['administrator\n', 'administratоr', 'ａdministrator', 'adminıstrator', 'admin\u200Bistrator'],
    ...['administrator\u202E', 'rôle', 'roĺe', 'ﬁnance', '*', 'a:b', 'a,b', "a'b"],
  ];
  const wrongPermissions = [
    ...['user:*', '*:*', '*:read', '**', 'USER:READ', 'User:read', 'user', 'user:', ':read', 'user:read '],
    ...[' user:read', 'user:read\n', 'user:read:all', 'user.read', 'üser:read', 'usеr:read', 'user：read', ''],
    ...[`${long(65)}:b`, `a:${long(65)}`],
  ];

  it.each<[string, unknown[], string]>([
    ['name', wrongNames, 'field.malformed'],
    ['name', ['list', 'create', 'List', 'CREATE', 'lIsT'], 'field.not_allowed'],
    ['name', [''], 'field.too_short'],
    ['name', [long(65)], 'field.too_long'],
    ['permissions', wrongPermissions.map((permission) => [permission]), 'field.malformed'],
    ['permissions', [null], 'field.wrong_type'],
    ['permissions', [['a:b', 'a:b']], 'field.malformed'],
    ['permissions', [Array.from({ length: 201 }, (_, at) => `a:b${at}`)], 'field.too_many'],
    ['description', [long(501)], 'field.too_long'],
    ['user_types', [[]], 'field.too_few'],
    ['user_types', [['carrier', 'carrier']], 'field.malformed'],
    ['user_types', [['admin']], 'field.not_allowed'],
    ['may_grant', [['unknown-role'], ['Carrier_user']], 'field.not_allowed'],
    ['may_grant', [Array.from({ length: 51 }, (_, at) => `r${at}`)], 'field.too_many'],
    ['built_in', [true], 'field.unknown'],
  ])('reject an invalid %s (case %#) at their creation and in a change (Z20)', async (field, values, code) => {
    const name = await add();
    const before = await stored();
    for (const value of values)
      for (const [how, { status, body }] of [
        ['create', await create({ [field]: value })],
        ['change', await change(name, { [field]: value })],
      ] as const) {
        const wanted = { pointer: `/${field}`, code: how === 'change' && field === 'name' ? 'field.unknown' : code };
        expect([how, value, status, body.errors]).toMatchObject([how, value, 400, [wanted]]);
      }
    expect(await stored()).toEqual(before);
  });

  it('have any name and as many values as documented', async () => {
    const permissions = Array.from({ length: 200 }, (_, at) => `${long(61)}${100 + at}:${long(64)}`);
    const largest = await add({ name: `${'x'.repeat(62)}.-`, permissions, description: '😀'.repeat(500) });
    expect((await get(largest)).body.permissions).toEqual(permissions);
    for (const name of '__proto__ constructor toString null - 0 lists created a..b x.'.split(' ')) {
      await add({ name });
      expect((await get(name)).body.name).toBe(name);
      const user = await userOf([name]);
      expect(codeOf(await remove(name))).toBe('409 role.in_use');
      await deleteUser(user);
      expect((await remove(name)).status).toBe(204);
    }
    for (const name of ['Administrator', 'plain%20', 'unknown', long(5_000)])
      expect((await get(name)).status).toBe(404);
  });

  it('reject a taken name in any case', async () => {
    const name = await add();
    for (const taken of [name, name.toUpperCase(), 'administrator', 'Administrator', 'CARRIER_user'])
      expect(codeOf(await create({ name: taken }))).toBe('409 role.name_taken');
    const same = newName();
    const answers = await Promise.all([same, same.toUpperCase(), same].map((one) => create({ name: one })));
    expect(answers.map(codeOf).sort()).toEqual(['201', '409 role.name_taken', '409 role.name_taken']);
  });

  it('are not changed or deleted if they are built in, except for the second-factor requirement', async () => {
    const before = await stored();
    for (const name of ['administrator', 'operator', 'auditor', 'carrier_administrator', 'carrier_user'])
      for (const answer of [
        await change(name, { permissions: [] }),
        await change(name, { description: '' }),
        await change(name, { second_factor_required_from: null, permissions: [] }),
        await remove(name),
      ])
        expect([name, codeOf(answer)]).toEqual([name, '403 access.denied']);
    expect(await stored()).toEqual(before);
  });

  it('are changed by no Carrier User and no scoped System User, with any permissions (Z3)', async () => {
    const name = await add({ permissions: ['role:manage', 'role:read'] });
    const administrator = { ...system, roles: ['administrator'] };
    const scoped = await service.loginAs({ ...administrator, carrier_scope: ['c1'] });
    const scopedToNone = await service.loginAs({ ...administrator, carrier_scope: [] });
    const logins = [scoped, scopedToNone, await service.loginAs({ roles: [name] })];
    const before = await stored();
    for (const login of logins)
      for (const answer of [
        await create({ name: '', nonsense: true }, login),
        await change(name, { description: 'x' }, undefined, login),
        await change('no-such-role', {}, undefined, login),
        await remove(name, undefined, login),
      ])
        expect(codeOf(answer)).toBe('403 access.denied');
    expect(await stored()).toEqual(before);
    expect((await service.get(`/role/${name}`, scoped)).status).toBe(200);
  });

  it('are granted only by their exact name (Z17)', async () => {
    const role = await add();
    const user = await userOf([role]);
    const strange = ['superadmin', '', ' ', 'Administrator', 'administrator ', '*', 'user:read', '__proto__', long(65)];
    const wrong = [
      ...strange.map((name) => [name]),
      [999],
      [null],
      [[role]],
      [{}],
      [role, role],
      role,
      null,
      {},
      strange,
    ];
    const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'strange', email: 'strange@example.com' };
    const bulk = `/user/all?user_id=${user.user_id}`;
    for (const roles of wrong)
      for (const [method, path, body] of [
        ['POST', '/user/create', { ...fields, roles }],
        ['PATCH', `/user/${user.user_id}`, { roles }],
        ...['roles', 'roles_add', 'roles_remove'].map((field) => ['PATCH', bulk, { [field]: roles }] as const),
      ] as const) {
        const answer = await service.send(method, path, { token: admin.token, body });
        expect([path, body, codeOf(answer)]).toEqual([path, body, '400 request.invalid']);
      }
    const [row] = await service.rows('select roles, version from users where user_id = $1', [user.user_id]);
    expect(row).toEqual({ roles: [role], version: 1 });
  });

  it('allow an operation, and can be granted, only with the exact permission or * (Z20)', async () => {
    const [odd, support] = [await add(), await add({ permissions: ['user:read', 'user:update'] })];
    const login = await service.loginAs({ ...system, roles: [odd] });
    const granter = await service.loginAs({ ...system, roles: [support] });
    const victim = await userOf([]);
    // By SQL, because the API rejects these permissions.
    const set = (...permissions: string[]) =>
      service.rows('update roles set permissions = $1 where name = $2', [permissions, odd]);
    const open = async () => (await service.get('/user/list?count=none', login)).status;
    const grant = async () => {
      const body = { roles: [odd] };
      const { status } = await service.patch(`/user/${victim.user_id}`, { token: granter.token, body });
      await service.rows(`update users set roles = '{}' where user_id = $1`, [victim.user_id]);
      return status;
    };
    const nearMisses = [
      ...['user:*', 'user.*', 'USER:READ', 'user:readx', 'user:rea', 'user', 'user:', ':read', 'user:read ', ''],
      ...[' user:read', 'user:read,user:update', 'user:read:all', '**', '*:*', '*:read', 'user_read', 'constructor'],
    ];
    for (const [permissions, opened, granted] of [
      ...nearMisses.map((permission) => [[permission], 403, 403] as const),
      [['user:read'], 200, 200],
      [['*'], 200, 403],
      [['user:update'], 403, 200],
      [['audit:read'], 403, 403],
      [[], 403, 200],
    ] as const) {
      await set(...permissions);
      expect([permissions, await open(), await grant()]).toEqual([permissions, opened, granted]);
    }
  });

  describe('in use', () => {
    it('are not deleted while another role names them', async () => {
      const name = await add();
      const other = await add({ may_grant: [name] });
      expect(codeOf(await remove(name))).toBe('409 role.in_use');
      await change(other, { may_grant: [] });
      await change(name, { may_grant: [name] });
      expect((await remove(name)).status).toBe(204);
    });

    it('are neither deleted nor closed to the type of their users, except for deleted users', async () => {
      const [open, name] = [await add(), await add()];
      const user = await userOf([name, 'carrier_user', open]);
      for (const closing of [await change(open, { user_types: ['system'] }), await remove(name)])
        expect(codeOf(closing)).toBe('409 role.in_use');
      expect((await change(open, { user_types: ['carrier'] })).status).toBe(200);
      await deleteUser(user);
      expect((await change(open, { user_types: ['system'] })).status).toBe(200);
      expect((await remove(name)).status).toBe(204);
      const restored = await restoreUser(user);
      expect([restored.status, restored.body.roles]).toEqual([200, ['carrier_user']]);
    });
  });

  describe('with unknown permissions', () => {
    const make = {
      role: (permissions: string[], query = '') => create({ permissions }, admin, query),
      key: (permissions: string[], query = '') => {
        const body = { name: 'machine', permissions, expires_at: inSeconds(600) };
        return service.post(`/auth/key/create${query}`, { token: admin.token, body });
      },
    };
    const suggestions = ({ status, body }: TestAnswer) => [
      status,
      ...(body.errors ?? []).map(({ code, params }: { code: string; params: Record<string, string> }) => {
        return `${code}: ${params['permission']}, not ${params['did_you_mean']}`;
      }),
    ];
    const refused = (wrong: string, right: string) => [400, `permission.unknown: ${wrong}, not ${right}`];

    it('are rejected in a new role or API key if they are probably misspelt, with a suggestion (Z40)', async () => {
      for (const [wrong, right] of Object.entries({
        ...{ 'user:raed': 'user:read', 'user:read-deleted': 'user:read_deleted' },
        ...{ 'session:revok': 'session:revoke', 'token:inspect': 'token:introspect' },
      })) {
        expect(suggestions(await make.role([wrong, 'user:read']))).toEqual(refused(wrong, right));
        // The permissions of this service are a closed list, which `new_prefix` does not extend.
        expect(suggestions(await make.role([wrong], '?new_prefix=true'))).toEqual(refused(wrong, right));
      }
      // A module name one edit from a module of the service can be confirmed.
      for (const [wrong, right] of Object.entries({
        ...{ 'usr:read': 'user:read', 'users:read': 'user:read' },
        ...{ 'rule:manage': 'role:manage', 'email:manage': 'mail:manage' },
      }))
        for (const by of [make.role, make.key]) {
          const answer = await by([wrong]);
          expect(suggestions(answer)).toEqual(refused(wrong, right));
          for (const text of [`Did you mean ${right}?`, 'new_prefix=true'])
            expect(answer.body.errors[0].detail).toContain(text);
          expect((await by([wrong], '?new_prefix=true')).status).toBe(201);
          expect(suggestions(await by([wrong], '?new_prefix=false'))).toEqual(refused(wrong, right));
        }
      const several = await make.key(['user:raed', 'usr:read', 'billing:read']);
      expect(suggestions(several)).toEqual([...refused('user:raed', 'user:read'), refused('usr:read', 'user:read')[1]]);
      expect((await make.role(['billing:read', 'uzers:read', 'constructor:read', '*'])).status).toBe(201);
      expect((await make.role(['a:b'], '?new_prefix=maybe')).body.errors[0].parameter).toBe('new_prefix');
    });

    it('are rejected in a change, but not if the role already has them (Z40)', async () => {
      await service.rows(
        `insert into roles (name, user_types, permissions) values ('legacy', '{system}', '{user:raed,users:read}')`,
      );
      const set = async (permissions: string[], query = '') =>
        suggestions(await change(`legacy${query}`, { permissions }));
      expect(await set(['user:raed', 'users:read', 'user:delet'])).toEqual(refused('user:delet', 'user:delete'));
      expect(await set(['usr:read'])).toEqual(refused('usr:read', 'user:read'));
      expect(await set(['user:raed', 'users:read', 'tour:plan'])).toEqual([200]);
      expect(await set(['usr:read'], '?new_prefix=true')).toEqual([200]);
      expect(await set(['usr:read', 'user:raed'])).toEqual(refused('user:raed', 'user:read'));
    });
  });

  describe('granting permissions', () => {
    let operator: Login;
    /** a System User with `user:read` and `user:update` */
    let support: Login;
    let carrierAdministrator: Login;
    /** may manage roles and has few other permissions */
    let manager: Login;
    const managed = ['calls:read', 'role:manage', 'role:read', 'user:create', 'user:read', 'user:update'];
    beforeAll(async () => {
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

    const rowOf = async (user_id: string) =>
      (await service.rows('select * from users where user_id = $1', [user_id]))[0];
    const patch = ({ token }: By, url: string, body: object) => service.patch(url, { token, body });
    const createUser = ({ token }: By, fields: Record<string, unknown>) => {
      const name = newName();
      const body = { name, email: `${name}@example.com`, ...system, ...fields };
      return service.post('/user/create', { token, body });
    };
    const createRole = (by: By, fields: object) => create({ user_types: ['system'], ...fields }, by);
    const changeRole = (by: By, name: string, body: object) => change(name, body, undefined, by);
    const removeRole = (by: By, name: string) => remove(name, undefined, by);
    /** Sends requests that must be rejected with the code, and must change no role. */
    async function expectAll(code: string, requests: (() => Promise<TestAnswer>)[]): Promise<void> {
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
          [operator, system, 'operator', 'administrator'],
          [carrierAdministrator, carrier, 'carrier_auditor'],
          [carrierAdministrator, carrier, 'carrier_user', 'carrier_auditor'],
          [manager, system, 'detour'],
          [manager, system, 'detour-2'],
          [manager, system, 'billing'],
        ] satisfies [Login, object, ...string[]][]) {
          const { status, body } = await createUser(by, { ...type, roles });
          expect([roles, status, body.code]).toEqual([roles, 403, exceeds]);
        }
        // Control: roles that the callers hold or may grant.
        expect((await createUser(operator, { roles: ['operator', 'auditor'] })).status).toBe(201);
        const own = ['carrier_administrator', 'carrier_user', 'support'];
        expect((await createUser(carrierAdministrator, { ...carrier, roles: own })).status).toBe(201);
      });

      it('is rejected in single and bulk changes, for added and for removed roles (Z10)', async () => {
        const victim = await service.createUser({ ...noPassword, ...system, roles: ['reader'] });
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

      it('is rejected for a wider scope, and in any new System User of a scoped caller (Z10, Z12)', async () => {
        const carrier_scope = ['c1', 'c2'];
        const scoped = await service.loginAs({ ...system, roles: ['administrator'], carrier_scope });
        const { user_id } = await service.createUser(noPassword);
        const scopes = [['c1'], [], null].map((own) => ({ carrier_scope: own }));
        for (const fields of [{}, ...scopes, { roles: ['administrator'] }])
          expect([fields, (await createUser(scoped, fields)).status]).toEqual([fields, 403]);
        for (const wider of [null, ['c3'], ['c1', 'c3']])
          for (const path of [`/user/${user_id}`, `/user/all?user_id=${user_id}`])
            expect((await patch(scoped, path, { carrier_scope: wider })).body.code).toBe(exceeds);
      });
    });

    it('is not possible through a change of a user with more permissions than the caller (Z10)', async () => {
      const above = await service.loginAs({ ...system, roles: ['administrator'] });
      const detour = await service.createUser({ ...noPassword, ...system, roles: ['detour-2'] });
      const before = await rowOf(above.user_id);
      const path = `/user/${above.user_id}`;
      const all = `/user/all?user_id=${above.user_id}`;
      const changes = [
        ...[{ email: 'eve@example.com' }, { status: 'disabled' }, { roles: [] }, { carrier_scope: [] }],
        ...[{ allowed_ips: ['192.0.2.1'] }, { must_change_password: true }, {}],
      ];
      await expectAll('access.protected_user', [
        ...[operator, support].flatMap((by) => changes.map((body) => () => patch(by, path, body))),
        () => service.delete(path, operator),
        () => service.post(`${path}/invite`, operator),
        () => service.delete(`/auth/session/${above.session_id}`, operator),
        () => patch(manager, `/user/${detour.user_id}`, { email: 'eve@example.com' }),
      ]);
      const skipped = [{ user_id: above.user_id, reason: 'access.protected_user' }];
      for (const answer of [await patch(operator, all, { status: 'disabled' }), await service.delete(all, operator)])
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
        const other = await service.createUser({ ...noPassword, ...system, carrier_scope: ['c1'] });
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
            ...[
              { permissions: ['*'] },
              { permissions: ['user:delete'] },
              { permissions: [...managed, 'billing:write'] },
            ],
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
});
