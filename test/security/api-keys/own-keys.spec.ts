import { RememberedActorsService } from '../../../src/logins/remembered-actors.service';
import { errorsIn } from '../../support/imports';
import { createKey, type TestKey } from '../../support/keys';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

const everything = [
  ...['user:read', 'user:create', 'user:update', 'user:delete', 'user:purge', 'user:import'],
  ...['session:read', 'session:revoke', 'role:read', 'role:manage', 'key:manage'],
];
const protectedSelf = '403 user.self_protected';

describe("API keys and their creators' own users", () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(
      `insert into roles (name, user_types, permissions) values
        ('manager', '{system}', $1), ('reader', '{system}', '{user:read}'),
        ('helper', '{system}', '{user:update}'), ('root', '{system}', '{*}')`,
      [everything],
    );
  });
  afterAll(() => service.close());

  const code = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  /** Creates a manager with a key that has all permissions of the manager. */
  async function managerWithKey(fields: Record<string, unknown> = {}): Promise<TestLogin & TestKey> {
    const manager = await service.loginAs({ user_type: 'system', roles: ['manager', 'reader'], ...fields });
    return { ...manager, ...(await createKey(service, everything, {}, manager)) };
  }
  const importRow = (token: string, row: object, query = '') =>
    service.post(`/user/import${query}`, {
      token,
      body: JSON.stringify(row),
      headers: { 'content-type': 'application/x-ndjson' },
    });

  /** Changes that users may not make to themselves; `bulk` is false for fields of a single user. */
  const changes: [name: string, body: Record<string, unknown>, bulk: 'both' | 'bulk' | 'single'][] = [
    ['status disabled', { status: 'disabled' }, 'both'],
    ['status active', { status: 'active' }, 'both'],
    ['roles', { roles: ['manager'] }, 'both'],
    ['roles_add', { roles_add: ['helper'] }, 'bulk'],
    ['roles_remove', { roles_remove: ['reader'] }, 'bulk'],
    ['carrier_scope', { carrier_scope: ['c1'] }, 'both'],
    ['second_factor_required_from', { second_factor_required_from: null }, 'both'],
    ['must_change_password false', { must_change_password: false }, 'both'],
    ['email', { email: 'elsewhere@example.com' }, 'single'],
    ['allowed_ips without the address of the request', { allowed_ips: ['192.0.2.0/24'] }, 'both'],
  ];

  it.each(changes)('lets no key change %s of its creator, singly or in bulk (Z31)', async (_name, body, bulk) => {
    const { user_id, key } = await managerWithKey({ second_factor_required_from: '2030-01-01T00:00:00Z' });
    await service.rows('update users set must_change_password = true where user_id = $1', [user_id]);
    const before = await rowOf(user_id);
    if (bulk !== 'bulk')
      expect(code(await service.patch(`/user/${user_id}`, { token: key, body }))).toBe(protectedSelf);
    if (bulk !== 'single') {
      const url = `/user/all?user_id=${user_id}`;
      const skipped = [{ user_id, reason: 'user.self_protected' }];
      const preview = await service.patch(`${url}&dry_run=true`, { token: key, body });
      expect(preview.body).toMatchObject({ would_change: 0, skipped });
      expect((await service.patch(url, { token: key, body })).body).toMatchObject({ changed: 0, skipped });
    }
    expect(await rowOf(user_id)).toEqual(before);
    // Control: the same change of another user.
    const other = await service.createUser({ user_type: 'system', roles: ['manager', 'reader'] });
    if (bulk !== 'bulk') expect(code(await service.patch(`/user/${other.user_id}`, { token: key, body }))).toBe('200');
    else expect((await service.patch(`/user/all?user_id=${other.user_id}`, { token: key, body })).body.changed).toBe(1);
  });

  it('lets no key delete or purge its creator, singly or in bulk (Z31)', async () => {
    const { user_id, key } = await managerWithKey();
    for (const query of ['', '?purge=true'])
      expect(code(await service.delete(`/user/${user_id}${query}`, { token: key }))).toBe(protectedSelf);
    const bulk = await service.delete(`/user/all?user_id=${user_id}`, { token: key });
    expect(bulk.body).toMatchObject({ changed: 0, skipped_reasons: { 'user.self_protected': 1 } });
    expect(await rowOf(user_id)).toMatchObject({ deleted_at: null });
  });

  it('lets no key undo what an administrator did to its creator, and none restore its creator (Z31)', async () => {
    const { user_id, key } = await managerWithKey();
    const url = `/user/all?user_id=${user_id}`;
    await service.rows('update users set must_change_password = false where user_id = $1', [user_id]);
    for (const [method, body] of [
      ['PATCH', { must_change_password: true }],
      ['PATCH', { second_factor_required_from: '2030-01-01T00:00:00Z' }],
      ['PATCH', { roles: ['manager'] }],
      ['PATCH', { status: 'disabled' }],
      ['DELETE', undefined],
    ] as const) {
      const { operation_id } = (await service.send(method, url, { token: admin.token, body })).body;
      const before = await rowOf(user_id);
      const undone = await service.post(`/user/operation/${operation_id}/undo`, { token: key });
      expect(undone.body).toMatchObject({ changed: 0, skipped: [{ user_id, reason: 'user.self_protected' }] });
      expect(await rowOf(user_id)).toEqual(before);
    }
    expect(code(await service.post(`/user/${user_id}/restore`, { token: key }))).toBe(protectedSelf);
    expect((await rowOf(user_id))?.['deleted_at']).not.toBeNull();
    // Control: keys of deleted users stay valid.
    expect((await service.get('/user/list', { token: key })).status).toBe(200);
  });

  it('changes nothing about the creator by an import with the same id, name or address (Z31)', async () => {
    const { user_id, key } = await managerWithKey();
    const before = await rowOf(user_id);
    const row = { user_type: 'system', name: before?.['name'], email: before?.['email'], roles: [], user_id };
    for (const query of ['', '?on_conflict=skip'])
      expect((await importRow(key, row, query)).body).toMatchObject({ changed: 0 });
    expect(await rowOf(user_id)).toEqual(before);
  });

  it('keeps the creator of a key for work that continues after the request (Z31)', async () => {
    const { user_id, key_id } = await managerWithKey();
    const work = { session_id: null, ip: null, request_id: null, permission: 'user:update' };
    const remembered = service.app.get(RememberedActorsService);
    const ofKey = await remembered.of({ actor_type: 'key', actor_id: key_id, ...work });
    expect(ofKey).toMatchObject({ actor_type: 'key', user_id: key_id, created_by: user_id });
    const ofUser = await remembered.of({ actor_type: 'user', actor_id: user_id, ...work });
    expect(ofUser).toMatchObject({ user_id, created_by: null });
  });

  it('gives a key none of the rights that only its creator has on their own user (Z31, Z24)', async () => {
    const owner = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key } = await createKey(service, ['user:update', 'session:revoke'], {}, owner);
    expect(code(await service.get(`/user/${owner.user_id}`, { token: key }))).toBe('403 access.denied');
    const renamed = await service.patch(`/user/${owner.user_id}`, { token: key, body: { first_name: 'Eve' } });
    expect(code(renamed)).toBe('403 access.protected_user');
    const ended = await service.delete(`/auth/session/${owner.session_id}`, { token: key });
    expect(code(ended)).toBe('403 access.protected_user');
  });

  describe('with the permission *', () => {
    it.each(['administrator', 'root'])('cannot grant or revoke the role %s in any request (Z31)', async (role) => {
      const { key } = await createKey(service, ['*']);
      const user = await service.createUser({ user_type: 'system', roles: ['reader'] });
      const refused = '403 access.grant_exceeds_own';
      const [url, bulk] = [`/user/${user.user_id}`, `/user/all?user_id=${user.user_id}`];
      expect(code(await service.patch(url, { token: key, body: { roles: [role] } }))).toBe(refused);
      for (const body of [{ roles: [role] }, { roles_add: [role] }, { roles_remove: [role] }])
        expect([body, code(await service.patch(bulk, { token: key, body }))]).toEqual([body, refused]);
      const fields = { user_type: 'system', name: `made-${role}`, email: `made-${role}@example.com`, roles: [role] };
      expect(code(await service.post('/user/create', { token: key, body: fields }))).toBe(refused);
      const { body } = await importRow(key, fields);
      expect([body.changed, errorsIn(body)]).toMatchObject([0, [{ pointer: '/roles' }]]);

      const strong = await service.createUser({ user_type: 'system', roles: [role] });
      const demoted = await service.patch(`/user/all?user_id=${strong.user_id}`, {
        token: admin.token,
        body: { roles: ['reader'] },
      });
      const undone = await service.post(`/user/operation/${demoted.body.operation_id}/undo`, { token: key });
      expect(undone.body).toMatchObject({ changed: 0, skipped_reasons: { 'access.grant_exceeds_own': 1 } });
      await service.patch(`/user/${strong.user_id}`, { token: admin.token, body: { roles: [role] } });
      const deleted = await service.delete(`/user/all?user_id=${strong.user_id}`, admin);
      expect(code(await service.post(`/user/${strong.user_id}/restore`, { token: key }))).toBe(
        '403 access.protected_user',
      );
      const back = await service.post(`/user/operation/${deleted.body.operation_id}/undo`, { token: key });
      expect(back.body).toMatchObject({ changed: 0, skipped_reasons: { 'access.protected_user': 1 } });
      const given = `
        select name from users
        where $1 = any(roles) and deleted_at is null and (user_id = $2 or name = $3)`;
      expect(await service.rows(given, [role, user.user_id, fields.name])).toEqual([]);
    });

    it('cannot add * to a role, or let a role grant a role with * (Z31)', async () => {
      const { key } = await createKey(service, ['*']);
      const [before, refused] = [
        await service.rows('select * from roles order by name'),
        '403 access.grant_exceeds_own',
      ];
      const named = { name: 'detour', user_types: ['system'], permissions: ['user:read'] };
      for (const body of [
        { ...named, permissions: ['*'] },
        { ...named, may_grant: ['administrator'] },
      ])
        expect(code(await service.post('/role/create', { token: key, body }))).toBe(refused);
      for (const body of [{ permissions: ['user:read', '*'] }, { may_grant: ['root'] }])
        expect(code(await service.patch('/role/reader', { token: key, body }))).toBe(refused);
      for (const body of [{ permissions: ['user:read'] }, { second_factor_required_from: null }])
        expect(code(await service.patch('/role/root', { token: key, body }))).toBe(refused);
      expect(code(await service.delete('/role/root', { token: key }))).toBe(refused);
      expect(await service.rows('select * from roles order by name')).toEqual(before);
      expect(code(await service.post('/role/create', { token: key, body: named }))).toBe('201');
    });

    it('can still grant roles without * (Z31)', async () => {
      const { key } = await createKey(service, ['*']);
      const user = await service.createUser({ user_type: 'system' });
      const given = await service.patch(`/user/${user.user_id}`, { token: key, body: { roles: ['manager'] } });
      expect([given.status, given.body.roles]).toEqual([200, ['manager']]);
    });
  });
});
