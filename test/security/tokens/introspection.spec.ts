import { createKey } from '../../support/keys';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { decode, forge, ownKey } from '../../support/tokens';

const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('introspection', () => {
  let service: TestService;
  let module_: TestLogin;
  let scoped: TestLogin;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: '50' });
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('resource_server', '{system}', '{token:introspect}')`,
    );
    module_ = await service.loginAs({ user_type: 'system', roles: ['resource_server'] });
    scoped = await service.loginAs({ user_type: 'system', roles: ['resource_server'], carrier_scope: ['c2'] });
  });
  afterAll(() => service.close());

  const introspect = (by: TestLogin, fields: Record<string, string>): Promise<TestAnswer> =>
    service.post('/auth/introspect', { token: by.token, headers: form, body: new URLSearchParams(fields).toString() });
  const seen = async (by: TestLogin, token: string) => {
    const { status, body } = await introspect(by, { token });
    return [status, body];
  };
  const inactive = [200, { active: false }];

  it('returns ids and times of an active token and the current state of its user (RFC 7662)', async () => {
    const user = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
    const { iss, aud, sub, sid, jti, iat, exp, auth_time } = decode(user.token);
    const { permissions } = (await service.get('/user', user)).body;
    const common = {
      active: true,
      token_type: 'Bearer',
      iss,
      aud,
      sub,
      sid,
      jti,
      iat,
      exp,
      username: user.name,
      user_type: 'carrier',
      carrier_id: 'c1',
      amr: ['pwd'],
      auth_time,
    };
    const expected = { ...common, roles: ['carrier_administrator'], scope: permissions.join(' ') };
    const answer = await introspect(module_, { token: user.token, token_type_hint: 'access_token' });
    expect([answer.status, answer.body, answer.headers['cache-control']]).toEqual([200, expected, 'no-store']);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(await seen(user, user.token)).toEqual([200, expected]);
    await service.patch(`/user/${user.user_id}`, { token: service.admin.token, body: { roles: [] } });
    expect(await seen(module_, user.token)).toEqual([200, { ...common, roles: [] }]);
    const { body } = await introspect(module_, { token: service.admin.token, token_type_hint: 'no such hint' });
    expect(body).toMatchObject({ active: true, scope: expect.stringMatching(/^\* user:read /), user_type: 'system' });
    expect(body).not.toHaveProperty('carrier_id');
  });

  it('returns only active=false for any inactive token (RFC 7662 §2.2)', async () => {
    const { key, header } = ownKey(service);
    const [live, ended, disabled, deleted, mustChange] = [
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs({ must_change_password: true }),
    ];
    const by = { token: service.admin.token };
    await service.delete(`/auth/session/${ended.session_id}`, by);
    await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, by);
    const bad = {
      ended: ended.token,
      disabled: disabled.token,
      deleted: deleted.token,
      'must change the password': mustChange.token,
      'refresh token': live.refresh_token,
      expired: forge(header, { ...decode(live.token), exp: 2, iat: 1 }, key),
      'of another session': forge(header, { ...decode(live.token), sid: ended.session_id }, key),
      'other audience': forge(header, { ...decode(live.token), aud: 'others' }, key),
      'unknown key': forge(
        { ...header, kid: header['kid']!.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) },
        decode(live.token),
        key,
      ),
      altered: `${live.token.slice(0, -4)}AAAA`,
      garbage: 'garbage',
      'strange characters': '\u202E\u0001 ü',
      long: 'x'.repeat(20_000),
      'session id': live.session_id,
    };
    for (const asker of [module_, service.admin])
      for (const [name, token] of Object.entries(bad))
        expect([name, ...(await seen(asker, token))]).toEqual([name, ...inactive]);
    expect((await seen(module_, live.token))[1]).toMatchObject({ active: true });
  });

  it('shows tokens of others only with the permission and in scope, and own ones always (Z3)', async () => {
    const [one, two] = [
      await service.loginAs({ carrier_id: 'c1' }),
      await service.loginAs({ carrier_id: 'c2', roles: ['carrier_administrator'] }),
    ];
    const again = await service.login('administrator');
    // The permission to see the users is not enough: introspection needs its own permission.
    const [neighbour, operator] = [
      await service.loginAs({ carrier_id: 'c2', roles: ['carrier_administrator'] }),
      await service.loginAs({ user_type: 'system', roles: ['operator'] }),
    ];
    for (const asker of [neighbour, operator]) expect(await seen(asker, two.token)).toEqual(inactive);
    expect(await seen(one, two.token)).toEqual(inactive);
    expect(await seen(two, one.token)).toEqual(inactive);
    expect(await seen(scoped, one.token)).toEqual(inactive);
    expect(await seen(scoped, service.admin.token)).toEqual(inactive);
    expect(await seen(module_, two.token)).toEqual([200, expect.objectContaining({ active: true, sub: two.user_id })]);
    expect(await seen(scoped, two.token)).toEqual([200, expect.objectContaining({ active: true, sub: two.user_id })]);
    expect(await seen(scoped, scoped.token)).toEqual([
      200,
      expect.objectContaining({ active: true, sub: scoped.user_id }),
    ]);
    expect(await seen(service.admin, again.token)).toEqual([
      200,
      expect.objectContaining({ active: true, sid: again.session_id }),
    ]);
  });

  it('accepts the credentials of an API key only here, and those of no user (J8)', async () => {
    const { key, key_id } = await createKey(service, ['*']);
    const other = await createKey(service, ['user:read']);
    const basic = (id: string, secret: string) => ({
      headers: { ...form, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: `token=${module_.token}`,
      ip: '192.0.2.77',
    });
    const ask = async (id: string, secret: string) => {
      const { status, headers } = await service.post('/auth/introspect', basic(id, secret));
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
      const answer = await service.post('/auth/introspect', {
        headers: { ...form, ...headers },
        body,
        ip: '192.0.2.77',
      });
      return [answer.status, answer.body.active ?? answer.body.code];
    };
    const client = { client_id: key_id, client_secret: key };
    expect(await posted(client)).toEqual([200, true]);
    expect(await posted(client, { authorization: `Bearer ${key}` })).toEqual([200, true]);
    expect(await posted(client, { authorization: `Bearer ${module_.token}` })).toEqual([400, 'request.invalid']);
    expect(await posted(client, basic(other.key_id, other.key).headers)).toEqual([403, 'access.denied']);
    expect(await posted({ client_id: key_id })).toEqual([401, 'auth.token_missing']);
    const rejected: Record<string, string>[] = [
      { client_secret: key },
      { client_id: other.key_id, client_secret: key },
      { client_id: key_id, client_secret: other.key },
      { client_id: module_.user_id, client_secret: module_.token },
    ];
    for (const fields of rejected) expect(await posted(fields)).toEqual([401, 'auth.key_invalid']);
    for (const path of ['/user/list', '/user', '/audit/list'])
      expect(
        (await service.get(path, { headers: { authorization: basic(key_id, key).headers.authorization } })).body.code,
      ).toBe('auth.token_missing');
    const both = { ...basic(key_id, key).headers, 'x-auth-token': module_.token };
    expect((await service.post('/auth/introspect', { ...basic(key_id, key), headers: both })).status).toBe(401);
    await service.delete(`/auth/key/${key_id}`, service.admin);
    expect(await ask(key_id, key)).toEqual(refused);
    const wrong = async () =>
      (await service.post('/auth/introspect', { ...basic(key_id, key), ip: '192.0.2.78' })).status;
    const answers = [];
    for (let index = 0; index < 60; index++) answers.push(await wrong());
    expect(new Set(answers)).toEqual(new Set([401, 429]));
  });

  it('requires a login and accepts only forms with known, unrepeated fields (RFC 7662 §2.1)', async () => {
    const ask = (body: unknown, headers: Record<string, string> = form) =>
      service.post('/auth/introspect', { token: module_.token, headers, body });
    const token = module_.token;
    const json = await ask({ token }, { 'content-type': 'application/json' });
    expect([json.status, json.body.detail]).toEqual([
      415,
      expect.stringContaining('application/x-www-form-urlencoded'),
    ]);
    expect((await ask({ token }, {})).status).toBe(415);
    expect((await ask(`token=${token}`, { 'content-type': 'text/plain' })).status).toBe(415);
    const wrong: [string, string][] = [
      ['', '/token'],
      ['token=', '/token'],
      ['token_type_hint=access_token', '/token'],
      [`token=${token}&token=${token}`, '/token'],
      [`token=${token}&client_id=x`, '/client_id'],
      [`token=${token}&Token=x`, '/Token'],
    ];
    for (const [body, pointer] of wrong) {
      const answer = await ask(body);
      expect([body, answer.status, answer.body.code, answer.body.errors?.[0]?.pointer]).toEqual([
        body,
        400,
        'request.invalid',
        pointer,
      ]);
    }
    expect(
      (await service.post('/auth/introspect?token=x', { token, headers: form, body: `token=${token}` })).status,
    ).toBe(400);
    expect(
      (await ask(`token=${token}`, { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' })).body.active,
    ).toBe(true);
    for (const by of ['', 'garbage']) {
      const { status } = await service.post('/auth/introspect', {
        ...(by === '' ? {} : { token: by }),
        headers: form,
        body: `token=${token}`,
      });
      expect(status).toBe(401);
    }
    // A permitted caller is not limited for bad tokens.
    for (let index = 0; index < 60; index++) expect(await seen(module_, 'garbage')).toEqual(inactive);
  });
});
