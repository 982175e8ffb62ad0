import { inSeconds } from '../support/keys';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';

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
  const create = (body: Record<string, unknown> = {}, { token } = admin, query = '') =>
    service.post(`/role/create${query}`, { token, body: { name: newName(), user_types: ['carrier'], ...body } });
  /** Creates a role for both types of users; any field can be given. */
  const add = async (fields: Record<string, unknown> = {}): Promise<string> => {
    const answer = await create({ user_types: ['system', 'carrier'], ...fields });
    expect([fields, answer.status]).toEqual([fields, 201]);
    return answer.body.name;
  };
  const get = (name: string) => service.get(`/role/${name}`, admin);
  const ifMatch = (version?: string): Record<string, string> => (version === undefined ? {} : { 'if-match': version });
  const change = (name: string, body: unknown, version?: string, { token } = admin) =>
    service.patch(`/role/${name}`, { token, body, headers: ifMatch(version) });
  const remove = (name: string, version?: string, { token } = admin) =>
    service.delete(`/role/${name}`, { token, headers: ifMatch(version) });
  const codeOf = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  /** Returns the status, with the ETag or the code of the error. */
  const outcome = ({ status, headers, body }: TestAnswer) => `${status} ${headers['etag'] ?? body?.code ?? ''}`.trim();
  const userOf = (roles: string[], fields = {}) => service.createUser({ roles, ...fields });
  const system = { user_type: 'system' };
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
    const changed = await change(name, { description: null, permissions: ['calls:read'] });
    expect(outcome(changed)).toBe('200 "2"');
    expect(changed.body).toEqual({ ...made.body, description: '', permissions: ['calls:read'], version: 2 });
    expect((await service.get('/role/list', admin)).body.items).toContainEqual(changed.body);
    expect((await remove(name)).status).toBe(204);
    for (const gone of [await get(name), await change(name, {}, '"1"'), await remove(name)])
      expect(codeOf(gone)).toBe('404 role.not_found');

    const common = { target_type: 'role', actor_id: admin.user_id, carrier_id: null };
    const { permissions } = role;
    const all = (side: 'before' | 'after', fields: object) =>
      Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, { [side]: value as unknown }]));
    const changes = {
      name: { before: name, after: name },
      description: { before: 'Looks at calls', after: '' },
      permissions: { before: permissions, after: ['calls:read'] },
    };
    expect(await eventsOf(name)).toEqual([
      { ...common, event_type: 'role.created', changes: all('after', { ...role, description: 'Looks at calls' }) },
      { ...common, event_type: 'role.changed', changes },
      {
        ...common,
        event_type: 'role.deleted',
        changes: all('before', { ...role, description: '', permissions: ['calls:read'] }),
      },
    ]);
  });

  it('keep their version and record no event in a change without effect', async () => {
    const name = await add({ permissions: ['b:b', 'a:a'], description: 'x' });
    const same = { permissions: ['a:a', 'b:b'], description: 'x', user_types: ['carrier', 'system'] };
    for (const body of [{}, { permissions: ['b:b', 'a:a'] }, same])
      expect(outcome(await change(name, body, '"1"'))).toBe('200 "1"');
    expect(await eventsOf(name)).toHaveLength(1);
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
    ['user_types', [null], 'field.wrong_type'],
    ['user_types', [['carrier', 'carrier']], 'field.malformed'],
    ['user_types', [['admin']], 'field.not_allowed'],
    ['may_grant', [null], 'field.wrong_type'],
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

  it('accept the documented maximum: 200 permissions, 500 characters of text, a name of 64', async () => {
    const permissions = Array.from({ length: 200 }, (_, at) => `${long(61)}${100 + at}:${long(64)}`);
    const name = await add({ name: `${'x'.repeat(62)}.-`, permissions, description: '😀'.repeat(500) });
    expect((await get(name)).body.permissions).toEqual(permissions);
  });

  it('can be read, granted and deleted if they have unusual names', async () => {
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

  it('take effect in the next request of each of their users after a change', async () => {
    const name = await add({ permissions: ['user:read'] });
    const login = await service.loginAs({ roles: [name] });
    const see = async () => [
      (await service.get('/user/list?count=none', login)).status,
      (await service.get('/user', login)).body.permissions,
    ];
    expect(await see()).toEqual([200, ['user:read']]);
    await change(name, { permissions: ['calls:read'] });
    expect(await see()).toEqual([403, ['calls:read']]);
    await change(name, { permissions: ['calls:read', 'user:read'] });
    expect(await see()).toEqual([200, ['calls:read', 'user:read']]);
    const checked = await service.post('/auth/check-token', { body: { token: login.token } });
    expect(checked.body.permissions).toEqual(['calls:read', 'user:read']);
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

  it('are changed by no Carrier User and no scoped System User, whatever their permissions (Z3)', async () => {
    const name = await add({ permissions: ['role:manage', 'role:read'] });
    const administrator = { ...system, roles: ['administrator'] };
    const scoped = await service.loginAs({ ...administrator, carrier_scope: ['c1'] });
    const logins = [
      ...[scoped, await service.loginAs({ ...administrator, carrier_scope: [] })],
      ...[await service.loginAs({ roles: [name] }), await service.loginAs({ ...system, roles: ['auditor'] })],
    ];
    const before = await stored();
    for (const login of logins)
      for (const answer of [
        await create({}, login),
        await create({ name: '', nonsense: true }, login),
        await change(name, { description: 'x' }, undefined, login),
        await change(name, { permissions: null }, undefined, login),
        await change('no-such-role', {}, undefined, login),
        await remove(name, undefined, login),
      ])
        expect(codeOf(answer)).toBe('403 access.denied');
    expect(await stored()).toEqual(before);
    expect((await service.get(`/role/${name}`, scoped)).status).toBe(200);
  });

  it('have events that only users without a scope see (Z4)', async () => {
    const roles = [await add({ permissions: ['audit:read'] })];
    const unscoped = await service.loginAs({ ...system, roles });
    const others = [{ ...system, carrier_scope: ['c1'] }, { ...system, carrier_scope: [] }, {}];
    const logins = await Promise.all(others.map((fields) => service.loginAs({ ...fields, roles })));
    const created = 'event_type=role.created';
    for (const query of ['target_type=role', created, `${created}&actor_id=${admin.user_id}`]) {
      const seen = async (by: TestLogin) => (await service.get(`/audit/list?${query}`, by)).body.items.length;
      expect(await seen(unscoped)).toBeGreaterThan(0);
      for (const login of logins) expect(await seen(login)).toBe(0);
    }
  });

  it('are granted only by their exact name (Z17)', async () => {
    const role = await add();
    const strange = [
      ...['superadmin', '', ' ', 'Administrator', 'administrator ', '*', 'user:read', 'constructor', '__proto__'],
      ...['toString', long(65)],
    ];
    const wrong = [
      ...strange.map((name) => [name]),
      ...[[999], [null], [['operator']], [{}], [role, role], role, 999, null, {}, true, strange],
    ];
    const user = await userOf([role]);
    const { token } = admin;
    const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'strange', email: 'strange@example.com' };
    for (const roles of wrong) {
      const answers = [
        await service.post('/user/create', { token, body: { ...fields, roles } }),
        await service.patch(`/user/${user.user_id}`, { token, body: { roles } }),
      ];
      for (const field of ['roles', 'roles_add', 'roles_remove'])
        answers.push(await service.patch(`/user/all?user_id=${user.user_id}`, { token, body: { [field]: roles } }));
      expect([roles, ...answers.map(codeOf)]).toEqual([roles, ...answers.map(() => '400 request.invalid')]);
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
      ...['user:*', 'user.*', 'USER:READ', 'User:Read', 'user:readx', 'user:rea', 'user', 'user:', ':read'],
      ...['user:read ', ' user:read', 'user:read,user:update', 'user:read:all', '**', '*:*', '*:read', 'read', ''],
      ...['user%', 'user_read', 'user.read', 'constructor'],
    ];
    for (const permission of nearMisses) {
      await set(permission);
      expect([permission, await open(), await grant()]).toEqual([permission, 403, 403]);
    }
    for (const [permissions, opened, granted] of [
      [nearMisses, 403, 403],
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
      await change(name, { may_grant: [name] });
      expect(codeOf(await remove(name))).toBe('409 role.in_use');
      expect((await change(other, { may_grant: [] })).status).toBe(200);
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

    it('make an undo skip and report users who would get a deleted or closed role again', async () => {
      const [gone, closed, there] = [await add(), await add(), await add()];
      const users = [await userOf([gone]), await userOf([closed]), await userOf([there])];
      const ids = users.map(({ user_id }) => user_id);
      const send = async (method: string, body?: unknown) =>
        (await service.send(method, `/user/all?user_id_in=${ids.join()}`, { token: admin.token, body })).body;
      const undo = async ({ operation_id }: { operation_id: string }) =>
        (await service.post(`/user/operation/${operation_id}/undo`, admin)).body;
      const deleted = await send('DELETE');
      expect((await remove(gone)).status).toBe(204);
      expect((await change(closed, { user_types: ['system'] })).status).toBe(200);
      const answer = await undo(deleted);
      expect(answer).toMatchObject({ changed: 1, skipped_count: 2 });
      expect(answer.skipped.map(({ user_id }: { user_id: string }) => user_id).sort()).toEqual(ids.slice(0, 2).sort());
      const live = 'select user_id from users where user_id = any($1) and deleted_at is null';
      expect(await service.rows(live, [ids])).toEqual([{ user_id: ids[2] }]);
      // The same for a role that a change removed.
      const stripped = await send('PATCH', { roles: [] });
      expect((await remove(there)).status).toBe(204);
      expect(await undo(stripped)).toMatchObject({ changed: 0, skipped: [{ user_id: ids[2] }] });
    });
  });

  describe('with unknown permissions', () => {
    const creations = {
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

    it.each(Object.entries(creations))(
      'are rejected at the creation of a %s if they are probably misspelt, with a suggestion (Z40)',
      async (_what, make) => {
        for (const [wrong, right] of Object.entries({
          ...{ 'user:raed': 'user:read', 'user:read-deleted': 'user:read_deleted' },
          ...{ 'session:revok': 'session:revoke', 'token:inspect': 'token:introspect' },
        })) {
          expect(suggestions(await make([wrong, 'user:read']))).toEqual(refused(wrong, right));
          // The permissions of this service are a closed list, which `new_prefix` does not extend.
          expect(suggestions(await make([wrong], '?new_prefix=true'))).toEqual(refused(wrong, right));
        }
        // A module name one edit from a module of the service can be confirmed.
        for (const [wrong, right] of Object.entries({
          ...{ 'usr:read': 'user:read', 'users:read': 'user:read' },
          ...{ 'rule:manage': 'role:manage', 'email:manage': 'mail:manage' },
        })) {
          const answer = await make([wrong]);
          expect(suggestions(answer)).toEqual(refused(wrong, right));
          for (const text of [`Did you mean ${right}?`, 'new_prefix=true'])
            expect(answer.body.errors[0].detail).toContain(text);
          expect((await make([wrong], '?new_prefix=true')).status).toBe(201);
          expect(suggestions(await make([wrong], '?new_prefix=false'))).toEqual(refused(wrong, right));
        }
        const several = await make(['user:raed', 'usr:read', 'billing:read']);
        expect(suggestions(several)).toEqual([
          ...refused('user:raed', 'user:read'),
          refused('usr:read', 'user:read')[1],
        ]);
        expect((await make(['billing:read', 'uzers:read', 'constructor:read', '*'])).status).toBe(201);
        expect((await make(['a:b'], '?new_prefix=maybe')).body.errors[0].parameter).toBe('new_prefix');
      },
    );

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
});
