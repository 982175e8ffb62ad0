import { importRows } from '../support/data/imports';
import { queueEmpty } from '../support/data/links';
import { addManyUsers } from '../support/data/many-users';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';

describe('the undo of bulk changes', () => {
  let service: TestService;
  let admin: TestLogin;
  let operator: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('reader', '{system}', '{user:read}')`,
    );
    operator = await loginAs(['operator']);
  });
  afterAll(() => service.close());

  type User = { user_id: string };
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const filterOf = (...users: User[]) => `user_id_in=${users.map(({ user_id }) => user_id).join()}`;
  const patch = (by: TestLogin, query: string, body: unknown) =>
    service.patch(`/user/all?${query}`, { token: by.token, body });
  const undo = async (by: TestLogin, operation_id: string) =>
    (await service.post(`/user/operation/${operation_id}/undo`, by)).body;
  const system = (roles: string[]) => service.createUser({ user_type: 'system', roles });
  const loginAs = (roles: string[]) => service.loginAs({ user_type: 'system', roles });

  it.each([
    ['the status', { status: 'disabled' }],
    ['the department', { department: 'Depot' }],
    ['the locale', { locale: 'fr' }],
    ['the time zone and the locale', { timezone: null, locale: null }],
    ['attributes', { attributes: { number: null, tier: 'gold' } }],
    ['allowed_ips', { allowed_ips: ['127.0.0.1'] }],
    ['must_change_password', { must_change_password: true }],
    ['second_factor_required_from', { second_factor_required_from: '2099-01-01T00:00:00.000Z' }],
    ['all roles', { roles: ['carrier_administrator'] }],
    ['some roles', { roles_add: ['carrier_administrator'], roles_remove: ['carrier_user'] }],
    ['a deletion', null],
  ])('restores %s, and skips and reports users who changed since', async (_title, body) => {
    await service.rows(`delete from users where carrier_id = 'r'`);
    await addManyUsers(service, 5, 'r');
    await service.rows(`
      update users
      set
        status = case when name = 'r-2' then 'disabled' else status end,
        department = case when name = 'r-1' then 'Works' end,
        locale = case when name in ('r-1', 'r-3') then 'de-AT' end, timezone = case when name = 'r-2' then 'UTC' end,
        allowed_ips = case when name = 'r-3' then '{10.0.0.0/8,2001:db8::/32}'::cidr[] else '{}' end,
        must_change_password = name = 'r-1', roles = case when name = 'r-4' then '{}' else roles end,
        second_factor_required_from = case when name = 'r-2' then '2020-01-01'::timestamptz end
      where carrier_id = 'r'`);
    const state = () =>
      service.rows<{ user_id: string; name: string }>(
        `select to_jsonb(users) - '{version,updated_at}'::text[] as row, user_id, name from users
         where carrier_id = 'r' order by name`,
      );
    const before = await state();
    const done = await service.send(body === null ? 'DELETE' : 'PATCH', '/user/all?carrier_id=r', {
      token: admin.token,
      body: body ?? undefined,
    });
    expect(done.body.changed).toBeGreaterThan(2);
    const touched = before[2] as User;
    const touch =
      body === null
        ? service.post(`/user/${touched.user_id}/restore`, admin)
        : service.patch(`/user/${touched.user_id}`, { token: admin.token, body: { first_name: 'Ada' } });
    expect((await touch).status).toBe(200);
    const left = await state();
    expect(await undo(admin, done.body.operation_id)).toMatchObject({
      ...{ changed: done.body.changed - 1, unchanged: 0, skipped_count: 1 },
      skipped: [{ user_id: touched.user_id, reason: 'user.version_mismatch' }],
    });
    expect(await state()).toEqual(before.map((row, index) => (row.user_id === touched.user_id ? left[index] : row)));
  });

  it('undoes an operation once when 10 undo requests run in parallel (B22)', async () => {
    await addManyUsers(service, 3, 'undone');
    const { operation_id } = (await patch(admin, 'carrier_id=undone', { locale: 'fr' })).body;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => service.post(`/user/operation/${operation_id}/undo`, admin)),
    );
    expect(answers.filter(({ status }) => status === 202).map(({ body }) => body.changed)).toEqual([3]);
    expect(answers.filter(({ body }) => body.code === 'operation.not_undoable')).toHaveLength(9);
    expect(await service.rows(`select distinct version, locale from users where carrier_id = 'undone'`)).toEqual([
      { version: 3, locale: null },
    ]);
  });

  it('skips changes that the caller of an undo may not make, and restores the others (Z10, B24)', async () => {
    const [up, down, plain] = [await system(['reader']), await system(['administrator']), await system(['reader'])];
    const promoted = (await patch(admin, filterOf(up), { roles_add: ['administrator'] })).body;
    const demoted = (await patch(admin, filterOf(down, plain), { roles: ['operator'] })).body;
    expect(await undo(operator, promoted.operation_id)).toMatchObject({
      ...{ changed: 0, skipped: [{ user_id: up.user_id, reason: 'access.protected_user' }] },
    });
    expect(await undo(operator, demoted.operation_id)).toMatchObject({
      ...{ changed: 1, skipped: [{ user_id: down.user_id, reason: 'access.grant_exceeds_own' }] },
    });
    expect((await rowOf(up.user_id))?.['roles']).toEqual(['administrator', 'reader']);
    expect((await rowOf(down.user_id))?.['roles']).toEqual(['operator']);
    // An undo without effect leaves the undo to others.
    expect(await undo(admin, promoted.operation_id)).toMatchObject({ changed: 1, skipped_count: 0 });
  });

  it('restores in a second undo only the users that the first undo skipped (B24)', async () => {
    const [strong, plain] = [await system(['administrator']), await system(['reader'])];
    const { operation_id } = (await patch(admin, filterOf(strong, plain), { timezone: 'Europe/Oslo' })).body;
    expect(await undo(operator, operation_id)).toMatchObject({ matched: 2, changed: 1, skipped_count: 1 });
    await service.patch(`/user/${plain.user_id}`, { token: admin.token, body: { timezone: 'Asia/Tokyo' } });
    expect(await undo(admin, operation_id)).toMatchObject({ matched: 1, changed: 1, skipped_count: 0 });
    expect((await rowOf(strong.user_id))?.['timezone']).toBeNull();
    expect((await rowOf(plain.user_id))?.['timezone']).toBe('Asia/Tokyo');
    expect((await undo(admin, operation_id)).code).toBe('operation.not_undoable');
  });

  it('restores scopes, needs the permission, and skips users outside the scope of the caller (Z16)', async () => {
    const caller = await loginAs(['operator']);
    const user = await service.createUser({ carrier_id: 'z12' });
    const other = await system(['reader']);
    const scoped = (await patch(admin, filterOf(other), { carrier_scope: ['c1'] })).body;
    const changed = (await patch(caller, 'carrier_id=z12', { locale: 'fr' })).body;
    const again = (await patch(caller, 'carrier_id=z12', { timezone: 'UTC' })).body;
    await service.patch(`/user/${caller.user_id}`, { token: admin.token, body: { carrier_scope: ['c2'] } });
    const skipped = [{ user_id: user.user_id, reason: 'user.not_found' }];
    expect(await undo(caller, changed.operation_id)).toMatchObject({ changed: 0, skipped });
    expect((await undo(caller, scoped.operation_id)).code).toBe('operation.not_found');
    expect(await undo(admin, scoped.operation_id)).toMatchObject({ changed: 1, undo_until: null });
    expect((await rowOf(other.user_id))?.['carrier_scope']).toBeNull();
    await service.patch(`/user/${caller.user_id}`, { token: admin.token, body: { roles: ['auditor'] } });
    expect((await undo(caller, again.operation_id)).code).toBe('access.denied');
    expect(await rowOf(user.user_id)).toMatchObject({ locale: 'fr', timezone: 'UTC' });
  });

  it.each([
    ['whose role may no longer grant', '/role/granter', { may_grant: [] }, { may_grant: ['clerk'] }],
    ['who lost the role that may grant', '/user/:caller', { roles: ['editor'] }, { roles: ['granter', 'editor'] }],
  ])('skips, for a caller %s a role, all users who have it or would get it (Z10, Z16)', async (_, path, less, more) => {
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('clerk', '{system}', '{audit:read}', '{}'),
        ('editor', '{system}', '{user:read,user:update,user:delete}', '{}'),
        ('granter', '{system}', '{}', '{clerk}')
      on conflict do nothing`);
    const caller = await loginAs(['granter', 'editor']);
    const limit = async (body: object) => {
      const changed = await service.patch(path.replace(':caller', caller.user_id), { token: admin.token, body });
      expect(changed.status).toBe(200);
    };
    const [given, taken, plain] = [await system(['reader']), await system(['clerk']), await system(['reader'])];
    const deleted = await system(['clerk']);
    const done = [
      (await patch(caller, filterOf(given), { roles_add: ['clerk'] })).body,
      (await patch(caller, filterOf(taken, plain), { roles: [] })).body,
      (await service.delete(`/user/all?${filterOf(deleted)}`, caller)).body,
    ];
    expect(done.map(({ changed }) => changed)).toEqual([1, 2, 1]);
    await limit(less);
    const undone = [];
    for (const { operation_id } of done) undone.push(await undo(caller, operation_id));
    expect(undone).toMatchObject([
      { changed: 0, skipped: [{ user_id: given.user_id, reason: 'access.protected_user' }] },
      { changed: 1, skipped: [{ user_id: taken.user_id, reason: 'access.grant_exceeds_own' }] },
      { changed: 0, skipped: [{ user_id: deleted.user_id, reason: 'access.protected_user' }] },
    ]);
    const rows = [await rowOf(given.user_id), await rowOf(taken.user_id), await rowOf(plain.user_id)];
    expect(rows.map((row) => row?.['roles'])).toEqual([['clerk', 'reader'], [], ['reader']]);
    expect((await rowOf(deleted.user_id))?.['deleted_at']).not.toBeNull();
    // Control: with the right, the same undos succeed.
    await limit(more);
    for (const { operation_id } of done) expect(await undo(caller, operation_id)).toMatchObject({ changed: 1 });
  });

  it('restores nothing to a purged user who was imported again (Z19)', async () => {
    const user = await system(['administrator']);
    const { operation_id } = (await patch(admin, filterOf(user), { roles: [] })).body;
    const left = (await rowOf(user.user_id))?.['version'];
    await service.delete(`/user/${user.user_id}?purge=true`, admin);
    // Without the tombstone an import accepts the id, and the undo must still be safe.
    await service.rows('delete from user_tombstones where user_id = $1', [user.user_id]);
    const row = { user_id: user.user_id, user_type: 'system', name: 'again', email: 'again@example.com' };
    expect((await importRows(service, [row], admin)).body.changed).toBe(1);
    await patch(admin, filterOf(user), { locale: 'fr' });
    expect(await rowOf(user.user_id)).toMatchObject({ version: left, roles: [] });
    expect(await undo(admin, operation_id)).toMatchObject({
      ...{ changed: 0, skipped_reasons: { 'user.version_mismatch': 1 } },
    });
    expect((await rowOf(user.user_id))?.['roles']).toEqual([]);
  });

  describe('of changes that suspend an invitation', () => {
    type Invited = User & { email: string; token: string | null };
    const invited = async (): Promise<Invited> => {
      const user = await service.inviteUser();
      return { ...user, token: (await service.mailbox.take(user.email)).token };
    };
    const setStatus = (user: User, status: string) =>
      service.patch(`/user/${user.user_id}`, { token: admin.token, body: { status } });
    const remove = (user: User) => service.delete(`/user/${user.user_id}`, admin);
    const restore = (user: User) => service.post(`/user/${user.user_id}/restore`, admin);
    const open = async (token: string | null) => (await service.get(`/auth/reset/${token}`)).status;
    const use = (token: string | null): Promise<TestAnswer> =>
      service.post(`/auth/reset/${token}`, { body: { password: 'the owner chose this one' } });
    const mailsTo = (email: string) => service.mailbox.mails.filter(({ to }) => to.includes(email));

    it.each<[string, (user: User) => Promise<TestAnswer>, (user: User) => Promise<TestAnswer>]>([
      ['disabled', (user) => setStatus(user, 'disabled'), (user) => setStatus(user, 'invited')],
      ['deleted', remove, restore],
    ])('suspends the link of a %s user, which works again afterwards (R41)', async (title, suspend, resume) => {
      const user = await invited();
      await suspend(user);
      const rejected = await use(user.token);
      expect([await open(user.token), rejected.status, rejected.body.code]).toEqual([404, 404, 'reset.token_invalid']);
      expect((await resume(user)).body.status).toBe('invited');
      expect(await open(user.token)).toBe(200);
      expect((await use(user.token)).status).toBe(204);

      // A mail that was not delivered before is sent afterwards, and not in between.
      const email = `late-${title}@example.com`;
      service.mailbox.unknown.add(email);
      const late = await service.inviteUser({ email });
      await service.until(async () => (await service.get('/mail/list?state=retrying', admin)).body.items.length === 1);
      await suspend(late);
      service.mailbox.unknown.delete(email);
      await service.rows('update graphile_worker._private_jobs set run_at = now()');
      await queueEmpty(service);
      expect(mailsTo(email)).toEqual([]);
      await resume(late);
      expect((await use((await service.mailbox.take(email)).token)).status).toBe(204);
    });

    it('mails the invitation after enabling to the address that was corrected meanwhile (R41, E30)', async () => {
      const user = await invited();
      await setStatus(user, 'disabled');
      const email = `right-${user.email}`;
      const changed = await service.patch(`/user/${user.user_id}`, { token: admin.token, body: { email } });
      expect(changed.body).toMatchObject({ email, email_pending: null });
      expect((await setStatus(user, 'invited')).status).toBe(200);
      // The change of the address may have mailed one too, which the newer one voids.
      await queueEmpty(service);
      expect((await use(mailsTo(email).at(-1)?.token ?? null)).status).toBe(204);
      expect((await use(user.token)).status).toBe(404);
      expect(mailsTo(user.email)).toEqual([]);
    });

    it('restores the links of a change, a deletion or a bulk change back, and counts expired ones (R41)', async () => {
      const [live, expired, deleted, enabled] = [await invited(), await invited(), await invited(), await invited()];
      await service.rows('update one_time_tokens set expires_at = now() where user_id = $1', [expired.user_id]);
      const disabled = await patch(admin, filterOf(live, expired), { status: 'disabled' });
      expect(disabled.body).toMatchObject({ changed: 2, links_restored: 0, links_expired: 0 });
      const counts = { changed: 2, links_restored: 1, links_expired: 1 };
      expect(await undo(admin, disabled.body.operation_id)).toMatchObject(counts);
      expect([(await use(live.token)).status, await open(expired.token)]).toEqual([204, 404]);
      await queueEmpty(service);
      expect(mailsTo(expired.email)).toEqual([]);

      const { body } = await service.delete(`/user/all?${filterOf(deleted)}`, admin);
      expect(await undo(admin, body.operation_id)).toMatchObject({ changed: 1, links_restored: 1 });
      expect((await use(deleted.token)).status).toBe(204);

      await patch(admin, filterOf(enabled), { status: 'disabled' });
      const back = await patch(admin, filterOf(enabled), { status: 'invited' });
      expect(back.body).toMatchObject({ changed: 1, links_restored: 1, links_expired: 0 });
      expect((await use(enabled.token)).status).toBe(204);
    });

    it('sends no invitation to an enabled user who was never invited, and voids all other links', async () => {
      const imported = await invited();
      await service.rows('delete from one_time_tokens where user_id = $1', [imported.user_id]);
      const active = await service.createUser();
      await service.post('/auth/reset_email', { body: { email: active.email } });
      const { token } = await service.mailbox.take(active.email);
      for (const user of [imported, active]) await setStatus(user, 'disabled');
      await setStatus(imported, 'invited');
      await setStatus(active, 'active');
      await queueEmpty(service);
      expect(mailsTo(imported.email)).toEqual([]);
      expect(await open(token)).toBe(404);
    });
  });
});
