import { randomUUID } from 'node:crypto';
import type { RememberedActorsService } from '../../src/auth/tokens/remembered-actors.service';
import { document } from '../support/contract/document';
import { errorsIn, importRows } from '../support/data/imports';
import { createKey, inSeconds, type TestKey } from '../support/data/keys';
import { visibleResponse } from '../support/data/links';
import { codeOf, type TestAnswer, type TestLogin, TestService } from '../support/service';

/** All permissions of the role `manager`. */
const everything = [
  ...['user:read', 'user:create', 'user:update', 'user:delete', 'user:purge', 'user:import'],
  ...['session:read', 'session:revoke', 'role:read', 'role:manage', 'key:manage'],
];
const exceeds = '403 access.grant_exceeds_own';
const protectedUser = '403 access.protected_user';
const protectedSelf = '403 user.self_protected';

describe('the permissions of API keys', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(
      `insert into roles (name, user_types, permissions, may_grant) values
        ('key_maker', '{system,carrier}', '{user:read,user:update,key:manage}', '{carrier_administrator}'),
        ('key_user', '{system,carrier}', '{user:read}', '{}'), ('manager', '{system}', $1, '{}'),
        ('reader', '{system}', '{user:read}', '{}'), ('helper', '{system}', '{user:update}', '{}'),
        ('root', '{system}', '{*}', '{}')`,
      [everything],
    );
  });
  afterAll(() => service.close());

  const make = (by: Pick<TestLogin, 'token'>, fields: Record<string, unknown>) =>
    service.post('/auth/key/create', {
      token: by.token,
      body: { name: 'machine', permissions: ['user:read'], expires_at: inSeconds(3_600), ...fields },
    });
  const systemUser = (roles: string[], fields: object = {}) =>
    service.loginAs({ user_type: 'system', roles, ...fields });
  const countKeys = () => service.rows('select count(*) from keys');
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];

  describe('on all routes', () => {
    const restricted = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([verb, operation]) => {
        const method = verb.toUpperCase();
        return operation['x-permission'] === 'none' ? [] : [{ name: `${method} ${path}`, method, path, operation }];
      }),
    );
    const withIds = (path: string) => path.replace(/\{[^}]+\}/g, () => randomUUID());

    it('rejects a key with all permissions exactly where the document says so (Z2)', async () => {
      const { key } = await createKey(service, ['*']);
      const refused: string[] = [];
      for (const { name, method, path } of restricted) {
        // The requests are invalid, so an accepted key changes nothing.
        const answer = await service.send(method, `${withIds(path)}?nothing=1`, { token: key });
        if (answer.status === 403) refused.push(name);
        expect([name, codeOf(answer)]).not.toEqual([name, '401 auth.token_invalid']);
      }
      const documented = restricted.filter(({ operation }) => operation['x-keys'] === false);
      expect(refused).toEqual(documented.map(({ name }) => name));
      expect(refused).toContain('POST /auth/key/create');
    });

    it('rejects a key without permissions (Z2)', async () => {
      const { key } = await createKey(service, ['voip:call']);
      for (const { name, method, path, operation } of restricted) {
        const body = 'requestBody' in operation ? {} : undefined;
        const answer = await service.send(method, withIds(path), { token: key, body });
        // The check for proxies requires the permissions that its query names.
        expect([name, codeOf(answer)]).toEqual([name, name === 'GET /auth/verify' ? '204' : '403 access.denied']);
      }
    });

    it('gives a key no rights on an own user, not even with the id of a user (Z2, Z24)', async () => {
      const { user_id } = await service.loginAs();
      const { key: token, key_id } = await createKey(service, ['voip:call']);
      await service.rows('update keys set key_id = $1 where key_id = $2', [user_id, key_id]);
      for (const path of [`/user/${user_id}`, '/auth/session/list'])
        expect(codeOf(await service.get(path, { token }))).toBe('403 access.denied');
    });
  });

  describe('when a key is created', () => {
    it('rejects permissions that the caller lacks or that no role may have (Z10)', async () => {
      const makers = [await systemUser(['key_maker']), await service.loginAs({ roles: ['key_maker'] })];
      const before = await countKeys();
      for (const by of makers)
        for (const permissions of [['*'], ['user:read', '*'], ['user:read', 'audit:read'], ['voip:call']])
          expect([permissions, codeOf(await make(by, { permissions }))]).toEqual([permissions, exceeds]);
      expect(await countKeys()).toEqual(before);
      for (const by of makers)
        expect(codeOf(await make(by, { permissions: ['user:read', 'user:update', 'key:manage'] }))).toBe('201');
      expect(codeOf(await make(admin, { permissions: ['*', 'voip:call'] }))).toBe('201');
      const long = `${'a'.repeat(64)}:${'b'.repeat(64)}`;
      for (const permission of ['User:read', 'user.x:read', 'user:', 'user:*', `a${long}`, long]) {
        const named = { name: `as.${randomUUID()}`, user_types: ['system'], permissions: [permission] };
        const role = await service.post('/role/create', { token: admin.token, body: named });
        const key = await make(admin, { permissions: [permission] });
        expect([permission, key.status]).toEqual([permission, role.status]);
      }
    });

    it('rejects a scope beyond that of the caller (Z10)', async () => {
      const scoped = await systemUser(['key_maker'], { carrier_scope: ['c1', 'c2'] });
      const none = await systemUser(['key_maker'], { carrier_scope: [] });
      const carrier = await service.loginAs({ roles: ['key_maker'] });
      for (const [by, fields, wanted] of [
        [scoped, {}, exceeds],
        [scoped, { carrier_scope: null }, exceeds],
        [scoped, { carrier_scope: ['c1', 'c3'] }, exceeds],
        [none, { carrier_scope: ['c1'] }, exceeds],
        [carrier, { carrier_scope: ['c1'] }, '400 request.invalid'],
        [carrier, { carrier_id: 'c2' }, '400 request.invalid'],
        [carrier, { user_type: 'system' }, '400 request.invalid'],
        [scoped, { carrier_scope: ['c2'] }, '201'],
        [none, { carrier_scope: [] }, '201'],
        [carrier, {}, '201'],
      ] as const)
        expect([fields, codeOf(await make(by, fields))]).toEqual([fields, wanted]);
    });

    it('rejects callers who must change their password or may not create keys, and every key (Z10)', async () => {
      const fresh = await systemUser(['administrator'], { must_change_password: true });
      expect(codeOf(await make(fresh, {}))).toBe('403 auth.password_change_required');
      for (const roles of [['operator'], []])
        expect(codeOf(await make(await systemUser(roles), {}))).toBe('403 access.denied');
      const { key } = await createKey(service, ['*', 'key:manage']);
      const before = await countKeys();
      for (const fields of [{}, { permissions: ['*'] }, { permissions: [] }, { expires_at: 'never' }])
        expect(codeOf(await make({ token: key }, fields))).toBe('403 access.denied');
      expect(await countKeys()).toEqual(before);
      // What key:manage allows a key.
      const other = await createKey(service, ['user:read']);
      expect((await service.get(`/auth/key/list?key_id=${other.key_id}`, { token: key })).body.items).toHaveLength(1);
      expect((await service.delete(`/auth/key/${other.key_id}`, { token: key })).status).toBe(204);
    });
  });

  describe('on users', () => {
    it('lets a key grant only roles that it holds, and change no user with another role (Z10)', async () => {
      // The creator may grant carrier_administrator through a role; the key has no role.
      const maker = await systemUser(['key_maker']);
      const made = await createKey(service, ['user:read', 'user:update'], {}, maker);
      const target = await service.createUser({ roles: ['carrier_user'] });
      const change = (token: string, body: object) => service.patch(`/user/${target.user_id}`, { token, body });
      const raise = { roles: ['carrier_administrator'] };
      expect(codeOf(await change(made.key, raise))).toBe(exceeds);
      expect(codeOf(await change(maker.token, raise))).toBe('200');
      expect(codeOf(await change(made.key, { locale: 'de' }))).toBe(protectedUser);
      const { key } = await createKey(service, everything);
      const person = { name: 'by-key', email: 'by-key@example.com', user_type: 'system' };
      const create = (roles: string[]) => service.post('/user/create', { token: key, body: { ...person, roles } });
      for (const roles of [['administrator'], ['operator'], ['key_user', 'auditor']])
        expect(codeOf(await create(roles))).toBe(exceeds);
      expect(codeOf(await create(['key_user']))).toBe('201');
      const victim = await service.createUser({ user_type: 'system', roles: ['operator'] });
      for (const { user_id } of [victim, admin])
        expect(codeOf(await service.patch(`/user/${user_id}`, { token: key, body: { locale: 'de' } }))).toBe(
          protectedUser,
        );
      for (const path of [`/user/${victim.user_id}`, `/auth/session/${admin.session_id}`])
        expect(codeOf(await service.delete(path, { token: key }))).toBe(protectedUser);
      const ended = await service.delete(`/auth/session/all?user_id=${admin.user_id}`, { token: key });
      expect(ended.body).toEqual({ ended: 0 });
    });
  });

  describe('on keys and users in and out of reach', () => {
    let scoped: TestLogin;
    let carrier: TestLogin;
    let keys: Record<'unscoped' | 'scoped' | 'c1' | 'c2', TestKey>;
    beforeAll(async () => {
      scoped = await systemUser(['key_maker'], { carrier_scope: ['c1'] });
      carrier = await service.loginAs({ roles: ['key_maker'] });
      const stranger = await service.loginAs({ roles: ['key_maker'], carrier_id: 'c2' });
      keys = {
        unscoped: await createKey(service, ['user:read']),
        scoped: await createKey(service, ['user:read'], { carrier_scope: ['c1'] }, scoped),
        c1: await createKey(service, ['user:read', 'user:update'], {}, carrier),
        c2: await createKey(service, ['user:read'], {}, stranger),
      };
    });

    it('lists and counts no key out of reach, and revokes none (Z3)', async () => {
      const colleague = await systemUser(['key_maker'], { carrier_scope: ['c1'] });
      const machine = await createKey(service, ['key:manage'], { carrier_scope: ['c1'] });
      const ids = Object.values(keys).map(({ key_id }) => key_id);
      for (const [by, visible] of [
        [admin, ['unscoped', 'scoped', 'c1', 'c2']],
        [scoped, ['scoped', 'c1']],
        [colleague, ['c1']],
        [{ token: machine.key }, ['c1']],
        [carrier, ['c1']],
      ] as const) {
        const { body } = await service.get(`/auth/key/list?key_id_in=${ids.join()}&count=exact`, by);
        const found = (body.items as TestKey[]).map(({ key_id }) => key_id);
        expect(found.sort()).toEqual(visible.map((name) => keys[name].key_id).sort());
        expect(body.total.value).toBe(visible.length);
        for (const key_id of ids.filter((id) => !found.includes(id))) {
          const refused = await service.delete(`/auth/key/${key_id}`, by);
          const unknown = await service.delete(`/auth/key/${randomUUID()}`, by);
          expect(visibleResponse(refused)).toEqual(visibleResponse(unknown));
          expect(codeOf(refused)).toBe('404 key.not_found');
        }
      }
      const revoked = 'select 1 from keys where key_id = any($1) and revoked_at is not null';
      expect(await service.rows(revoked, [ids])).toEqual([]);
    });

    it('shows a key with more permissions than the caller, but does not revoke it (Z10)', async () => {
      const { key_id } = await createKey(service, ['*']);
      const maker = await systemUser(['key_maker']);
      const { key: weak } = await createKey(service, ['key:manage']);
      for (const token of [maker.token, weak])
        expect(codeOf(await service.delete(`/auth/key/${key_id}`, { token }))).toBe(exceeds);
      expect((await service.delete(`/auth/key/${key_id}`, { token: admin.token })).status).toBe(204);
    });

    it('gives a key what its scope and the user type of its creator allow, also later (Z3, Z4)', async () => {
      const users = [
        await service.createUser({ carrier_id: 'c1' }),
        await service.createUser({ carrier_id: 'c2' }),
        await service.createUser({ user_type: 'system' }),
      ];
      const [one, two, system] = users.map(({ user_id }) => user_id) as [string, string, string];
      const none = await createKey(service, ['user:read'], { carrier_scope: [] });
      // A wider scope of the creator does not widen the scope of the key.
      await service.patch(`/user/${scoped.user_id}`, { token: admin.token, body: { carrier_scope: ['c1', 'c2'] } });
      for (const [{ key: token }, visible] of [
        [keys.unscoped, [one, two, system]],
        [keys.scoped, [one]],
        [keys.c1, [one]],
        [keys.c2, [two]],
        [none, []],
      ] as const) {
        const { items } = (await service.get('/user/list?per_page=500', { token })).body;
        const listed = (items as { user_id: string }[]).map(({ user_id }) => user_id);
        for (const id of [one, two, system]) {
          const { status } = await service.get(`/user/${id}`, { token });
          const expected = (visible as readonly string[]).includes(id) ? [true, 200] : [false, 404];
          expect([listed.includes(id), status]).toEqual(expected);
        }
        // The creator and the key are different actors.
        if (token === keys.scoped.key) expect(listed).not.toContain(scoped.user_id);
      }
      const change = { token: keys.c1.key, body: { locale: 'de' } };
      expect(codeOf(await service.patch(`/user/${two}`, change))).toBe('404 user.not_found');
      expect((await service.patch('/user/all?carrier_id=c2', change)).body.matched).toBe(0);
    });
  });

  describe('on the creator', () => {
    /** a manager, and a key with all permissions of the manager */
    let user_id: string;
    let key: string;
    let key_id: string;
    beforeAll(async () => {
      const manager = await systemUser(['manager', 'reader'], { second_factor_required_from: '2030-01-01T00:00:00Z' });
      ({ user_id } = manager);
      ({ key, key_id } = await createKey(service, everything, {}, manager));
    });
    const restriction = (must_change_password: boolean) =>
      service.rows('update users set must_change_password = $2 where user_id = $1', [user_id, must_change_password]);

    it.each<[name: string, body: Record<string, unknown>, kind: 'both' | 'bulk' | 'single']>([
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
    ])('lets no key change %s of its creator, singly or in bulk (Z31)', async (_name, body, kind) => {
      await restriction(true);
      const before = await rowOf(user_id);
      const other = await service.createUser({ user_type: 'system', roles: ['manager', 'reader'] });
      const single = (id: string) => service.patch(`/user/${id}`, { token: key, body });
      const bulk = async (id: string, query = '') =>
        (await service.patch(`/user/all?user_id=${id}${query}`, { token: key, body })).body;
      if (kind !== 'bulk') expect(codeOf(await single(user_id))).toBe(protectedSelf);
      if (kind !== 'single') {
        const skipped = [{ user_id, reason: 'user.self_protected' }];
        expect(await bulk(user_id, '&dry_run=true')).toMatchObject({ would_change: 0, skipped });
        expect(await bulk(user_id)).toMatchObject({ changed: 0, skipped });
      }
      expect(await rowOf(user_id)).toEqual(before);
      // Control: the same change of another user.
      if (kind === 'bulk') expect((await bulk(other.user_id)).changed).toBe(1);
      else expect(codeOf(await single(other.user_id))).toBe('200');
    });

    it('lets no key delete, purge or import its creator (Z31)', async () => {
      const before = await rowOf(user_id);
      for (const query of ['', '?purge=true'])
        expect(codeOf(await service.delete(`/user/${user_id}${query}`, { token: key }))).toBe(protectedSelf);
      const bulk = await service.delete(`/user/all?user_id=${user_id}`, { token: key });
      expect(bulk.body).toMatchObject({ changed: 0, skipped_reasons: { 'user.self_protected': 1 } });
      const row = { user_type: 'system', name: before?.['name'], email: before?.['email'], roles: [], user_id };
      expect((await importRows(service, [row], { token: key })).body).toMatchObject({ changed: 0 });
      expect(await rowOf(user_id)).toEqual(before);
    });

    it('keeps the creator of a key for work that continues after the request (Z31)', async () => {
      await restriction(false);
      const work = { session_id: null, ip: null, request_id: null, permission: 'user:update' };
      const remembered = service.inside<RememberedActorsService>('RememberedActorsService');
      const ofKey = await remembered.of({ actor_type: 'key', actor_id: key_id, ...work });
      expect(ofKey).toMatchObject({ actor_type: 'key', user_id: key_id, created_by: user_id });
      const ofUser = await remembered.of({ actor_type: 'user', actor_id: user_id, ...work });
      expect(ofUser).toMatchObject({ user_id, created_by: null });
    });

    it('lets no key undo what an administrator did to its creator, or restore its creator (Z31)', async () => {
      await restriction(false);
      for (const [method, body] of [
        ['PATCH', { must_change_password: true }],
        ['PATCH', { second_factor_required_from: '2031-01-01T00:00:00Z' }],
        ['PATCH', { roles: ['manager'] }],
        ['PATCH', { status: 'disabled' }],
        ['DELETE', undefined],
      ] as const) {
        const { operation_id } = (await service.send(method, `/user/all?user_id=${user_id}`, { ...admin, body })).body;
        const before = await rowOf(user_id);
        const undone = await service.post(`/user/operation/${operation_id}/undo`, { token: key });
        expect(undone.body).toMatchObject({ changed: 0, skipped: [{ user_id, reason: 'user.self_protected' }] });
        expect(await rowOf(user_id)).toEqual(before);
      }
      expect(codeOf(await service.post(`/user/${user_id}/restore`, { token: key }))).toBe(protectedSelf);
      expect((await rowOf(user_id))?.['deleted_at']).not.toBeNull();
      // Control: keys of deleted users stay valid.
      expect((await service.get('/user/list', { token: key })).status).toBe(200);
    });
  });

  describe('of a key with *', () => {
    let token: string;
    beforeAll(async () => {
      token = (await createKey(service, ['*'])).key;
    });

    it('lets no key grant or revoke the role administrator, or another with *, in any request (Z31)', async () => {
      const user = await service.createUser({ user_type: 'system', roles: ['reader'] });
      const strong = await service.createUser({ user_type: 'system', roles: ['root'] });
      const [bulk, all] = [`/user/all?user_id=${user.user_id}`, `/user/all?user_id=${strong.user_id}`];
      for (const role of ['administrator', 'root']) {
        expect(codeOf(await service.patch(`/user/${user.user_id}`, { token, body: { roles: [role] } }))).toBe(exceeds);
        for (const body of [{ roles: [role] }, { roles_add: [role] }, { roles_remove: [role] }])
          expect([body, codeOf(await service.patch(bulk, { token, body }))]).toEqual([body, exceeds]);
        const fields = { user_type: 'system', name: 'made', email: 'made@example.com', roles: [role] };
        expect(codeOf(await service.post('/user/create', { token, body: fields }))).toBe(exceeds);
        const { body } = await importRows(service, [fields], { token });
        expect([body.changed, errorsIn(body)]).toMatchObject([0, [{ pointer: '/roles' }]]);
      }
      const undo = async ({ body: { operation_id } }: TestAnswer) =>
        (await service.post(`/user/operation/${operation_id}/undo`, { token })).body;
      const demoted = await service.patch(all, { ...admin, body: { roles: ['reader'] } });
      expect(await undo(demoted)).toMatchObject({ changed: 0, skipped_reasons: { 'access.grant_exceeds_own': 1 } });
      await service.patch(`/user/${strong.user_id}`, { ...admin, body: { roles: ['root'] } });
      const deleted = await service.delete(all, admin);
      expect(codeOf(await service.post(`/user/${strong.user_id}/restore`, { token }))).toBe(protectedUser);
      expect(await undo(deleted)).toMatchObject({ changed: 0, skipped_reasons: { 'access.protected_user': 1 } });
      expect(await service.rows(`select 1 from users where name = 'made'`)).toEqual([]);
      expect((await rowOf(user.user_id))?.['roles']).toEqual(['reader']);
    });

    it('lets no key add * to a role, or let a role grant a role with * (Z31)', async () => {
      const roles = () => service.rows('select * from roles order by name');
      const before = await roles();
      const named = { name: 'detour', user_types: ['system'], permissions: ['user:read'] };
      const create = (body: object) => service.post('/role/create', { token, body });
      const change = (role: string, body: object) => service.patch(`/role/${role}`, { token, body });
      for (const answer of [
        await create({ ...named, permissions: ['*'] }),
        await create({ ...named, may_grant: ['administrator'] }),
        await change('reader', { permissions: ['user:read', '*'] }),
        await change('reader', { may_grant: ['root'] }),
        await change('root', { permissions: ['user:read'] }),
        await change('root', { second_factor_required_from: null }),
        await service.delete('/role/root', { token }),
      ])
        expect(codeOf(answer)).toBe(exceeds);
      expect(await roles()).toEqual(before);
      expect(codeOf(await create(named))).toBe('201');
      // Roles without * can be granted.
      const { user_id } = await service.createUser({ user_type: 'system' });
      const given = await service.patch(`/user/${user_id}`, { token, body: { roles: ['manager'] } });
      expect([given.status, given.body.roles]).toEqual([200, ['manager']]);
    });
  });
});
