import { RememberedActorsService } from '../../../src/logins/remembered-actors.service';
import { createKey } from '../../support/keys';
import { Authenticator } from '../../support/second-factors';
import { ServiceProcess } from '../../support/service-process';
import { adminEmail, password, type TestAnswer, TestService } from '../../support/service';
import { decode, forge, ownKey } from '../../support/tokens';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const own = 'carrier-platform';
const limits = { audience: ['billing'], permissions: ['user:read', 'billing:read'] };

describe('limited tokens', () => {
  let service: TestService;
  let other: ServiceProcess;
  let moduleKey: string;
  beforeAll(async () => {
    service = await TestService.start({ TOKEN_AUDIENCES: 'billing, https://crm.example.net' });
    other = await ServiceProcess.beside(service);
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('clerk', '{carrier,system}', '{user:read,user:update,billing:read,billing:write}', '{carrier_administrator}'),
        ('reader', '{carrier,system}', '{user:read}', '{}')`);
    moduleKey = (await createKey(service, ['token:introspect'])).key;
  });
  afterAll(async () => {
    await other.kill();
    await service.close();
  });

  const clerk = (fields: object = {}) => service.createUser({ roles: ['clerk'], ...fields });
  const login = (name: string, fields: object = limits, secret = password): Promise<TestAnswer> =>
    service.post('/auth/login', { body: { login: name, password: secret, ...fields } });
  const loginOf = async (name: string, fields?: object) => {
    const { status, body, text } = await login(name, fields);
    if (status !== 200) throw new Error(text);
    return body as { access_token: string; refresh_token: string; session_id: string; user: { user_id: string } };
  };
  const check = (token: string) => service.post('/auth/check-token', { body: { token } });
  const refresh = (refresh_token: string, fields: object = {}) =>
    service.post('/auth/check-token', { body: { refresh_token, ...fields } });
  const introspect = async (token: string, by = moduleKey) =>
    (await service.post('/auth/introspect', { token: by, headers: form, body: `token=${token}` })).body;
  const rightsIn = (token: string) => {
    const { aud, permissions, roles } = decode(token);
    return { aud, permissions, roles };
  };
  const limited = { aud: limits.audience, permissions: limits.permissions, roles: undefined };
  const codeOf = ({ status, body }: TestAnswer) => [status, body.code, ...(body.errors ?? []).map(pointerOf)];
  const pointerOf = ({ pointer }: { pointer: string }) => pointer;

  it('enrols no factor, with which a module could log in without the limits (J30)', async () => {
    const { name } = await clerk();
    const { access_token: token } = await loginOf(name, { permissions: ['user:read'] });
    const { body } = await service.post('/auth/check-token', { body: { token } });
    expect([body.user.roles, body.permissions]).toEqual([[], ['user:read']]);
    for (const [path, fields] of [
      ['/auth/factor/totp', {}],
      ['/auth/factor/passkey/options', {}],
      ['/auth/factor/recovery-codes', undefined],
    ] as const)
      expect([path, codeOf(await service.post(path, { token, ...(fields && { body: fields }) }))]).toEqual([
        path,
        [403, 'access.denied'],
      ]);
    const whole = await loginOf(name, {});
    expect((await service.post('/auth/factor/totp', { token: whole.access_token, body: {} })).status).toBe(201);
  });

  it('adds the requested audience and permissions and omits roles; other tokens do not change (J30)', async () => {
    const { name } = await clerk();
    const { access_token } = await loginOf(name);
    expect(rightsIn(access_token)).toEqual(limited);
    const usual = decode((await loginOf(name, {})).access_token);
    expect(Object.keys(usual).sort()).toEqual(
      'amr aud auth_time carrier_id client_id exp iat iss jti roles sid sub user_type'.split(' '),
    );
    expect(usual).toMatchObject({ aud: own, client_id: own, roles: ['clerk'] });
    expect(rightsIn((await loginOf(name, { audience: [own] })).access_token)).toEqual({
      aud: [own],
      permissions: expect.arrayContaining(['billing:read', 'billing:write', 'user:read', 'user:update']),
      roles: undefined,
    });
    expect(rightsIn((await loginOf(name, { permissions: [] })).access_token)).toEqual({
      aud: own,
      permissions: [],
      roles: undefined,
    });
  });

  it('grants only the permissions of the token at check-token, introspection and this service (J30)', async () => {
    const { name } = await clerk();
    const { access_token: token } = await loginOf(name, { permissions: ['user:read'] });
    for (const answer of [await check(token), await check(token), await service.get('/user', { token })])
      expect([answer.status, answer.body.permissions]).toEqual([200, ['user:read']]);
    const described = await introspect(token);
    expect(described).toMatchObject({ active: true, aud: own, scope: 'user:read' });
    expect(described).not.toHaveProperty('roles');
    expect((await service.get('/user/list', { token })).status).toBe(200);
    const { user_id } = await service.createUser();
    const changed = await service.patch(`/user/${user_id}`, { token, body: { first_name: 'Eve' } });
    expect([changed.status, changed.body.code]).toEqual([403, 'access.denied']);
  });

  it('cannot grant roles that a role of the user may grant (J30)', async () => {
    const { name } = await clerk();
    const { user_id } = await service.createUser();
    const grant = async (permissions?: string[]) => {
      const { access_token: token } = await loginOf(name, { permissions });
      const body = { roles: ['carrier_administrator'] };
      return (await service.patch(`/user/${user_id}`, { token, body })).body.code;
    };
    expect(await grant(['user:update', 'user:read'])).toBe('access.grant_exceeds_own');
    expect(await grant()).toBeUndefined();
  });

  it('rejects the replayed token of an administrator that was issued for other audiences (J30)', async () => {
    const { access_token: token, refresh_token, session_id } = await loginOf(adminEmail, limits);
    const routes: [string, string, object?][] = [
      ['GET', '/user'],
      ['GET', '/user/list'],
      ['POST', '/auth/logout', {}],
      ['POST', '/auth/password', { current_password: password, new_password: 'a quiet river under bridges' }],
      ['POST', '/auth/reauthenticate', { password }],
      ['POST', '/auth/key/create', { name: 'x', permissions: ['*'], expires_at: '2027-01-01T00:00:00Z' }],
      ['DELETE', `/auth/session/${session_id}`],
      ['GET', '/auth/session/list'],
    ];
    // With and without the token in memory, on this and on another instance.
    for (let round = 0; round < 2; round++) {
      for (const [method, path, body] of routes) {
        const answer = await service.send(method, path, { token, body });
        expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 401, 'auth.token_invalid']);
      }
      const there = await fetch(`${other.url}/user`, { headers: { authorization: `Bearer ${token}` } });
      expect(there.status).toBe(401);
      expect((await check(token)).body.permissions).toEqual(limits.permissions);
    }
    expect(await introspect(token)).toMatchObject({ active: true, aud: ['billing'], scope: 'user:read billing:read' });
    expect(await introspect(token, token)).toMatchObject({ active: true, aud: ['billing'] });
    expect((await service.post('/auth/check-token', { token })).status).toBe(200);
    expect((await service.post('/auth/logout', { body: { refresh_token } })).status).toBe(204);
    expect((await check(token)).status).toBe(401);
  });

  it('rejects unknown audiences, excessive limits and malformed names, and names the field (J30)', async () => {
    const { name } = await clerk();
    const names = Array.from({ length: 201 }, (_, index) => `a:${index}`);
    const wrong: [object, string][] = [
      [{ audience: ['crm'] }, '/audience'],
      [{ audience: [own, 'billing', 'others'] }, '/audience'],
      [{ audience: [] }, '/audience'],
      [{ audience: 'billing' }, '/audience'],
      [{ audience: ['billing', 'billing'] }, '/audience'],
      [{ audience: Array.from({ length: 21 }, (_, index) => `a${index}`) }, '/audience'],
      [{ audience: ['x'.repeat(65)] }, '/audience'],
      [{ permissions: ['no form'] }, '/permissions'],
      [{ permissions: names }, '/permissions'],
    ];
    for (const [fields, pointer] of wrong)
      expect([fields, codeOf(await login(name, fields))]).toEqual([fields, [400, 'request.invalid', pointer]]);
    for (const permissions of [['user:purge'], ['user:read', '*'], ['crm:read']])
      expect(codeOf(await login(name, { permissions }))).toEqual([400, 'auth.scope_exceeded']);
    expect(codeOf(await login(name, { permissions: ['*'] }, `${password}!`))).toEqual([
      401,
      'auth.invalid_credentials',
    ]);
    const long = names.slice(0, 40).map((permission) => `${'m'.repeat(60)}${permission}`);
    expect(codeOf(await login(adminEmail, { permissions: long }))).toEqual([400, 'request.invalid', '/permissions']);
    expect((await login(adminEmail, { permissions: ['*', 'crm:read'] })).status).toBe(200);
  });

  it('records the right password when it rejects excessive limits, and creates no session (J30)', async () => {
    const { name, user_id } = await clerk();
    await login(name, { permissions: ['user:purge'] });
    const events = await service.rows<{ event_type: string; changes: object }>(
      `select event_type, changes from events where target_id = $1 and event_type like 'login.%'`,
      [user_id],
    );
    expect(events).toEqual([{ event_type: 'login.failed', changes: { reason: { after: 'auth.scope_exceeded' } } }]);
    const permissions = Array.from({ length: 40 }, (_, index) => `${'m'.repeat(60)}:${index}`);
    expect((await login(adminEmail, { permissions })).status).toBe(400);
    const [last] = await service.rows<{ changes: object }>(
      `select changes from events where event_type = 'login.failed' order by occurred_at desc, event_id desc limit 1`,
    );
    expect(last?.changes).toEqual({ reason: { after: 'request.invalid' } });
    expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
  });

  it('keeps the limits through the second step, which may narrow them (J30)', async () => {
    const { name, user_id } = await clerk();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), user_id);
    const secondStep = async (first: object, second: object): Promise<TestAnswer> => {
      await service.rows('delete from totp_steps');
      const { body } = await login(name, first);
      return service.post('/auth/second-factor', { body: { challenge: body.challenge, code: app.code(), ...second } });
    };
    expect(rightsIn((await secondStep(limits, {})).body.access_token)).toEqual(limited);
    const narrowed = await secondStep(limits, { permissions: ['user:read'] });
    expect(rightsIn(narrowed.body.access_token)).toEqual({ ...limited, permissions: ['user:read'] });
    for (const more of [{ audience: [own] }, { permissions: ['billing:write'] }])
      expect(codeOf(await secondStep(limits, more))).toEqual([400, 'auth.scope_exceeded']);
    expect(codeOf(await secondStep({}, { audience: ['billing'] }))).toEqual([400, 'auth.scope_exceeded']);
    expect(codeOf(await secondStep({}, { audience: ['crm'] }))).toEqual([400, 'request.invalid', '/audience']);
    expect(codeOf(await login(name, { permissions: ['user:purge'] }))).toEqual([400, 'auth.scope_exceeded']);
  });

  it('keeps the limits through refreshes, which may narrow them permanently and never widen them (J30)', async () => {
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
    const both = { ...limited, aud: [own, 'billing'] };
    expect(await next()).toEqual(both);
    for (const more of [
      { audience: ['https://crm.example.net'] },
      { permissions: ['billing:write'] },
      { permissions: ['*'] },
    ])
      expect([more, codeOf(await refresh(refresh_token, more))]).toEqual([more, [400, 'auth.scope_exceeded']]);
    // The rejected requests rotated nothing.
    expect(await next()).toEqual(both);
    expect((await service.get('/user', { token: first })).status).toBe(200);
    expect(await next({ permissions: ['user:read'] })).toEqual({ ...both, permissions: ['user:read'] });
    expect((await check(first)).body.permissions).toEqual(['user:read']);
    expect(await next({ audience: ['billing'] })).toEqual({ ...limited, permissions: ['user:read'] });
    expect(await next()).toEqual({ ...limited, permissions: ['user:read'] });
    // Also applies to older tokens, on all instances.
    expect((await service.get('/user', { token: first })).status).toBe(401);
    const there = await fetch(`${other.url}/user`, { headers: { authorization: `Bearer ${first}` } });
    expect(there.status).toBe(401);
    for (const more of [{ audience: [own] }, { permissions: limits.permissions }])
      expect([more, codeOf(await refresh(refresh_token, more))]).toEqual([more, [400, 'auth.scope_exceeded']]);
  });

  it('lets a refresh of an unlimited session narrow permissions, but not add an audience (J30)', async () => {
    const { name } = await clerk();
    const { refresh_token, access_token: token } = await loginOf(name, {});
    expect(codeOf(await refresh(refresh_token, { audience: ['billing'] }))).toEqual([400, 'auth.scope_exceeded']);
    for (const body of [{ token, permissions: [] }, { audience: [own] }])
      expect(codeOf(await service.post('/auth/check-token', { token, body }))[0]).toBe(400);
    const { body } = await refresh(refresh_token, { permissions: ['billing:read'] });
    expect([rightsIn(body.access_token), body.permissions]).toEqual([
      { aud: own, permissions: ['billing:read'], roles: undefined },
      ['billing:read'],
    ]);
  });

  it('keeps the limits when tokens are replaced and after a reauthentication (J30)', async () => {
    const { name } = await clerk();
    const asked = { ...limits, audience: [own, 'billing'] };
    const { access_token: token } = await loginOf(name, asked);
    const expected = { ...limited, aud: asked.audience };
    const fresh = await service.post('/auth/reauthenticate', { token, body: { password } });
    expect(rightsIn(fresh.body.access_token)).toEqual(expected);
    const { key, header } = ownKey(service);
    const now = Math.floor(Date.now() / 1_000);
    const old = forge(header, { ...decode(token), iat: now - 590, exp: now + 10 }, key);
    const replaced = await service.post('/auth/check-token', { token: old });
    expect([replaced.body.refreshed, rightsIn(replaced.body.access_token)]).toEqual([true, expected]);
  });

  it('drops permissions that the user lost, and all of them until a forced password change (J30)', async () => {
    const { name, user_id } = await clerk();
    const { access_token: token, refresh_token } = await loginOf(name);
    const admin = { token: service.admin.token };
    await service.patch(`/user/${user_id}`, { ...admin, body: { roles: ['reader'] } });
    expect((await check(token)).body.permissions).toEqual(['user:read']);
    await service.patch(`/user/${user_id}`, { ...admin, body: { roles: ['clerk'], must_change_password: true } });
    expect((await check(token)).body.permissions).toEqual([]);
    const { body } = await refresh(refresh_token);
    expect(rightsIn(body.access_token)).toEqual({ ...limited, permissions: [] });
    expect(rightsIn((await loginOf(name)).access_token)).toEqual({ ...limited, permissions: [] });
    await service.patch(`/user/${user_id}`, { ...admin, body: { must_change_password: false } });
    expect((await check(body.access_token)).body.permissions).toEqual(limits.permissions);
  });

  it('limits the background work of the session, too (J30)', async () => {
    const { name } = await clerk();
    const { session_id, user } = await loginOf(name, { permissions: ['user:update'] });
    const actors = service.app.get(RememberedActorsService);
    const work = { actor_type: 'user' as const, actor_id: user.user_id, session_id, ip: null, request_id: null };
    const actor = await actors.of({ ...work, permission: 'user:update' });
    expect([actor.permissions, actor.may_grant]).toEqual([['user:update'], []]);
    await expect(actors.of({ ...work, permission: 'user:read' })).rejects.toMatchObject({ code: 'access.denied' });
    const unlimited = await actors.of({ ...work, session_id: null, permission: 'user:read' });
    expect(unlimited.may_grant).toEqual(['carrier_administrator']);
  });

  it('rejects a validly signed token whose audience is not that of the session (J30)', async () => {
    const { name } = await clerk();
    const { key, header } = ownKey(service);
    const usual = await loginOf(name, {});
    for (const aud of [['billing'], [own], ['billing', own]])
      expect((await check(forge(header, { ...decode(usual.access_token), aud }, key))).status).toBe(401);
    const { access_token } = await loginOf(name);
    const claims = decode(access_token);
    for (const aud of [own, [own], ['billing', own]])
      expect((await service.get('/user', { token: forge(header, { ...claims, aud }, key) })).status).toBe(401);
  });
});
