import { randomUUID } from 'node:crypto';
import { createKey, inSeconds, type TestKey } from '../../support/keys';
import { visibleResponse } from '../../support/links';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

describe('API keys', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions, may_grant) values
      ('key_maker', '{system,carrier}', '{user:read,user:update,key:manage}', '{carrier_administrator}'),
      ('key_user', '{system,carrier}', '{user:read}', '{}')`);
  });
  afterAll(() => service.close());

  const code = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const make = (by: Pick<TestLogin, 'token'>, fields: Record<string, unknown>) =>
    service.post('/auth/key/create', {
      token: by.token,
      body: { name: 'machine', permissions: ['user:read'], expires_at: inSeconds(3_600), ...fields },
    });
  const count = async () => Number((await service.rows<{ count: string }>('select count(*) from keys'))[0]?.count);
  const sees = async (token: string) =>
    ((await service.get('/user/list?per_page=500', { token })).body.items as { user_id: string }[]).map(
      (u) => u.user_id,
    );

  describe('with more permissions than their creator', () => {
    it('rejects a key with a permission that the caller lacks (Z10)', async () => {
      const maker = await service.loginAs({ user_type: 'system', roles: ['key_maker'] });
      const carrier = await service.loginAs({ roles: ['key_maker'] });
      const before = await count();
      for (const by of [maker, carrier])
        for (const permissions of [
          ['*'],
          ['user:delete'],
          ['user:read', '*'],
          ['user:read', 'user:update', 'audit:read'],
          ['voip:call'],
        ])
          expect([permissions, code(await make(by, { permissions }))]).toEqual([
            permissions,
            '403 access.grant_exceeds_own',
          ]);
      expect(await count()).toBe(before);
      // Control: a permission that the caller holds.
      for (const by of [maker, carrier])
        expect(code(await make(by, { permissions: ['user:read', 'user:update', 'key:manage'] }))).toBe('201');
      expect(code(await make(admin, { permissions: ['*', 'voip:call'] }))).toBe('201');
      // Keys and roles accept the same permissions.
      for (const permission of [
        'User:read',
        'user.x:read',
        'user:',
        'user:*',
        `${'a'.repeat(65)}:b`,
        `${'a'.repeat(64)}:${'b'.repeat(64)}`,
      ]) {
        const named = { name: `as.${randomUUID()}`, user_types: ['system'], permissions: [permission] };
        const role = await service.post('/role/create', { token: admin.token, body: named });
        const key = await make(admin, { permissions: [permission] });
        expect([permission, key.status]).toEqual([permission, role.status]);
      }
    });

    it('rejects a key beyond the scope of the caller (Z10)', async () => {
      const scoped = await service.loginAs({ user_type: 'system', roles: ['key_maker'], carrier_scope: ['c1', 'c2'] });
      const none = await service.loginAs({ user_type: 'system', roles: ['key_maker'], carrier_scope: [] });
      const carrier = await service.loginAs({ roles: ['key_maker'] });
      for (const [by, fields, wanted] of [
        [scoped, {}, '403 access.grant_exceeds_own'],
        [scoped, { carrier_scope: null }, '403 access.grant_exceeds_own'],
        [scoped, { carrier_scope: ['c1', 'c3'] }, '403 access.grant_exceeds_own'],
        [scoped, { carrier_scope: ['C1'] }, '403 access.grant_exceeds_own'],
        [none, { carrier_scope: ['c1'] }, '403 access.grant_exceeds_own'],
        [none, {}, '403 access.grant_exceeds_own'],
        [carrier, { carrier_scope: ['c1'] }, '400 request.invalid'],
        [carrier, { carrier_scope: null }, '400 request.invalid'],
        [carrier, { carrier_scope: [] }, '400 request.invalid'],
        [carrier, { carrier_id: 'c2' }, '400 request.invalid'],
        [carrier, { user_type: 'system' }, '400 request.invalid'],
        [scoped, { carrier_scope: ['c2'] }, '201'],
        [scoped, { carrier_scope: [] }, '201'],
        [none, { carrier_scope: [] }, '201'],
        [carrier, {}, '201'],
      ] as const)
        expect([fields, code(await make(by, fields))]).toEqual([fields, wanted]);
    });

    it('rejects keys of callers who must change their password or may not create keys (Z10)', async () => {
      const fresh = await service.loginAs({
        user_type: 'system',
        roles: ['administrator'],
        must_change_password: true,
      });
      expect(code(await make(fresh, {}))).toBe('403 auth.password_change_required');
      for (const roles of [['operator'], ['auditor'], ['key_user'], []])
        expect(code(await make(await service.loginAs({ user_type: 'system', roles }), {}))).toBe('403 access.denied');
    });

    it('lets no key create a key, regardless of its permissions and the body (Z10)', async () => {
      const { key } = await createKey(service, ['*', 'key:manage']);
      const before = await count();
      for (const fields of [{}, { permissions: ['*'] }, { permissions: [] }, { expires_at: 'never' }])
        expect(code(await make({ token: key }, fields))).toBe('403 access.denied');
      expect(await count()).toBe(before);
      // What key:manage allows a key.
      const other = await createKey(service, ['user:read']);
      expect((await service.get(`/auth/key/list?key_id=${other.key_id}`, { token: key })).body.items).toHaveLength(1);
      expect((await service.delete(`/auth/key/${other.key_id}`, { token: key })).status).toBe(204);
      const [row] = await service.rows('select revoked_by from keys where key_id = $1', [other.key_id]);
      expect(row?.['revoked_by']).not.toBe(admin.user_id);
    });

    it('lets a key grant only roles that it holds, and change no user with another role (Z10)', async () => {
      // The creator may grant carrier_administrator through a role; the key has no role.
      const maker = await service.loginAs({ user_type: 'system', roles: ['key_maker'] });
      const made = await createKey(service, ['user:read', 'user:update'], {}, maker);
      const target = await service.createUser({ roles: ['carrier_user'] });
      const raise = (token: string) =>
        service.patch(`/user/${target.user_id}`, { token, body: { roles: ['carrier_administrator'] } });
      expect(code(await raise(made.key))).toBe('403 access.grant_exceeds_own');
      expect(code(await raise(maker.token))).toBe('200');
      expect(code(await service.patch(`/user/${target.user_id}`, { token: made.key, body: { locale: 'de' } }))).toBe(
        '403 access.protected_user',
      );
      const { key } = await createKey(service, ['user:read', 'user:create', 'user:update', 'user:delete']);
      const name = `k-${randomUUID()}`;
      const create = (fields: object) =>
        service.post('/user/create', {
          token: key,
          body: { name, email: `${name}@example.com`, user_type: 'system', ...fields },
        });
      for (const roles of [['administrator'], ['operator'], ['key_maker'], ['key_user', 'auditor']])
        expect(code(await create({ roles }))).toBe('403 access.grant_exceeds_own');
      const victim = await service.createUser({ user_type: 'system', roles: ['operator'] });
      for (const [method, body] of [
        ['PATCH', { locale: 'de' }],
        ['DELETE', undefined],
      ] as const)
        expect(code(await service.send(method, `/user/${victim.user_id}`, { token: key, body }))).toBe(
          '403 access.protected_user',
        );
      // The administrator who created the key is protected too.
      expect(code(await service.patch(`/user/${admin.user_id}`, { token: key, body: { locale: 'de' } }))).toBe(
        '403 access.protected_user',
      );
      expect(code(await create({ roles: ['key_user'] }))).toBe('201');
    });

    it('lets no key remove the last administrator (Z14)', async () => {
      const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const keys = [await createKey(service, ['*']), await createKey(service, ['*'], {}, other)];
      await service.rows(`update users set status = 'disabled' where 'administrator' = any(roles) and user_id <> $1`, [
        admin.user_id,
      ]);
      for (const [method, body] of [
        ['PATCH', { status: 'disabled' }],
        ['PATCH', { roles: [] }],
        ['PATCH', { carrier_scope: ['c1'] }],
        ['DELETE', undefined],
      ] as const) {
        const send = ({ key }: TestKey) => service.send(method, `/user/${admin.user_id}`, { token: key, body });
        expect(await Promise.all(keys.map(async (key) => code(await send(key))))).toEqual([
          '403 user.self_protected',
          '403 access.protected_user',
        ]);
      }
    });
  });

  describe('keys of other creators', () => {
    let scoped: TestLogin;
    let carrier: TestLogin;
    let keys: Record<'unscoped' | 'scoped' | 'c1' | 'c2', TestKey>;
    beforeAll(async () => {
      scoped = await service.loginAs({ user_type: 'system', roles: ['key_maker'], carrier_scope: ['c1'] });
      carrier = await service.loginAs({ roles: ['key_maker'] });
      const stranger = await service.loginAs({ roles: ['key_maker'], carrier_id: 'c2' });
      keys = {
        unscoped: await createKey(service, ['user:read']),
        scoped: await createKey(service, ['user:read'], { carrier_scope: ['c1'] }, scoped),
        c1: await createKey(service, ['user:read'], {}, carrier),
        c2: await createKey(service, ['user:read'], {}, stranger),
      };
    });

    it('lists and counts no key out of reach, and revokes none (Z3)', async () => {
      const colleague = await service.loginAs({ user_type: 'system', roles: ['key_maker'], carrier_scope: ['c1'] });
      const machine = await createKey(service, ['key:manage'], { carrier_scope: ['c1'] });
      for (const [by, visible] of [
        [admin, ['unscoped', 'scoped', 'c1', 'c2']],
        [scoped, ['scoped', 'c1']],
        [colleague, ['c1']],
        [{ token: machine.key }, ['c1']],
        [carrier, ['c1']],
      ] as const) {
        const ids = Object.values(keys).map(({ key_id }) => key_id);
        const { body } = await service.get(`/auth/key/list?key_id_in=${ids.join()}&count=exact`, by);
        expect((body.items as TestKey[]).map(({ key_id }) => key_id).sort()).toEqual(
          visible.map((name) => keys[name].key_id).sort(),
        );
        expect(body.total.value).toBe(visible.length);
        for (const name of Object.keys(keys) as (keyof typeof keys)[]) {
          if ((visible as readonly string[]).includes(name)) continue;
          const refused = await service.delete(`/auth/key/${keys[name].key_id}`, by);
          expect(visibleResponse(refused)).toEqual(
            visibleResponse(await service.delete(`/auth/key/${randomUUID()}`, by)),
          );
          expect(code(refused)).toBe('404 key.not_found');
        }
      }
      expect(
        await service.rows('select 1 from keys where key_id = any($1) and revoked_at is not null', [
          Object.values(keys).map(({ key_id }) => key_id),
        ]),
      ).toEqual([]);
    });

    it('gives a key only what the user type of its creator and its own scope allow (Z3)', async () => {
      const [one, two, system] = [
        await service.createUser({ carrier_id: 'c1' }),
        await service.createUser({ carrier_id: 'c2' }),
        await service.createUser({ user_type: 'system' }),
      ].map(({ user_id }) => user_id) as [string, string, string];
      const none = await createKey(service, ['user:read'], { carrier_scope: [] });
      for (const [{ key }, visible] of [
        [keys.unscoped, [one, two, system]],
        [keys.scoped, [one]],
        [keys.c1, [one]],
        [keys.c2, [two]],
        [none, []],
      ] as const) {
        const found = await sees(key);
        for (const id of [one, two, system]) {
          const status = (await service.get(`/user/${id}`, { token: key })).status;
          expect([found.includes(id), status]).toEqual(
            (visible as readonly string[]).includes(id) ? [true, 200] : [false, 404],
          );
        }
        // The creator and the key are different actors.
        if (key === keys.scoped.key) expect(found).not.toContain(scoped.user_id);
      }
    });

    it('keeps the scope of a key when the scope of its creator widens later (Z3, Z4)', async () => {
      const { key } = await createKey(service, ['user:read', 'user:update'], {}, carrier);
      const foreign = await service.createUser({ carrier_id: 'c2' });
      expect(code(await service.patch(`/user/${foreign.user_id}`, { token: key, body: { locale: 'de' } }))).toBe(
        '404 user.not_found',
      );
      expect(
        (await service.patch('/user/all?carrier_id=c2', { token: key, body: { locale: 'de' } })).body.matched,
      ).toBe(0);
      await service.patch(`/user/${scoped.user_id}`, { token: admin.token, body: { carrier_scope: ['c1', 'c2'] } });
      expect(await sees(keys.scoped.key)).not.toContain(foreign.user_id);
    });
  });

  it('shows a key with more permissions than the caller, but does not let the caller revoke it (Z10)', async () => {
    const { key_id } = await createKey(service, ['*']);
    const maker = await service.loginAs({ user_type: 'system', roles: ['key_maker'] });
    const { key: weak } = await createKey(service, ['key:manage']);
    for (const token of [maker.token, weak])
      expect(code(await service.delete(`/auth/key/${key_id}`, { token }))).toBe('403 access.grant_exceeds_own');
    expect(await service.rows('select revoked_at from keys where key_id = $1', [key_id])).toEqual([
      { revoked_at: null },
    ]);
    expect((await service.delete(`/auth/key/${key_id}`, { token: admin.token })).status).toBe(204);
  });
});
