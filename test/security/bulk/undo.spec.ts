import { type TestLogin, TestService } from '../../support/service';

describe('bulk changes and their undo: permissions and the last administrator', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('deputy', '{system}', '{user:read,user:update,user:delete}', '{administrator,deputy}'),
        ('reader', '{system}', '{user:read}', '{}')`);
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const patch = (by: TestLogin, query: string, body: unknown, ip = '127.0.0.1') =>
    service.patch(`/user/all?${query}`, { token: by.token, body, ip });
  const undo = async (by: TestLogin, operation_id: string, ip = '127.0.0.1') =>
    (await service.post(`/user/operation/${operation_id}/undo`, { token: by.token, ip })).body;
  const system = (roles: string[], more: Record<string, unknown> = {}) =>
    service.createUser({ user_type: 'system', roles, ...more });
  const loginAs = (roles: string[], more: Record<string, unknown> = {}) =>
    service.loginAs({ user_type: 'system', roles, ...more });

  it('skips changes that the caller of an undo may not make, and restores the others (Z10)', async () => {
    const operator = await loginAs(['operator']);
    const [up, down, plain] = [await system(['reader']), await system(['administrator']), await system(['reader'])];
    const ids = (...users: { user_id: string }[]) => `user_id_in=${users.map(({ user_id }) => user_id).join()}`;
    const promoted = (await patch(admin, ids(up), { roles_add: ['administrator'] })).body;
    const demoted = (await patch(admin, ids(down, plain), { roles: ['operator'] })).body;
    expect([promoted.changed, demoted.changed]).toEqual([1, 2]);
    const kept = await undo(operator, promoted.operation_id);
    expect(kept).toMatchObject({ changed: 0, skipped: [{ user_id: up.user_id, reason: 'access.protected_user' }] });
    const half = await undo(operator, demoted.operation_id);
    // An undo cannot be undone.
    expect(half).toMatchObject({ undo_until: null });
    expect(half).toMatchObject({
      changed: 1,
      skipped: [{ user_id: down.user_id, reason: 'access.grant_exceeds_own' }],
    });
    expect([(await rowOf(up.user_id))?.['roles'], (await rowOf(down.user_id))?.['roles']]).toEqual([
      ['administrator', 'reader'],
      ['operator'],
    ]);
  });

  it.each(['name', 'email'])(
    'restores the first of two deleted users with the same %s and reports the other',
    async (column) => {
      const [first, second, third] = [
        await service.createUser(),
        await service.createUser(),
        await service.createUser(),
      ];
      const query = `user_id_in=${[first, second, third].map(({ user_id }) => user_id).join()}`;
      const { operation_id } = (await service.delete(`/user/all?${query}`, { token: admin.token })).body;
      await service.rows(
        `update users set ${column} = upper((select ${column} from users where user_id = $1)) where user_id = $2`,
        [first.user_id, second.user_id],
      );
      const back = await undo(admin, operation_id);
      expect(back).toMatchObject({
        status: 'done',
        changed: 2,
        skipped: [{ user_id: second.user_id, reason: `user.${column}_taken` }],
      });
      expect((await rowOf(second.user_id))?.['deleted_at']).not.toBeNull();
    },
  );

  it('leaves a deleted or disabled administrator as they are when an operator undoes (Z10)', async () => {
    const operator = await loginAs(['operator']);
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PATCH', { status: 'disabled' }],
    ] as const) {
      const victim = await system(['administrator']);
      const done = await service.send(method, `/user/all?user_id=${victim.user_id}`, { token: admin.token, body });
      const before = await rowOf(victim.user_id);
      const undone = await undo(operator, done.body.operation_id);
      expect(undone).toMatchObject({
        changed: 0,
        skipped: [{ user_id: victim.user_id, reason: 'access.protected_user' }],
      });
      expect(await rowOf(victim.user_id)).toEqual(before);
    }
  });

  it('lets an administrator undo an operation whose undo by an operator restored no user (B24)', async () => {
    const operator = await loginAs(['operator']);
    const victim = await system(['administrator']);
    const { body } = await service.delete(`/user/all?user_id=${victim.user_id}`, admin);
    expect(await undo(operator, body.operation_id)).toMatchObject({ changed: 0, skipped_count: 1 });
    expect((await service.get(`/user/operation/${body.operation_id}`, admin)).body).toMatchObject({ undone_by: null });
    expect(await undo(admin, body.operation_id)).toMatchObject({ changed: 1, skipped_count: 0 });
    expect((await rowOf(victim.user_id))?.['deleted_at']).toBeNull();
    const third = await service.post(`/user/operation/${body.operation_id}/undo`, admin);
    expect([third.status, third.body.code]).toEqual([409, 'operation.not_undoable']);
  });

  it('restores in a second undo only the users that the first undo skipped (B24)', async () => {
    const operator = await loginAs(['operator']);
    const [strong, plain] = [await system(['administrator']), await system(['reader'])];
    const ids = `user_id_in=${strong.user_id},${plain.user_id}`;
    const { operation_id } = (await patch(admin, ids, { timezone: 'Europe/Oslo' })).body;
    expect(await undo(operator, operation_id)).toMatchObject({ matched: 2, changed: 1, skipped_count: 1 });
    await service.patch(`/user/${plain.user_id}`, { token: admin.token, body: { timezone: 'Asia/Tokyo' } });
    expect(await undo(admin, operation_id)).toMatchObject({ matched: 1, changed: 1, skipped_count: 0 });
    expect([(await rowOf(strong.user_id))?.['timezone'], (await rowOf(plain.user_id))?.['timezone']]).toEqual([
      null,
      'Asia/Tokyo',
    ]);
    expect((await service.post(`/user/operation/${operation_id}/undo`, admin)).body.code).toBe(
      'operation.not_undoable',
    );
  });

  it('rejects a second undo while the first one runs, although it will skip users (B24)', async () => {
    const operator = await loginAs(['operator']);
    const victims = await Promise.all([system(['administrator']), system(['administrator'])]);
    const query = `user_id_in=${victims.map(({ user_id }) => user_id).join()}`;
    const { operation_id } = (await patch(admin, query, { locale: 'de' })).body;
    const answers = await Promise.all(
      [operator, admin, admin, operator].map(({ token }) =>
        service.post(`/user/operation/${operation_id}/undo`, { token }),
      ),
    );
    const changed = answers.filter(({ body }) => body.changed === 2);
    expect(changed).toHaveLength(1);
    expect(
      await service.rows(`select 1 from users where locale = 'de' and user_id = any($1)`, [
        victims.map((one) => one.user_id),
      ]),
    ).toEqual([]);
  });

  it('rejects an undo by a caller who lost the right to grant the role (Z10)', async () => {
    const deputy = await loginAs(['deputy']);
    const [up, down] = [await system(['reader']), await system(['administrator'])];
    const promoted = (await patch(deputy, `user_id=${up.user_id}`, { roles: ['administrator'] })).body;
    const demoted = (await patch(deputy, `user_id=${down.user_id}`, { roles: ['reader'] })).body;
    expect([promoted.changed, demoted.changed]).toEqual([1, 1]);
    await service.patch(`/user/${deputy.user_id}`, { token: admin.token, body: { roles: ['operator'] } });
    expect(await undo(deputy, promoted.operation_id)).toMatchObject({
      changed: 0,
      skipped_reasons: { 'access.protected_user': 1 },
    });
    expect(await undo(deputy, demoted.operation_id)).toMatchObject({
      changed: 0,
      skipped_reasons: { 'access.grant_exceeds_own': 1 },
    });
    expect((await rowOf(up.user_id))?.['roles']).toEqual(['administrator']);
    expect((await rowOf(down.user_id))?.['roles']).toEqual(['reader']);
  });

  it('rejects an undo without the permission, and skips users who left the scope of the caller (Z16)', async () => {
    const operator = await loginAs(['operator']);
    const user = await service.createUser({ carrier_id: 'z12' });
    const other = await system(['reader']);
    const scoped = (await patch(admin, `user_id=${other.user_id}`, { carrier_scope: ['c1'] })).body;
    const changed = (await patch(operator, 'carrier_id=z12', { locale: 'fr' })).body;
    const again = (await patch(operator, 'carrier_id=z12', { timezone: 'UTC' })).body;
    await service.patch(`/user/${operator.user_id}`, { token: admin.token, body: { carrier_scope: ['c2'] } });
    expect(await undo(operator, changed.operation_id)).toMatchObject({
      changed: 0,
      skipped: [{ user_id: user.user_id, reason: 'user.not_found' }],
    });
    expect((await undo(operator, scoped.operation_id)).code).toBe('operation.not_found');
    await service.patch(`/user/${operator.user_id}`, { token: admin.token, body: { roles: ['auditor'] } });
    expect((await undo(operator, again.operation_id)).code).toBe('access.denied');
    expect(await rowOf(user.user_id)).toMatchObject({ locale: 'fr', timezone: 'UTC' });
  });

  it('skips the caller in a bulk change and in the undo of a change to the caller (Z13)', async () => {
    const one = await loginAs(['administrator']);
    const query = `user_id=${one.user_id}`;
    const before = await rowOf(one.user_id);
    for (const body of [
      { status: 'disabled' },
      { roles: ['reader'] },
      { roles_add: ['reader'] },
      { roles_remove: ['administrator'] },
      { carrier_scope: ['c1'] },
    ])
      expect((await patch(one, query, body)).body).toMatchObject({
        changed: 0,
        skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
      });
    expect((await service.delete(`/user/all?${query}`, one)).body).toMatchObject({
      changed: 0,
      skipped_reasons: { 'user.self_protected': 1 },
    });
    expect(await rowOf(one.user_id)).toEqual(before);
    const { operation_id } = (await patch(admin, query, { roles: ['administrator', 'reader'] })).body;
    expect(await undo(one, operation_id)).toMatchObject({
      changed: 0,
      skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
    });
    // Control: a change without permissions is allowed.
    const harmless = (await patch(one, query, { locale: 'fr' })).body;
    expect(await undo(one, harmless.operation_id)).toMatchObject({ changed: 1 });
  });

  it('skips the row of the caller if allowed_ips would lock the caller out (Z13)', async () => {
    const caller = await loginAs(['operator']);
    const other = await service.createUser({ carrier_id: 'ips' });
    const query = `user_id_in=${caller.user_id},${other.user_id}`;
    const out = (await patch(caller, query, { allowed_ips: ['192.0.2.0/24'] })).body;
    expect(out).toMatchObject({ changed: 1, skipped: [{ user_id: caller.user_id, reason: 'user.self_protected' }] });
    const inside = (await patch(caller, query, { allowed_ips: ['192.0.2.0/24', '127.0.0.0/8'] })).body;
    expect(inside).toMatchObject({ changed: 2, skipped_count: 0 });
    expect((await service.get('/user', caller)).status).toBe(200);
    // Lift the address limit, then undo from an address that the limit excludes.
    const opened = (await patch(caller, query, { allowed_ips: [] })).body;
    expect(opened.changed).toBe(2);
    const undone = await undo(caller, opened.operation_id, '198.51.100.7');
    expect(undone).toMatchObject({ changed: 1, skipped: [{ user_id: caller.user_id, reason: 'user.self_protected' }] });
    expect((await service.get('/user', caller)).status).toBe(200);
  });

  it('restores nothing to a purged user who was imported again (Z19)', async () => {
    const user = await system(['administrator']);
    const { operation_id } = (await patch(admin, `user_id=${user.user_id}`, { roles: [] })).body;
    const left = (await rowOf(user.user_id))?.['version'];
    await service.delete(`/user/${user.user_id}?purge=true`, admin);
    // Without the tombstone an import accepts the id, and the undo must still be safe.
    await service.rows('delete from user_tombstones where user_id = $1', [user.user_id]);
    const row = { user_id: user.user_id, user_type: 'system', name: 'again', email: 'again@example.com' };
    const headers = { 'content-type': 'application/x-ndjson' };
    expect((await service.post('/user/import', { ...admin, headers, body: JSON.stringify(row) })).body.changed).toBe(1);
    await patch(admin, `user_id=${user.user_id}`, { locale: 'fr' });
    expect(await rowOf(user.user_id)).toMatchObject({ version: left, roles: [] });
    expect(await undo(admin, operation_id)).toMatchObject({
      changed: 0,
      skipped_reasons: { 'user.version_mismatch': 1 },
    });
    expect((await rowOf(user.user_id))?.['roles']).toEqual([]);
  });

  it('keeps the last administrator in a bulk change of all users and in an undo (Z14)', async () => {
    const deputy = await loginAs(['deputy']);
    const next = await loginAs(['reader']);
    const { operation_id } = (await patch(deputy, `user_id=${next.user_id}`, { roles: ['administrator'] })).body;
    await service.rows(`update users set deleted_at = now() where roles && '{administrator}' and user_id <> $1`, [
      next.user_id,
    ]);
    const undone = await undo(deputy, operation_id);
    expect(undone).toMatchObject({
      changed: 0,
      skipped: [{ user_id: next.user_id, reason: 'user.last_administrator' }],
    });
    for (const body of [{ status: 'disabled' }, { roles: [] }, { carrier_scope: [] }]) {
      const done = (await patch(deputy, 'role=administrator', body)).body;
      expect([body, done]).toEqual([
        body,
        expect.objectContaining({ matched: 1, changed: 0, skipped_reasons: { 'user.last_administrator': 1 } }),
      ]);
    }
    expect((await service.delete('/user/all?user_type=system', deputy)).body.skipped_reasons).toMatchObject({
      'user.last_administrator': 1,
    });
    expect(await rowOf(next.user_id)).toMatchObject({
      status: 'active',
      roles: ['administrator'],
      deleted_at: null,
      carrier_scope: null,
    });
  });
});
