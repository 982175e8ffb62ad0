import { TestService } from '../support/service';

describe('roles', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  let count = 0;
  const newName = () => `role-${++count}`;
  const create = (body: Record<string, unknown>) => service.post('/role/create', { token: service.admin.token, body });
  const add = async (fields: Record<string, unknown> = {}): Promise<string> => {
    const answer = await create({ name: newName(), user_types: ['carrier'], ...fields });
    expect(answer.status).toBe(201);
    return answer.body.name;
  };
  const change = (name: string, body: unknown) => service.patch(`/role/${name}`, { token: service.admin.token, body });
  const remove = (name: string) => service.delete(`/role/${name}`, service.admin);
  const codeOf = ({ status, body }: { status: number; body: { code?: string } | undefined }) =>
    `${status} ${body?.code ?? ''}`.trim();
  const events = async (name: string) =>
    service.rows(
      `
        select event_type, target_type, actor_id, carrier_id, changes
        from events
        where target_type = 'role' and changes->'name' @> any(array[$1::jsonb, $2::jsonb])
        order by event_id`,
      [JSON.stringify({ after: name }), JSON.stringify({ before: name })],
    );

  it('creates, reads, changes and deletes a role, each with an audit event', async () => {
    const name = newName();
    const body = {
      name,
      user_types: ['system', 'carrier'],
      permissions: ['calls:read', 'billing-2:read_all'],
      may_grant: [name, 'carrier_user'],
    };
    const made = await create({ ...body, description: 'Looks at calls' });
    const role = {
      ...body,
      user_types: ['carrier', 'system'],
      permissions: ['billing-2:read_all', 'calls:read'],
      may_grant: ['carrier_user', name],
      second_factor_required_from: null,
    };
    expect([made.status, made.headers['location'], made.body]).toEqual([
      201,
      `/role/${name}`,
      { ...role, description: 'Looks at calls', built_in: false, version: 1 },
    ]);
    expect((await service.get(`/role/${name}`, service.admin)).body).toEqual(made.body);
    expect((await service.get('/role/list', service.admin)).body.items).toContainEqual(made.body);
    const changed = await change(name, { description: null, permissions: ['calls:read'] });
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...role, description: '', permissions: ['calls:read'], built_in: false, version: 2 },
    ]);
    expect((await remove(name)).status).toBe(204);
    for (const gone of [await service.get(`/role/${name}`, service.admin), await change(name, {}), await remove(name)])
      expect(codeOf(gone)).toBe('404 role.not_found');
    const common = { target_type: 'role', actor_id: service.admin.user_id, carrier_id: null };
    expect(await events(name)).toEqual([
      {
        ...common,
        event_type: 'role.created',
        changes: {
          name: { after: name },
          description: { after: 'Looks at calls' },
          user_types: { after: role.user_types },
          permissions: { after: role.permissions },
          may_grant: { after: role.may_grant },
          second_factor_required_from: { after: null },
        },
      },
      {
        ...common,
        event_type: 'role.changed',
        changes: {
          name: { before: name, after: name },
          description: { before: 'Looks at calls', after: '' },
          permissions: { before: role.permissions, after: ['calls:read'] },
        },
      },
      {
        ...common,
        event_type: 'role.deleted',
        changes: {
          name: { before: name },
          description: { before: '' },
          user_types: { before: role.user_types },
          permissions: { before: ['calls:read'] },
          may_grant: { before: role.may_grant },
          second_factor_required_from: { before: null },
        },
      },
    ]);
  });

  it('records no event for a change without effect, regardless of the order of its lists', async () => {
    const name = await add({ permissions: ['b:b', 'a:a'], description: 'x' });
    for (const body of [
      {},
      { permissions: ['b:b', 'a:a'] },
      { permissions: ['a:a', 'b:b'], description: 'x', user_types: ['carrier'] },
    ])
      expect((await change(name, body)).status).toBe(200);
    expect(await events(name)).toHaveLength(1);
  });

  it.each<[string, unknown, string]>([
    ['name', '', 'field.too_short'],
    ['name', 'a'.repeat(65), 'field.too_long'],
    ['name', 'a b', 'field.malformed'],
    ['name', 'rôle', 'field.malformed'],
    ['description', 'a'.repeat(501), 'field.too_long'],
    ['user_types', [], 'field.too_few'],
    ['user_types', null, 'field.wrong_type'],
    ['user_types', ['carrier', 'carrier'], 'field.malformed'],
    ['user_types', ['admin'], 'field.not_allowed'],
    ['permissions', null, 'field.wrong_type'],
    ['permissions', ['a:b', 'a:b'], 'field.malformed'],
    ['permissions', Array.from({ length: 201 }, (_, at) => `a:b${at}`), 'field.too_many'],
    ['may_grant', null, 'field.wrong_type'],
    ['may_grant', ['unknown-role'], 'field.not_allowed'],
    ['may_grant', ['Carrier_user'], 'field.not_allowed'],
    ['may_grant', Array.from({ length: 51 }, (_, at) => `r${at}`), 'field.too_many'],
    ['built_in', true, 'field.unknown'],
  ])('rejects %s (case %#) with its pointer at creation and by a change', async (field, value, code) => {
    const name = await add();
    const refused = await create({ name: newName(), user_types: ['carrier'], [field]: value });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [expect.objectContaining({ pointer: `/${field}`, code })],
    ]);
    const changed = await change(name, { [field]: value });
    const unknown = field === 'name' ? 'field.unknown' : code;
    expect([changed.status, changed.body.errors]).toEqual([
      400,
      [expect.objectContaining({ pointer: `/${field}`, code: unknown })],
    ]);
    expect(await events(name)).toHaveLength(1);
  });

  it('accepts the documented maximum: 200 permissions, 500 characters, a name of 64', async () => {
    const permissions = Array.from({ length: 200 }, (_, at) => `${'m'.repeat(61)}${100 + at}:${'a'.repeat(64)}`);
    const name = `${'x'.repeat(62)}.-`;
    expect((await create({ name, user_types: ['carrier'], permissions, description: '😀'.repeat(500) })).status).toBe(
      201,
    );
    expect((await service.get(`/role/${name}`, service.admin)).body.permissions).toEqual(permissions);
  });

  it('rejects a taken name in any case', async () => {
    const name = await add();
    for (const taken of [name, name.toUpperCase(), 'administrator', 'Administrator', 'CARRIER_user'])
      expect(codeOf(await create({ name: taken, user_types: ['system'] }))).toBe('409 role.name_taken');
    const same = newName();
    const answers = await Promise.all(
      [same, same.toUpperCase(), same].map((one) => create({ name: one, user_types: ['carrier'] })),
    );
    expect(answers.map(codeOf).sort()).toEqual(['201', '409 role.name_taken', '409 role.name_taken']);
  });

  it('applies a changed role to the next request of each of its users', async () => {
    const name = await add({ user_types: ['system', 'carrier'], permissions: ['user:read'] });
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

  describe('in use', () => {
    it('rejects deleting a role that a user has, and restores a deleted user without a deleted role', async () => {
      const name = await add({ user_types: ['carrier'] });
      const user = await service.createUser({ roles: [name, 'carrier_user'] });
      expect(codeOf(await remove(name))).toBe('409 role.in_use');
      expect((await service.delete(`/user/${user.user_id}`, service.admin)).status).toBe(204);
      expect((await remove(name)).status).toBe(204);
      const restored = await service.post(`/user/${user.user_id}/restore`, service.admin);
      expect([restored.status, restored.body.roles]).toEqual([200, ['carrier_user']]);
    });

    it('rejects deleting a role that another role names, but not one that names only itself', async () => {
      const name = await add();
      const other = await add({ may_grant: [name] });
      await change(name, { may_grant: [name] });
      expect(codeOf(await remove(name))).toBe('409 role.in_use');
      expect((await change(other, { may_grant: [] })).status).toBe(200);
      expect((await remove(name)).status).toBe(204);
    });

    it('rejects closing a role to a type of users who have it', async () => {
      const name = await add({ user_types: ['system', 'carrier'] });
      const user = await service.createUser({ roles: [name] });
      expect(codeOf(await change(name, { user_types: ['system'] }))).toBe('409 role.in_use');
      expect((await change(name, { user_types: ['carrier'] })).status).toBe(200);
      expect((await service.delete(`/user/${user.user_id}`, service.admin)).status).toBe(204);
      expect((await change(name, { user_types: ['system'] })).status).toBe(200);
      expect((await service.post(`/user/${user.user_id}/restore`, service.admin)).body.roles).toEqual([]);
    });

    it('skips and names users in an undo that would restore a deleted or closed role', async () => {
      const [gone, closed, there] = [await add(), await add({ user_types: ['system', 'carrier'] }), await add()];
      const users = await Promise.all([gone, closed, there].map((role) => service.createUser({ roles: [role] })));
      const ids = users.map(({ user_id }) => user_id);
      const query = `user_id_in=${ids.join()}`;
      const { admin } = service;
      const take = async (method: string, body?: unknown) =>
        (await service.send(method, `/user/all?${query}`, { token: admin.token, body })).body.operation_id as string;
      const undo = async (operation: string) => (await service.post(`/user/operation/${operation}/undo`, admin)).body;
      const deleted = await take('DELETE');
      expect((await remove(gone)).status).toBe(204);
      expect((await change(closed, { user_types: ['system'] })).status).toBe(200);
      const answer = await undo(deleted);
      expect(answer).toMatchObject({ changed: 1, skipped_count: 2 });
      expect(answer.skipped.map(({ user_id }: { user_id: string }) => user_id).sort()).toEqual(ids.slice(0, 2).sort());
      expect(
        await service.rows('select user_id from users where user_id = any($1) and deleted_at is null', [ids]),
      ).toEqual([{ user_id: ids[2] }]);
      // The same for a role that a change removed.
      const stripped = await take('PATCH', { roles: [] });
      expect((await remove(there)).status).toBe(204);
      expect(await undo(stripped)).toMatchObject({
        changed: 0,
        skipped: [expect.objectContaining({ user_id: ids[2] })],
      });
    });
  });
});
