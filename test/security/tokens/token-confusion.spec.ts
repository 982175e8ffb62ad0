import { createCipheriv, generateKeyPairSync, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { calculateJwkThumbprint } from 'jose';
import { deriveKey } from '../../../src/common/random';
import { appSecret, password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';
import { decode, forge, ownKey, visiblePart } from '../../support/tokens';

describe('tokens in the wrong place', () => {
  let service: TestService;
  let user: TestLogin & { name: string; email: string };

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const me = (headers: Record<string, string>, query = ''): Promise<TestAnswer> =>
    service.get(`/user${query}`, { headers });

  it('accepts each kind of token for its own purpose only (J8)', async () => {
    const next = `next-${user.email}`;
    expect(
      (await service.post('/auth/email', { token: user.token, body: { email: next, current_password: password } }))
        .status,
    ).toBe(202);
    const email = (await service.mailbox.take(next, /\/auth\/email\//)).token ?? '';
    await service.post('/auth/reset_email', { body: { email: user.email } });
    const reset = (await service.mailbox.take(user.email, /\/auth\/reset\//)).token ?? '';
    const guest = await service.createUser({ password: undefined, must_change_password: undefined });
    const invite = (await service.mailbox.take(guest.email, /\/auth\/reset\//)).token ?? '';
    const { token: access, refresh_token: refresh, session_id } = user;
    const cursor = (await service.get('/user/list?per_page=1', { token: service.admin.token })).body
      .next_cursor as string;
    const { body } = await service.get('/.well-known/jwks.json');
    const others = {
      session_id,
      user_id: user.user_id,
      jti: String(decode(access)['jti']),
      cursor,
      kid: String(body.keys[0].kid),
    };
    const kinds: Record<string, string> = { access, refresh, reset, email, invite, ...others };
    for (const [kind, text] of Object.entries(kinds))
      expect([kind, text]).toEqual([kind, expect.stringMatching(/.{30,}/)]);
    const places: Record<string, { good: string[]; use: (token: string) => Promise<TestAnswer> }> = {
      'GET /user': { good: ['access'], use: (token) => service.get('/user', { token }) },
      'X-Auth-Token': { good: ['access'], use: (token) => me({ 'x-auth-token': token }) },
      'check token': { good: ['access'], use: (token) => service.post('/auth/check-token', { body: { token } }) },
      'check header': { good: ['access'], use: (token) => service.post('/auth/check-token', { token, body: {} }) },
      'check link': { good: ['reset', 'invite'], use: (token) => service.get(`/auth/reset/${token}`) },
      'check e-mail link': { good: ['email'], use: (token) => service.get(`/auth/email/${token}`) },
    };
    const consuming: typeof places = {
      reset: {
        good: [],
        use: (token) => service.post(`/auth/reset/${token}`, { body: { password: 'some other fine phrase' } }),
      },
      'confirm e-mail': { good: [], use: (token) => service.post(`/auth/email/${token}`, { body: {} }) },
      refresh: { good: [], use: (refresh_token) => service.post('/auth/check-token', { body: { refresh_token } }) },
      logout: { good: [], use: (token) => service.post('/auth/logout', { token, body: {} }) },
      'logout by refresh token': {
        good: [],
        use: (refresh_token) => service.post('/auth/logout', { body: { refresh_token } }),
      },
    };
    const rightPlace: Record<string, string[]> = {
      ...{ reset: ['reset', 'invite'], 'confirm e-mail': ['email'], refresh: ['refresh'], logout: ['access'] },
      'logout by refresh token': ['refresh'],
    };
    for (const [kind, token] of Object.entries(kinds)) {
      for (const [place, { good, use }] of Object.entries(places)) {
        const { status } = await use(token);
        expect([kind, place, good.includes(kind) ? status : isRefusal(status)]).toEqual([
          kind,
          place,
          good.includes(kind) ? 200 : true,
        ]);
      }
      for (const [place, { use }] of Object.entries(consuming)) {
        if (rightPlace[place]?.includes(kind) === true) continue;
        expect([kind, place, isRefusal((await use(token)).status)]).toEqual([kind, place, true]);
      }
    }
    // None of the attempts consumed a token.
    expect((await places['GET /user']?.use(access))?.status).toBe(200);
    expect((await consuming['confirm e-mail']?.use(email))?.status).toBe(204);
    expect((await consuming['refresh']?.use(refresh))?.status).toBe(200);
    expect((await consuming['reset']?.use(invite))?.status).toBe(204);
  });

  it('accepts a token only in its two headers, and never two different ones (J19)', async () => {
    user = { ...user, ...(await service.login(user.name)) };
    const { token } = user;
    for (const parameter of ['access_token', 'token', 'jwt', 'auth', 'x-auth-token'])
      expect((await me({}, `?${parameter}=${token}`)).status).toBe(401);
    expect(
      (await service.post('/auth/password', { body: { access_token: token, token, current_password: password } }))
        .status,
    ).toBe(401);
    for (const cookie of [`token=${token}`, `access_token=${token}`, `Authorization=Bearer ${token}`])
      expect((await me({ cookie })).status).toBe(401);
    const schemes = ['Basic', 'Token', 'JWT', 'Bearer:', 'BearerX', 'DPoP', ''];
    for (const scheme of schemes)
      expect([scheme, (await me({ authorization: `${scheme} ${token}`.trim() })).status]).toEqual([scheme, 401]);
    for (const other of ['access-token', 'token', 'x-access-token', 'proxy-authorization', 'x-authorization']) {
      expect([other, (await me({ [other]: `Bearer ${token}` })).status]).toEqual([other, 401]);
    }
    expect((await me({ 'x-auth-token': `Bearer ${token}` })).status).toBe(401);
    expect((await me({ authorization: `Bearer ${token}`, 'x-auth-token': service.admin.token })).status).toBe(401);
    expect((await me({ authorization: `Bearer ${service.admin.token}`, 'x-auth-token': token })).status).toBe(401);
    expect((await me({ authorization: `Bearer ${token}`, 'x-auth-token': token })).status).toBe(200);
    expect((await me({ authorization: `bearer ${token}` })).status).toBe(200);
    const { port } = await service.listen();
    const twice = [
      ...[
        `Authorization: Bearer ${token}\r\nAuthorization: Bearer ${token}`,
        `Authorization: Bearer ${token}\r\nauthorization: Basic eA==`,
      ],
      ...[
        `X-Auth-Token: ${token}\r\nX-Auth-Token: ${token}`,
        `Authorization: Basic eA==\r\nAuthorization: Bearer ${token}`,
      ],
    ];
    for (const headers of twice) expect(await statusOf(port, headers)).toBe(401);
    expect(await statusOf(port, `Authorization: Bearer ${token}`)).toBe(200);
  });

  it('verifies with both keys after a restart, and signs with the newer one (J20)', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(jwk);
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', deriveKey(appSecret, 'signing-keys'), nonce);
    const sealed = Buffer.concat([cipher.update(privateKey.export({ type: 'pkcs8', format: 'der' })), cipher.final()]);
    const stored = Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    const { key: older, header } = ownKey(service);
    const insert = `
      insert into signing_keys (kid, public_jwk, private_key, created_at)
      values ($1, $2, $3, now() + interval '1 second')`;
    await service.rows(insert, [kid, jwk, stored]);
    const restarted = await ServiceProcess.beside(service);
    expect((await restarted.send('GET', '/user', { token: user.token })).body.user_id).toBe(user.user_id);
    const login = await restarted.send('POST', '/auth/login', { body: { login: user.name, password } });
    expect(decode(login.body.access_token, 0)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid });
    expect((await restarted.send('GET', '/user', { token: login.body.access_token })).status).toBe(200);
    const { body } = await restarted.send('GET', '/.well-known/jwks.json');
    expect(body.keys.map((key: { kid: string }) => key.kid)).toEqual([kid, decode(user.token, 0)['kid']]);
    expect(JSON.stringify(body)).not.toContain('"d"');
    // Each key is valid only under its own id.
    const claims = decode(user.token);
    const crossed = [forge({ ...header, kid }, claims, older), forge(header, claims, privateKey)];
    for (const token of crossed) expect((await restarted.send('GET', '/user', { token })).status).toBe(401);
    expect(
      (await restarted.send('GET', '/user', { token: forge({ ...header, kid }, claims, privateKey) })).status,
    ).toBe(200);
    expect(await restarted.stop()).toBe(0);
  });

  it('contains only ids and technical claims (J21)', async () => {
    const claims = [
      'amr',
      'aud',
      'auth_time',
      'client_id',
      'exp',
      'iat',
      'iss',
      'jti',
      'roles',
      'sid',
      'sub',
      'user_type',
    ];
    expect(Object.keys(decode(service.admin.token)).sort()).toEqual(claims);
    expect(Object.keys(decode(user.token)).sort()).toEqual(['carrier_id', ...claims].sort());
    expect(decode(user.token, 0)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    for (const said of [user.name, user.email, 'example.com'])
      expect(JSON.stringify(decode(user.token))).not.toContain(said);
    expect(Buffer.from(user.refresh_token, 'base64url').toString('latin1')).not.toContain(user.name);
  });

  it('responds alike to expired, ended, disabled, deleted, forged and malformed tokens (J22)', async () => {
    const { key, header } = ownKey(service);
    const [ended, disabled, deleted] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
    const by = { token: service.admin.token };
    await service.post('/auth/logout', { token: ended.token, body: {} });
    await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, by);
    const claims = decode(user.token);
    const tokens = {
      ...{
        ended: ended.token,
        disabled: disabled.token,
        deleted: deleted.token,
        malformed: 'x',
        changed: `${user.token.slice(0, -4)}AAAA`,
      },
      ...{
        expired: forge(header, { ...claims, exp: 2, iat: 1 }, key),
        audience: forge(header, { ...claims, aud: 'x' }, key),
      },
    };
    const places = [
      (token: string) => service.get('/user', { token }),
      (token: string) => me({ 'x-auth-token': token }),
      (token: string) => service.get('/user/list', { token }),
      (token: string) => service.delete('/user/all', { token }),
      (token: string) => service.post('/user/create', { token, body: {} }),
      (token: string) => service.post('/auth/check-token', { body: { token } }),
    ];
    const seen = new Set<string>();
    for (const token of Object.values(tokens))
      for (const use of places) seen.add(JSON.stringify(visiblePart(await use(token))));
    expect(seen.size).toBe(1);
    expect([...seen][0]).toContain('["www-authenticate","Bearer error=\\"invalid_token\\""]');
    expect([...seen][0]).toContain('"status":401');
  });
});

function isRefusal(status: number): boolean {
  return status === 400 || status === 401 || status === 404;
}

/** Returns the status of `GET /user` with these header lines. */
function statusOf(port: number, headers: string): Promise<number> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /user HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n\r\n`);
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('close', () => resolve(Number(answer.split(' ')[1])));
  });
}
