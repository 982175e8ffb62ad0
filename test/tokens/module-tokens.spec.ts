import { ownPermissions } from '../../src/access/permissions';
import type { RememberedActorsService } from '../../src/auth/tokens/remembered-actors.service';
import { createKey, type TestKey } from '../support/data/keys';
import { Authenticator } from '../support/logins/second-factors';
import { adminEmail, password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { decode, forge, ownKey } from '../support/logins/tokens';
import { until } from '../support/until';

const own = 'carrier-platform';
const limits = { audience: ['billing'], permissions: ['user:read', 'billing:read'] };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const requestsPerMinute = 40;

describe('tokens at the modules of the platform', () => {
  let service: TestService;
  /** resource servers: users and keys who introspect tokens */
  let module_: TestLogin;
  let scoped: TestLogin;
  let moduleKey: TestKey;
  beforeAll(async () => {
    service = await TestService.start({
      TOKEN_AUDIENCES: 'billing, https://crm.example.net',
      REQUESTS_PER_ADDRESS_PER_MINUTE: String(requestsPerMinute),
    });
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('clerk', '{carrier,system}', '{user:read,user:update,billing:read,billing:write}', '{carrier_administrator}'),
        ('reader', '{carrier,system}', '{user:read}', '{}'),
        ('key_maker', '{carrier}', '{key:manage,user:read}', '{}'),
        ('resource_server', '{system}', '{token:introspect}', '{}')`);
    module_ = await service.loginAs({ user_type: 'system', roles: ['resource_server'] });
    scoped = await service.loginAs({ user_type: 'system', roles: ['resource_server'], carrier_scope: ['c2'] });
    moduleKey = await createKey(service, ['token:introspect']);
  });
  afterAll(() => service.close());

  const check = (token: string) => service.post('/auth/check-token', { body: { token } });
  const introspect = (token: string, by: { token: string } = { token: moduleKey.key }, fields: object = {}) => {
    const body = new URLSearchParams({ token, ...fields }).toString();
    return service.post('/auth/introspect', { token: by.token, headers: form, body });
  };
  const seen = async (by: { token: string }, token: string) => {
    const { status, body } = await introspect(token, by);
    return [status, body];
  };
  const inactive = [200, { active: false }];

  describe('a limited token', () => {
    const clerk = () => service.createUser({ roles: ['clerk'] });
    const login = (name: string, fields: object = limits, secret = password): Promise<TestAnswer> =>
      service.post('/auth/login', { body: { login: name, password: secret, ...fields } });
    const loginOf = async (name: string, fields?: object) => {
      const { status, body, text } = await login(name, fields);
      if (status !== 200) throw new Error(text);
      return body as { access_token: string; refresh_token: string; session_id: string };
    };
    const refresh = (refresh_token: string, fields: object = {}) =>
      service.post('/auth/check-token', { body: { refresh_token, ...fields } });
    const rightsIn = (token: string) => {
      const { aud, permissions, roles } = decode(token);
      return { aud, permissions, roles };
    };
    const limited = { aud: limits.audience, permissions: limits.permissions, roles: undefined };
    const codeOf = ({ status, body }: TestAnswer) => [
      status,
      body.code,
      ...((body.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer),
    ];
    const exceeded = [400, 'auth.scope_exceeded'];

    it('contains the requested audience and permissions, and no roles, unlike other tokens (J30)', async () => {
      const { name } = await clerk();
      expect(rightsIn((await loginOf(name)).access_token)).toEqual(limited);
      const usual = decode((await loginOf(name, {})).access_token);
      expect(usual).toMatchObject({ aud: own, client_id: own, roles: ['clerk'] });
      expect(usual).not.toHaveProperty('permissions');
      const all = expect.arrayContaining(['billing:read', 'billing:write', 'user:read', 'user:update']);
      for (const [fields, aud, permissions] of [
        [{ audience: [own] }, [own], all],
        [{ permissions: [] }, own, []],
      ] as const)
        expect(rightsIn((await loginOf(name, fields)).access_token)).toEqual({ aud, permissions, roles: undefined });
    });

    it('grants only its permissions at check-token, introspection and this service (J30)', async () => {
      const { name, user_id } = await clerk();
      const { access_token: token } = await loginOf(name, { permissions: ['user:read'] });
      for (const answer of [await check(token), await check(token), await service.get('/user', { token })])
        expect([answer.status, answer.body.permissions]).toEqual([200, ['user:read']]);
      // A module must not act on roles that the token does not contain.
      expect((await check(token)).body.user.roles).toEqual([]);
      const { body } = await introspect(token);
      expect(body).toMatchObject({ active: true, aud: own, scope: 'user:read' });
      expect(body).not.toHaveProperty('roles');
      expect((await service.get('/user/list', { token })).status).toBe(200);
      const rename = { token, body: { first_name: 'Eve' } };
      const { user_id: other } = await service.createUser();
      expect(codeOf(await service.patch(`/user/${other}`, rename))).toEqual([403, 'access.denied']);
      // Nor the background work of the session.
      const actors = service.inside<RememberedActorsService>('RememberedActorsService');
      const { session_id } = await loginOf(name, { permissions: ['user:update'] });
      const work = { actor_type: 'user' as const, actor_id: user_id, session_id, ip: null, request_id: null };
      const actor = await actors.of({ ...work, permission: 'user:update' });
      expect([actor.permissions, actor.may_grant]).toEqual([['user:update'], []]);
      await expect(actors.of({ ...work, permission: 'user:read' })).rejects.toThrow('access.denied');
      const unlimited = await actors.of({ ...work, session_id: null, permission: 'user:read' });
      expect(unlimited.may_grant).toEqual(['carrier_administrator']);
    });

    it('enrols no factor and grants no role of may_grant, unlike other tokens of the user (J30)', async () => {
      const { name } = await clerk();
      const { user_id } = await service.createUser();
      const tokenWith = async (permissions?: string[]) => (await loginOf(name, { permissions })).access_token;
      const [limitedToken, whole] = [await tokenWith(['user:update', 'user:read']), await tokenWith()];
      const grant = async (token: string) =>
        (await service.patch(`/user/${user_id}`, { token, body: { roles: ['carrier_administrator'] } })).body.code;
      expect([await grant(limitedToken), await grant(whole)]).toEqual(['access.grant_exceeds_own', undefined]);
      // With an own factor, a module could log in without the limits.
      for (const [path, body] of [
        ['/auth/factor/totp', {}],
        ['/auth/factor/passkey/options', undefined],
        ['/auth/factor/recovery-codes', undefined],
      ] as const)
        expect([path, codeOf(await service.post(path, { token: limitedToken, body }))]).toEqual([
          ...[path, [403, 'access.denied']],
        ]);
      expect((await service.post('/auth/factor/totp', { token: whole, body: {} })).status).toBe(201);
    });

    it('is rejected here if issued for other audiences, even the token of an administrator (J30)', async () => {
      const { access_token: token, refresh_token, session_id } = await loginOf(adminEmail, limits);
      const routes: [string, string, object?][] = [
        ['GET', '/user/list'],
        ['POST', '/auth/logout', {}],
        ['POST', '/auth/reauthenticate', { password }],
        ['DELETE', `/auth/session/${session_id}`],
      ];
      // The second round finds the token in memory.
      for (const [method, path, body] of [...routes, ...routes]) {
        const answer = await service.send(method, path, { token, body });
        expect([method, path, codeOf(answer)]).toEqual([method, path, [401, 'auth.token_invalid']]);
        expect((await check(token)).body.permissions).toEqual(limits.permissions);
      }
      for (const by of [moduleKey.key, token]) {
        const { body } = await introspect(token, { token: by });
        expect(body).toMatchObject({ active: true, aud: ['billing'], scope: 'user:read billing:read' });
      }
      expect((await service.post('/auth/check-token', { token })).status).toBe(200);
      expect((await service.post('/auth/logout', { body: { refresh_token } })).status).toBe(204);
      expect((await check(token)).status).toBe(401);
    });

    it('is not issued for unknown audiences, excessive limits and malformed names (J30)', async () => {
      const { name, user_id } = await clerk();
      const names = Array.from({ length: 201 }, (_, index) => `a:${index}`);
      const wrong: [object, string][] = [
        ...[['crm'], [own, 'billing', 'others'], [], 'billing', ['billing', 'billing'], ['x'.repeat(65)]].map(
          (audience): [object, string] => [{ audience }, '/audience'],
        ),
        [{ audience: names.slice(0, 21) }, '/audience'],
        [{ permissions: ['no form'] }, '/permissions'],
        [{ permissions: names }, '/permissions'],
      ];
      for (const [fields, pointer] of wrong)
        expect([fields, codeOf(await login(name, fields))]).toEqual([fields, [400, 'request.invalid', pointer]]);
      for (const permissions of [['user:purge'], ['user:read', '*'], ['crm:read']])
        expect(codeOf(await login(name, { permissions }))).toEqual(exceeded);
      const withWrongPassword = await login(name, { permissions: ['*'] }, `${password}!`);
      expect(codeOf(withWrongPassword)).toEqual([401, 'auth.invalid_credentials']);
      expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
      const long = names.slice(0, 40).map((permission) => `${'m'.repeat(60)}${permission}`);
      expect(codeOf(await login(adminEmail, { permissions: long }))).toEqual([400, 'request.invalid', '/permissions']);
      expect((await login(adminEmail, { permissions: ['*', 'crm:read'] })).status).toBe(200);
      // The right password is recorded.
      const reasons = await service.rows<{ reason: string }>(
        `
          select distinct changes->'reason'->>'after' as reason
          from events
          where event_type = 'login.failed' and target_id in ($1, $2) and changes->'reason' is not null
          order by 1`,
        [user_id, service.admin.user_id],
      );
      expect(reasons.map(({ reason }) => reason)).toEqual(['auth.scope_exceeded', 'request.invalid']);
    });

    it('keeps the limits through the second step, which may narrow them (J30)', async () => {
      const { name, user_id } = await clerk();
      const app = await Authenticator.enrol(service, user_id);
      const secondStep = async (first: object, second: object): Promise<TestAnswer> => {
        await app.passTime();
        const { body } = await login(name, first);
        return service.post('/auth/second-factor', {
          body: { challenge: body.challenge, code: app.code(), ...second },
        });
      };
      expect(rightsIn((await secondStep(limits, {})).body.access_token)).toEqual(limited);
      const narrowed = await secondStep(limits, { permissions: ['user:read'] });
      expect(rightsIn(narrowed.body.access_token)).toEqual({ ...limited, permissions: ['user:read'] });
      for (const more of [{ audience: [own] }, { permissions: ['billing:write'] }])
        expect(codeOf(await secondStep(limits, more))).toEqual(exceeded);
      expect(codeOf(await secondStep({}, { audience: ['billing'] }))).toEqual(exceeded);
      expect(codeOf(await secondStep({}, { audience: ['crm'] }))).toEqual([400, 'request.invalid', '/audience']);
      expect(codeOf(await login(name, { permissions: ['user:purge'] }))).toEqual(exceeded);
    });

    it('keeps the limits through refreshes, which may narrow but never widen them (J30)', async () => {
      const { name } = await clerk();
      const opened = await loginOf(name, { ...limits, audience: [own, 'billing'] });
      const first = opened.access_token;
      let { refresh_token } = opened;
      const next = async (fields: object = {}) => {
        const { status, body, text } = await refresh(refresh_token, fields);
        if (status !== 200) throw new Error(text);
        ({ refresh_token } = body);
        expect(body.permissions).toEqual(decode(body.access_token)['permissions']);
        return rightsIn(body.access_token);
      };
      const exceed = async (...wider: object[]) => {
        for (const more of wider) expect([more, codeOf(await refresh(refresh_token, more))]).toEqual([more, exceeded]);
      };
      const both = { ...limited, aud: [own, 'billing'] };
      expect(await next()).toEqual(both);
      await exceed(
        { audience: ['https://crm.example.net'] },
        { permissions: ['billing:write'] },
        { permissions: ['*'] },
      );
      // The rejected requests rotated nothing.
      expect(await next()).toEqual(both);
      expect((await service.get('/user', { token: first })).status).toBe(200);
      expect(await next({ permissions: ['user:read'] })).toEqual({ ...both, permissions: ['user:read'] });
      // Applies to older tokens, too.
      expect((await check(first)).body.permissions).toEqual(['user:read']);
      expect(await next({ audience: ['billing'] })).toEqual({ ...limited, permissions: ['user:read'] });
      expect(await next()).toEqual({ ...limited, permissions: ['user:read'] });
      expect((await service.get('/user', { token: first })).status).toBe(401);
      await exceed({ audience: [own] }, { permissions: limits.permissions });
    });

    it('comes from an unlimited session by a refresh with fewer permissions, but no audience (J30)', async () => {
      const { name } = await clerk();
      const { refresh_token, access_token: token } = await loginOf(name, {});
      expect(codeOf(await refresh(refresh_token, { audience: ['billing'] }))).toEqual(exceeded);
      for (const body of [{ token, permissions: [] }, { audience: [own] }])
        expect(codeOf(await service.post('/auth/check-token', { token, body }))[0]).toBe(400);
      const { body } = await refresh(refresh_token, { permissions: ['billing:read'] });
      const expected = { aud: own, permissions: ['billing:read'], roles: undefined };
      expect([rightsIn(body.access_token), body.permissions]).toEqual([expected, ['billing:read']]);
    });

    it('keeps the limits when it is replaced and after a reauthentication (J30)', async () => {
      const { name } = await clerk();
      const asked = { ...limits, audience: [own, 'billing'] };
      const { access_token: token } = await loginOf(name, asked);
      const expected = { ...limited, aud: asked.audience };
      const fresh = await service.post('/auth/reauthenticate', { token, body: { password } });
      expect(rightsIn(fresh.body.access_token)).toEqual(expected);
      const { key, header } = await ownKey(service);
      const exp = Number(decode(token)['iat']) + 250;
      const late = forge(header, { ...decode(token), exp }, key);
      const replaced = await service.post('/auth/check-token', { token: late });
      expect([replaced.body.refreshed, rightsIn(replaced.body.access_token)]).toEqual([true, expected]);
    });

    it('loses permissions that the user lost, and all of them until a forced password change (J30)', async () => {
      const { name, user_id } = await clerk();
      const { access_token: token, refresh_token } = await loginOf(name);
      const change = (body: object) => service.patch(`/user/${user_id}`, { token: service.admin.token, body });
      await change({ roles: ['reader'] });
      expect((await check(token)).body.permissions).toEqual(['user:read']);
      await change({ roles: ['clerk'], must_change_password: true });
      expect((await check(token)).body.permissions).toEqual([]);
      const { body } = await refresh(refresh_token);
      for (const { access_token } of [body, await loginOf(name)])
        expect(rightsIn(access_token)).toEqual({ ...limited, permissions: [] });
      await change({ must_change_password: false });
      expect((await check(body.access_token)).body.permissions).toEqual(limits.permissions);
    });

    it('is rejected with a valid signature and an audience that is not that of the session (J30)', async () => {
      const { name } = await clerk();
      const { key, header } = await ownKey(service);
      const withAudience = (token: string, aud: unknown) => forge(header, { ...decode(token), aud }, key);
      const { access_token: usual } = await loginOf(name, {});
      for (const aud of [['billing'], [own], ['billing', own]])
        expect((await check(withAudience(usual, aud))).status).toBe(401);
      const { access_token } = await loginOf(name);
      for (const aud of [own, [own], ['billing', own]])
        expect((await service.get('/user', { token: withAudience(access_token, aud) })).status).toBe(401);
    });
  });

  describe('introspection', () => {
    it('returns ids and times of an active token and the current state of its user (RFC 7662)', async () => {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      const { iss, aud, sub, sid, jti, iat, exp, auth_time } = decode(user.token);
      const { permissions } = (await service.get('/user', user)).body;
      const common = {
        ...{ active: true, token_type: 'Bearer', iss, aud, sub, sid, jti, iat, exp, auth_time },
        ...{ username: user.name, user_type: 'carrier', carrier_id: 'c1', amr: ['pwd'] },
      };
      const expected = { ...common, roles: ['carrier_administrator'], scope: permissions.join(' ') };
      const answer = await introspect(user.token, module_, { token_type_hint: 'access_token' });
      expect([answer.status, answer.body, answer.headers['cache-control']]).toEqual([200, expected, 'no-store']);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(await seen(user, user.token)).toEqual([200, expected]);
      await service.patch(`/user/${user.user_id}`, { token: service.admin.token, body: { roles: [] } });
      expect(await seen(module_, user.token)).toEqual([200, { ...common, roles: [] }]);
      const { body } = await introspect(service.admin.token, module_, { token_type_hint: 'no such hint' });
      expect(body).toMatchObject({ active: true, scope: expect.stringMatching(/^\* user:read /), user_type: 'system' });
      expect(body).not.toHaveProperty('carrier_id');
    });

    it('returns only active=false for any inactive token, without a limit (RFC 7662 §2.2)', async () => {
      const { key, header } = await ownKey(service);
      const [ended, disabled, deleted] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
      const [live, mustChange] = [await service.loginAs(), await service.loginAs({ must_change_password: true })];
      const by = { token: service.admin.token };
      await service.delete(`/auth/session/${ended.session_id}`, by);
      await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
      await service.delete(`/user/${deleted.user_id}`, by);
      const claims = decode(live.token);
      const bad = [
        ...[ended.token, disabled.token, deleted.token, mustChange.token, live.refresh_token, live.session_id],
        forge(header, { ...claims, exp: 2, iat: 1 }, key),
        forge(header, { ...claims, sid: ended.session_id }, key),
        forge(header, { ...claims, aud: 'others' }, key),
        ...[`${live.token.slice(0, -4)}AAAA`, 'garbage', '\u202E\u0001 ü', 'x'.repeat(20_000)],
      ];
      for (const asker of [module_, service.admin])
        for (const token of bad) expect([token, ...(await seen(asker, token))]).toEqual([token, ...inactive]);
      for (let index = 0; index <= requestsPerMinute; index++) expect(await seen(module_, 'garbage')).toEqual(inactive);
      expect((await seen(module_, live.token))[1]).toMatchObject({ active: true });
    });

    it('accepts the credentials of an API key only here, and those of no user (J8)', async () => {
      const [{ key, key_id }, other] = [await createKey(service, ['*']), await createKey(service, ['user:read'])];
      const ip = '192.0.2.77';
      const basic = (id: string, secret: string) => ({
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
      });
      const ask = async (id: string, secret: string, from = ip) => {
        const request = { headers: { ...form, ...basic(id, secret) }, body: `token=${module_.token}`, ip: from };
        const { status, headers } = await service.post('/auth/introspect', request);
        return [status, headers['www-authenticate']];
      };
      expect(await ask(key_id, key)).toEqual([200, undefined]);
      const refused = [401, 'Basic realm="carrier-identity"'];
      for (const [id, secret] of [
        [other.key_id, key],
        [key_id, other.key],
        ['', key],
        [key_id, ''],
        ['%', key],
        [module_.user_id, module_.token],
        ['administrator', password],
      ] as const)
        expect([id, ...(await ask(id, secret))]).toEqual([id, ...refused]);
      expect(await ask(other.key_id, other.key)).toEqual([403, undefined]);
      const posted = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
        const body = new URLSearchParams({ token: module_.token, ...fields }).toString();
        const answer = await service.post('/auth/introspect', { headers: { ...form, ...headers }, body, ip });
        return [answer.status, answer.body.active ?? answer.body.code];
      };
      const client = { client_id: key_id, client_secret: key };
      const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
      for (const [fields, headers, expected] of [
        [client, {}, [200, true]],
        [client, bearer(key), [200, true]],
        [client, bearer(module_.token), [400, 'request.invalid']],
        [client, basic(other.key_id, other.key), [403, 'access.denied']],
        [{ client_id: key_id }, {}, [401, 'auth.token_missing']],
        [{ client_secret: key }, {}, [401, 'auth.key_invalid']],
        [{ client_id: key_id, client_secret: other.key }, {}, [401, 'auth.key_invalid']],
        [{ client_id: module_.user_id, client_secret: module_.token }, {}, [401, 'auth.key_invalid']],
      ] satisfies [Record<string, string>, Record<string, string>, unknown[]][])
        expect([fields, await posted(fields, headers)]).toEqual([fields, expected]);
      const elsewhere = await service.get('/user/list', { headers: basic(key_id, key), ip });
      expect(elsewhere.body.code).toBe('auth.token_missing');
      expect((await posted({}, { ...basic(key_id, key), 'x-auth-token': module_.token }))[0]).toBe(401);
      await service.delete(`/auth/key/${key_id}`, service.admin);
      expect(await ask(key_id, key)).toEqual(refused);
      const statuses = [];
      for (let index = 0; index <= requestsPerMinute; index++) statuses.push((await ask(key_id, key, '192.0.2.78'))[0]);
      expect(statuses).toEqual([...Array<number>(requestsPerMinute).fill(401), 429]);
    });

    it('accepts only forms with known, unrepeated fields (RFC 7662 §2.1)', async () => {
      const { token } = module_;
      const ask = (body: unknown, headers: Record<string, string> = form, query = '') =>
        service.post(`/auth/introspect${query}`, { token, headers, body });
      const json = await ask({ token }, { 'content-type': 'application/json' });
      expect([json.status, json.body.detail]).toEqual([415, expect.stringContaining(form['content-type'])]);
      for (const [body, pointer] of [
        ['', '/token'],
        ['token=', '/token'],
        [`token=${token}&token=${token}`, '/token'],
        [`token=${token}&client_id=x`, '/client_id'],
        [`token=${token}&Token=x`, '/Token'],
      ] as const) {
        const answer = await ask(body);
        expect([body, answer.status, answer.body.errors?.[0]?.pointer]).toEqual([body, 400, pointer]);
      }
      expect((await ask(`token=${token}`, form, '?token=x')).status).toBe(400);
      const charset = { 'content-type': `${form['content-type']}; charset=UTF-8` };
      expect((await ask(`token=${token}`, charset)).body.active).toBe(true);
    });

    it('spells out `*` as every permission of the service and of roles, old and new', async () => {
      const { token } = service.admin;
      const { key } = await createKey(service, ['*']);
      const scopes = () =>
        Promise.all([token, key].map(async (one) => (await introspect(one)).body.scope.split(' ') as string[]));
      const body = { name: 'dispatcher', user_types: ['system'], permissions: ['tour:plan', 'user:read'] };
      const before = await scopes();
      expect((await service.post('/role/create', { token, body })).status).toBe(201);
      for (const [index, scope] of (await scopes()).entries()) {
        expect(scope.slice(0, 1 + Object.keys(ownPermissions).length)).toEqual(['*', ...Object.keys(ownPermissions)]);
        expect(scope.filter((permission) => !before[index]?.includes(permission))).toEqual(['tour:plan']);
        expect(new Set(scope).size).toBe(scope.length);
      }
      await service.patch('/role/dispatcher', { token, body: { permissions: ['tour:close'] } });
      for (const scope of await scopes())
        expect(scope.filter((permission) => permission.startsWith('tour:'))).toEqual(['tour:close']);
    });

    it('describes an API key to callers who may see it, and only while it is active (Z3)', async () => {
      const whole = await createKey(service, ['user:read', 'tour:plan']);
      const c1 = await createKey(service, ['user:read'], { carrier_scope: ['c1'] });
      const maker = await service.loginAs({ carrier_id: 'c2', roles: ['key_maker'] });
      const manager = await service.loginAs({ carrier_id: 'c2', roles: ['carrier_administrator'] });
      const ofCarrier = await createKey(service, ['user:read'], {}, maker);
      const server = await createKey(service, ['token:introspect'], { carrier_scope: ['c1'] });
      const asServer = { token: server.key };
      const described = async ({ key_id }: TestKey, fields: object) => {
        const [row] = await service.rows<{ exp: number }>(
          'select floor(extract(epoch from expires_at))::int as exp from keys where key_id = $1',
          [key_id],
        );
        return [200, { active: true, client_id: key_id, sub: key_id, exp: row?.exp, ...fields }];
      };
      const scope = 'user:read';
      const ofWhole = await described(whole, { scope: 'user:read tour:plan', carrier_scope: null });
      expect(await seen(module_, whole.key)).toEqual(ofWhole);
      expect(await seen(module_, c1.key)).toEqual(await described(c1, { scope, carrier_scope: ['c1'] }));
      const c2 = { scope, carrier_scope: ['c2'], carrier_id: 'c2' };
      for (const asker of [module_, scoped])
        expect(await seen(asker, ofCarrier.key)).toEqual(await described(ofCarrier, c2));
      // A resource server recognises itself.
      const itself = { scope: 'token:introspect', carrier_scope: ['c1'] };
      expect(await seen(asServer, server.key)).toEqual(await described(server, itself));
      for (const [asker, { key }] of [
        ...[whole, c1].map((key) => [scoped, key] as const),
        ...[whole, ofCarrier].map((key) => [asServer, key] as const),
        ...[manager, maker].map((asker) => [asker, ofCarrier] as const),
      ])
        expect(await seen(asker, key)).toEqual(inactive);
      await service.delete(`/auth/key/${whole.key_id}`, service.admin);
      await service.rows('update keys set expires_at = now() where key_id = $1', [c1.key_id]);
      for (const key of [whole.key, c1.key, `cik_${'A'.repeat(43)}`])
        expect(await seen(module_, key)).toEqual(inactive);
    });

    it('records the introspection of an API key as a use, without the address of the module', async () => {
      const { key, key_id } = await createKey(service, ['user:read']);
      expect((await introspect(key)).body.active).toBe(true);
      const used = () =>
        service.rows('select last_used_ip from keys where key_id = $1 and last_used_at is not null', [key_id]);
      await until(async () => (await used()).length === 1);
      expect(await used()).toEqual([{ last_used_ip: null }]);
    });
  });
});
