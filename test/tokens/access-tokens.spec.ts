import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { forgeries } from '../support/forgeries/tokens';
import { inTransaction } from '../support/locks';
import { addLogins } from '../support/data/made-logins';
import { RawConnection, requestHead } from '../support/network/raw-connection';
import { rawRequest, statusOf } from '../support/network/raw-request';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { password, type TestAnswer, type TestLogin, type TestRequest, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { TokenForger } from '../support/logins/token-forger';
import { decode, forge, ownKey, visiblePart, withOtherSignature } from '../support/logins/tokens';
import { until } from '../support/until';

/** Limit of requests without a valid token. Tests send such requests from an address each. */
const perMinute = 10;

describe('access tokens', () => {
  let service: TestService;
  let forger: TokenForger;
  beforeAll(async () => {
    service = await TestService.start({
      REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute),
      CORS_ORIGINS: 'https://portal.example.net',
      ACCESS_TOKEN_TTL_SECONDS: '3600',
    });
    forger = await TokenForger.make(service, newIp);
  });
  afterAll(async () => {
    forger.close();
    await service.close();
  });

  let addresses = 0;
  const newIp = () => `198.51.${100 + (++addresses >> 8)}.${addresses & 255}`;
  const get = (url: string, request: TestRequest) => service.get(url, { ip: newIp(), ...request });
  const post = (url: string, request: TestRequest) => service.post(url, { ip: newIp(), ...request });
  const check = (token: string) => post('/auth/check-token', { body: { token } });
  const refresh = (refresh_token: string, token?: string) =>
    post('/auth/check-token', { ...(token && { token }), body: { refresh_token } });
  const raised = (token: string, field = 'x-auth-token') => ({ headers: { [field]: token } });

  /** All ways to use an access token. */
  const ways: ((token: string) => Promise<TestAnswer>)[] = [
    (token) => get('/user', { token }),
    (token) => get('/user', raised(token)),
    check,
    (token) => post('/auth/check-token', { token, body: {} }),
    (token) => post('/auth/check-token', { ...raised(token), body: {} }),
  ];

  it('accepts each kind of token for its own purpose only (J8, M4, R14)', async () => {
    const user = await service.loginAs();
    const next = `next-${user.email}`;
    await post('/auth/email', { token: user.token, body: { email: next, current_password: password } });
    await post('/auth/reset_email', { body: { email: user.email } });
    const guest = await service.inviteUser();
    const holder = await service.createUser();
    await Authenticator.enrol(service, holder.user_id);
    const jwks = await get('/.well-known/jwks.json', {});
    const kinds: Record<string, string> = {
      access: user.token,
      refresh: user.refresh_token,
      email: (await service.mailbox.take(next, /\/auth\/email\//)).token ?? '',
      reset: (await service.mailbox.take(user.email, /\/auth\/reset\//)).token ?? '',
      invite: (await service.mailbox.take(guest.email, /\/auth\/reset\//)).token ?? '',
      challenge: await firstStep(service, holder.name, newIp()),
      session_id: user.session_id,
      user_id: user.user_id,
      jti: String(decode(user.token)['jti']),
      cursor: (await get('/user/list?per_page=1', service.admin)).body.next_cursor as string,
      kid: jwks.body.keys[0].kid as string,
    };
    for (const [kind, text] of Object.entries(kinds))
      expect([kind, text]).toEqual([kind, expect.stringMatching(/.{30,}/)]);
    type Use = (token: string) => Promise<TestAnswer>;
    const reading: [accepted: string[], use: Use][] = [
      ...ways.map((use): [string[], Use] => [['access'], use]),
      [['reset', 'invite'], (token) => get(`/auth/reset/${token}`, {})],
      [['email'], (token) => get(`/auth/email/${token}`, {})],
    ];
    const reset: Use = (token) => post(`/auth/reset/${token}`, { body: { password: 'a fine phrase here' } });
    const confirm: Use = (token) => post(`/auth/email/${token}`, { body: {} });
    const consuming: typeof reading = [
      [['reset', 'invite'], reset],
      [['email'], confirm],
      [['refresh'], (token) => refresh(token)],
      [['refresh'], (refresh_token) => post('/auth/logout', { body: { refresh_token } })],
      [['access'], (token) => post('/auth/logout', { token, body: {} })],
    ];
    const wrong: unknown[] = [];
    const isRefused = (status: number) => [400, 401, 404].includes(status);
    for (const [kind, token] of Object.entries(kinds)) {
      for (const [accepted, use] of reading) {
        const { status } = await use(token);
        if (accepted.includes(kind) ? status !== 200 : !isRefused(status)) wrong.push([kind, String(use), status]);
      }
      for (const [, use] of consuming.filter(([accepted]) => !accepted.includes(kind))) {
        const { status } = await use(token);
        if (!isRefused(status)) wrong.push([kind, String(use), status]);
      }
    }
    expect(wrong).toEqual([]);
    // None of the attempts consumed a token.
    expect((await get('/user', { token: user.token })).status).toBe(200);
    expect((await confirm(kinds['email'] ?? '')).status).toBe(204);
    expect((await refresh(user.refresh_token)).status).toBe(200);
    expect((await reset(kinds['invite'] ?? '')).status).toBe(204);
  });

  it('accepts a token only in its two headers, and never two different ones (J19)', async () => {
    const { token } = await service.loginAs();
    const bearer = `Bearer ${token}`;
    for (const parameter of ['access_token', 'token', 'jwt', 'auth', 'x-auth-token'])
      expect((await get(`/user?${parameter}=${token}`, {})).status).toBe(401);
    const inBody = { access_token: token, token, current_password: password };
    expect((await post('/auth/password', { body: inBody })).status).toBe(401);
    const rejected: Record<string, string>[] = [
      ...[`token=${token}`, `access_token=${token}`, `Authorization=${bearer}`].map((cookie) => ({ cookie })),
      ...['Basic', 'Token', 'JWT', 'Bearer:', 'BearerX', 'DPoP', ''].map((scheme) => ({
        authorization: `${scheme} ${token}`.trim(),
      })),
      ...['access-token', 'token', 'x-access-token', 'proxy-authorization'].map((name) => ({ [name]: bearer })),
      { 'x-auth-token': bearer },
      { authorization: bearer, 'x-auth-token': service.admin.token },
      { authorization: `Bearer ${service.admin.token}`, 'x-auth-token': token },
    ];
    for (const headers of rejected) expect([headers, (await get('/user', { headers })).status]).toEqual([headers, 401]);
    for (const headers of [{ authorization: bearer, 'x-auth-token': token }, { authorization: `bearer ${token}` }])
      expect((await get('/user', { headers: headers as never })).status).toBe(200);
    const lines = [`Authorization: ${bearer}`, 'authorization: Basic eA==', `X-Auth-Token: ${token}`];
    for (const [first, second] of [
      [lines[0], lines[0]],
      [lines[0], lines[1]],
      [lines[1], lines[0]],
      [lines[2], lines[2]],
    ])
      expect(
        (await exchange([`GET /user HTTP/1.1\r\nHost: localhost\r\n${first}\r\n${second}\r\n\r\n`]))[0]?.status,
      ).toBe(401);
  });

  it('responds alike to every kind of bad token, on every route (S14, J22)', async () => {
    const by = { token: service.admin.token };
    const [ended, disabled, deleted] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
    const [reused, live] = [await service.loginAs(), await service.loginAs()];
    await service.delete(`/auth/session/${ended.session_id}`, by);
    await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, by);
    await refresh(reused.refresh_token);
    await changeSession(service, reused, `refreshed_at = now() - interval '1 hour'`);
    const tokens = [ended.token, disabled.token, deleted.token, 'garbage', live.refresh_token];
    tokens.push(`${live.token}x`, `${live.token.slice(0, -4)}AAAA`, `${live.token}${'a'.repeat(60_000)}`);
    const unknown = randomBytes(64).toString('base64url');
    const refreshTokens = [ended, disabled, deleted, reused].map(({ refresh_token }) => refresh_token);
    refreshTokens.push('garbage', unknown, live.token, 'a'.repeat(60_000));
    const answers: TestAnswer[] = [await refresh(live.refresh_token, service.admin.token)];
    for (const refresh_token of refreshTokens) answers.push(await refresh(refresh_token));
    for (const token of tokens) {
      for (const way of ways) answers.push(await way(token));
      answers.push(await post('/user/create', { token, body: {} }));
      answers.push(await service.delete('/user/all', { token, ip: newIp() }));
    }
    const seen = new Set(answers.map((answer) => JSON.stringify(visiblePart(answer))));
    expect([...seen]).toEqual([expect.stringContaining('"code":"auth.token_invalid"')]);
    expect([...seen][0]).toContain('["www-authenticate","Bearer error=\\"invalid_token\\""]');
    for (const { user_id } of [live, ended, disabled])
      expect(answers.filter(({ text }) => text.includes(user_id))).toEqual([]);
    expect((await check(live.token)).status).toBe(200);
  });

  it('limits guesses of access and refresh tokens per address, also at logout (S15)', async () => {
    for (const [path, request] of [
      ['check-token', (token) => ({ body: { token } })],
      ['check-token', (refresh_token) => ({ body: { refresh_token } })],
      ['check-token', (token) => ({ token, body: {} })],
      ['logout', (token) => ({ token, body: {} })],
      ['logout', (refresh_token) => ({ body: { refresh_token } })],
    ] satisfies [string, (text: string) => TestRequest][]) {
      const ip = newIp();
      const answers: TestAnswer[] = [];
      while (answers.length < perMinute + 2)
        answers.push(await post(`/auth/${path}`, { ...request(randomBytes(64).toString('base64url')), ip }));
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toEqual([...Array<number>(perMinute).fill(401), 429, 429]);
      const { headers, body } = answers.at(-1) as TestAnswer;
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(headers['ratelimit-policy']).toContain(`q=${perMinute};w=60`);
      expect([headers['ratelimit'], body.code]).toEqual([expect.any(String), 'request.rate_limited']);
    }
  });

  it('replaces a bearer past half its lifetime, and only checks the same token in the body', async () => {
    const user = await service.loginAs();
    const { key, header } = await ownKey(service);
    const claims = decode(user.token);
    // Half the lifetime, 1,800 s, will be reached neither now nor during the test.
    const [late, early] = [1_500, 3_500].map((seconds) =>
      forge(header, { ...claims, exp: Number(claims['iat']) + seconds }, key),
    ) as [string, string];
    const isReplaced = async (token: string) => [
      (await check(token)).body.refreshed,
      (await post('/auth/check-token', { token, body: {} })).body.refreshed,
    ];
    // The second round finds the tokens in memory.
    for (let round = 0; round < 2; round++)
      expect([await isReplaced(early), await isReplaced(late)]).toEqual([
        [false, false],
        [false, true],
      ]);
  });

  /** Known tokens: a hook responds before the handler if the token and its login are in memory. */
  describe('with a token in memory', () => {
    let user: TestLogin;
    beforeAll(async () => {
      user = await service.loginAs();
      await check(user.token);
    });

    const inBody = (token: string) => JSON.stringify({ token });
    const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

    it('returns the same response as the handler for a token in the body or a header', async () => {
      const { token } = user;
      for (const [text, given] of [
        [inBody(token), {}],
        [inBody(token), { Origin: 'https://portal.example.net' }],
        [inBody(token), { Authorization: 'Basic x' }],
        [` { "token" : "${token}" } `, {}],
        ['{}', bearer(token)],
        ['{}', { 'X-Auth-Token': token }],
      ] satisfies [string, Headers][]) {
        const fromHook = await send(bytesOf(text, given));
        // The hook leaves a request with this header to the handler.
        const fromHandler = await send(bytesOf(text, { ...given, 'Content-Encoding': 'identity' }));
        expect(comparable(fromHook)).toEqual(comparable(fromHandler));
        expect(fromHook).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
        expect(JSON.parse(fromHook.body)).toMatchObject({ user: { user_id: user.user_id }, refreshed: false });
      }
    });

    it('reads a request that arrives in pieces, in chunks or without a body (H9)', async () => {
      const whole = bytesOf(inBody(user.token));
      for (const at of [10, whole.indexOf(ending) + 4, whole.length - 10])
        expect((await send(whole.slice(0, at), whole.slice(at))).status).toBe(200);
      const text = inBody(user.token);
      const head = bytesOf('', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' });
      expect((await send(`${head}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)).status).toBe(200);
      expect((await send(bytesOf('', { ...bearer(user.token), 'Content-Type': undefined }))).status).toBe(200);
    });

    it.each<[what: string, status: number, bytes: (token: string) => string]>([
      ['a token with one more character', 401, (token) => bytesOf(inBody(`${token}x`))],
      ['a refresh token', 400, (token) => bytesOf(JSON.stringify({ token, refresh_token: 'x' }))],
      ['a list', 400, (token) => bytesOf('[]', bearer(token))],
      ['broken JSON', 400, (token) => bytesOf('{', bearer(token))],
      ['an encoding', 415, (token) => bytesOf(inBody(token), { 'Content-Encoding': 'gzip' })],
      ['a query', 400, (token) => bytesOf(inBody(token), {}, `${path}?x=1`)],
      ['another method', 405, (token) => bytesOf(inBody(token), {}, path, 'PUT')],
      ['two hosts', 400, (token) => bytesOf(inBody(token), { Host: 'other' })],
      ['another expectation', 400, (token) => bytesOf(inBody(token), { Expect: 'x' })],
      ['another media type', 415, (token) => bytesOf(inBody(token), { 'Content-Type': 'text/plain' })],
      ['no media type', 415, (token) => bytesOf(inBody(token), { 'Content-Type': undefined })],
      ['two different tokens', 401, (token) => bytesOf('{}', { ...bearer(token), 'X-Auth-Token': 'x' })],
      ['two Authorization headers', 401, (token) => bytesOf('{}', { ...bearer(token), authorization: 'Bearer x' })],
      ['text after the token', 401, (token) => bytesOf('{}', { Authorization: `Bearer ${token}, Bearer x` })],
    ])('rejects a request with %s (H9)', async (_what, status, bytes) => {
      expect((await send(bytes(user.token))).status).toBe(status);
    });

    it('responds in order to the requests of one connection, known and unknown (J18, H9)', async () => {
      const other = await service.loginAs();
      await check(other.token);
      const texts = Array.from({ length: 5 }, () => ['garbage', user.token, other.token]).flat();
      const responses = await exchange([texts.map((token) => bytesOf(inBody(token))).join('')], texts.length);
      const users = responses.map(({ status, body }) => [status, JSON.parse(body).user?.user_id]);
      const expected = [[401, undefined], ...[user, other].map(({ user_id }) => [200, user_id])];
      expect(users).toEqual(Array.from({ length: 5 }, () => expected).flat());
    });
  });

  describe('the cache of tokens and logins', () => {
    it('returns the right user to interleaved requests, amid mixed tokens and logouts (J18)', async () => {
      const { key, header } = await ownKey(service);
      const claims = decode(service.admin.token);
      const roles = await service.rows<{ name: string; permissions: string[] }>('select name, permissions from roles');
      const permissionsOf = new Map(roles.map(({ name, permissions }) => [name, [...permissions].sort()]));
      const made = [
        ...(await addLogins(service, 8, { prefix: 'plain', roles: ['carrier_user'], carriers: 5 })),
        ...(await addLogins(service, 4, { prefix: 'manager', roles: ['carrier_administrator'], carriers: 5 })),
        ...(await addLogins(service, 4, { prefix: 'system', user_type: 'system', roles: ['auditor'] })),
      ];
      const people = made.map(({ user_id, session_id, name, carrier_id, roles: [role = ''] }) => ({
        seen: { user_id, name, carrier_id, roles: [role], permissions: permissionsOf.get(role) },
        tokens: ['one', 'two'].map((jti) => forge(header, { ...claims, sub: user_id, sid: session_id, jti }, key)),
      }));
      const ended = new Set<number>();
      const wrong: unknown[] = [];
      for (let round = 0; round < 5; round++) {
        const leaving = round * 2;
        const ask = async ({ seen, tokens }: (typeof people)[number], index: number) => {
          const way = ways[(index + round) % ways.length]!;
          const token = tokens[(index + round) % 2]!;
          const [head, payload] = token.split('.');
          const signature = people[(index + 1) % people.length]!.tokens[0]!.split('.')[2];
          const [answer, mixed] = await Promise.all([way(token), way(`${head}.${payload}.${signature}`)]);
          const { user = answer.body, permissions } = answer.body;
          const { user_id, name, carrier_id, roles: has } = user;
          const isRight =
            JSON.stringify({ user_id, name, carrier_id, roles: has, permissions }) === JSON.stringify(seen);
          const allowed = ended.has(index) ? [401] : index === leaving ? [200, 401] : [200];
          if (!allowed.includes(answer.status) || (answer.status === 200 && !isRight))
            wrong.push([round, seen, answer]);
          if (mixed.status !== 401) wrong.push([round, seen, mixed]);
        };
        const logout = post('/auth/logout', { token: people[leaving]!.tokens[0]!, body: {} });
        await Promise.all([logout, ...people.map(ask)]);
        expect((await logout).status).toBe(204);
        ended.add(leaving);
      }
      expect(wrong.slice(0, 3)).toEqual([]);
    });

    it.each<[name: string, end: (login: TestLogin & { name: string }) => Promise<unknown>]>([
      ['a logout', ({ token }) => post('/auth/logout', { token, body: {} })],
      [
        'a logout with its other signature',
        ({ token }) => post('/auth/logout', { token: withOtherSignature(token), body: {} }),
      ],
      [
        'the disabling of its user',
        ({ user_id }) => service.patch(`/user/${user_id}`, { ...service.admin, body: { status: 'disabled' } }),
      ],
      [
        'a new password',
        async ({ name }) => {
          const body = { current_password: password, new_password: 'a quite different phrase' };
          return post('/auth/password', { token: (await service.login(name)).token, body });
        },
      ],
    ])('rejects both texts of a token immediately after %s (J2, J11, J18, S2, S7)', async (_name, end) => {
      const login = await service.loginAs();
      // RFC 7515 does not restrict s: a token is valid with the low and with the high one (J15).
      const texts = [login.token, withOtherSignature(login.token)];
      const statuses = async () => {
        const answers = await Promise.all(texts.flatMap((text) => ways.map((way) => way(text))));
        return new Set(answers.map(({ status }) => status));
      };
      expect(await statuses()).toEqual(new Set([200]));
      await end(login);
      expect(await statuses()).toEqual(new Set([401]));
    });
  });

  /** The forgeries follow Wycheproof's vectors and the playbook of jwt_tool. */
  describe('that are forged or changed', () => {
    it.each(forgeries)('%s', async (_attack, make) => {
      await forger.assertRefused(await make(forger));
    });

    it('calls no URL that a token names (J6)', async () => {
      expect(forger.called).toBe(0);
      // Control: the address accepts connections.
      await fetch(forger.url).catch(() => undefined);
      expect(forger.called).toBe(1);
    });

    it('rejects request headers beyond 64 KiB (J17)', async () => {
      const request = `GET /user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'A'.repeat(100_000)}\r\n\r\n`;
      expect(statusOf(await rawRequest(service.port, request))).toBe(431);
    });

    it('rejects unknown key ids and malformed headers without reading the stored keys (J5)', async () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const header = { ...forger.header, kid: randomBytes(32).toString('base64url') };
      const headers = [header, { ...header, alg: 'none' }, { ...header, jku: forger.url }, 'garbage', ''];
      await inTransaction(service, async (holder) => {
        // A read of the keys would wait for the end of this transaction.
        await holder.query('lock table signing_keys in access exclusive mode');
        for (const token of ['garbage', ...headers.map((other) => forge(other, forger.claims, privateKey))]) {
          expect((await get('/user', { token })).status).toBe(401);
          expect((await check(token)).status).toBe(401);
        }
      });
    });

    it('rejects a subject who is deleted, disabled or invited, even with a live session (J11)', async () => {
      const [deleted, disabled, invited] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
      const { token } = service.admin;
      await service.delete(`/user/${deleted.user_id}`, { token });
      await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
      await service.rows(`update users set status = 'invited' where user_id = $1`, [invited.user_id]);
      await service.rows('update sessions set ended_at = null, ended_reason = null where user_id = any($1)', [
        [deleted.user_id, disabled.user_id],
      ]);
      await forger.assertRefused({ deleted: deleted.token, disabled: disabled.token, invited: invited.token });
    });

    it('takes roles from the database, not from the token (J12)', async () => {
      const { claims, header, key, user } = forger;
      const rights = { roles: ['administrator'], user_type: 'system', permissions: ['*'], carrier_id: null };
      const token = forge(header, { ...claims, ...rights }, key);
      const seen = { user_id: user.user_id, user_type: 'carrier', roles: ['carrier_user'], permissions: [] };
      expect((await service.get('/user', { token })).body).toMatchObject(seen);
      expect((await service.get('/user/list', { token })).body.code).toBe('access.denied');
      expect((await service.post('/auth/check-token', { body: { token } })).body.permissions).toEqual([]);

      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      expect((await service.get('/user/list', { token: manager.token })).status).toBe(200);
      await service.patch(`/user/${manager.user_id}`, {
        token: service.admin.token,
        body: { roles: ['carrier_user'] },
      });
      expect(decode(manager.token)['roles']).toEqual(['carrier_administrator']);
      expect((await service.get('/user/list', { token: manager.token })).body.code).toBe('access.denied');
    });

    it('reads repeated claims alike everywhere (J16)', async () => {
      const { claims, header, key, user } = forger;
      const { admin } = service;
      const first = JSON.stringify({ sub: admin.user_id, sid: admin.session_id }).slice(1, -1);
      const token = forge(header, JSON.stringify(claims).replace('{', `{${first},`), key);
      expect((await service.get('/user', { token })).body.user_id).toBe(user.user_id);
      const checked = await service.post('/auth/check-token', { body: { token } });
      expect(checked.body).toMatchObject({ user: { user_id: user.user_id }, session: { session_id: user.session_id } });
    });

    it('issues tokens that contain only ids and technical claims (J21)', async () => {
      const user = await service.loginAs();
      const claims = 'amr aud auth_time client_id exp iat iss jti roles sid sub user_type'.split(' ');
      expect(Object.keys(decode(service.admin.token)).sort()).toEqual(claims);
      expect(Object.keys(decode(user.token)).sort()).toEqual(['carrier_id', ...claims].sort());
      expect(decode(user.token, 0)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
      for (const said of [user.name, user.email, 'example.com'])
        expect(JSON.stringify(decode(user.token))).not.toContain(said);
      expect(Buffer.from(user.refresh_token, 'base64url').toString('latin1')).not.toContain(user.name);
    });

    it('stores private keys encrypted', async () => {
      const [row] = await service.rows<{ everything: string; private_key: Buffer }>(
        'select private_key, signing_keys::text as everything from signing_keys',
      );
      const { key } = await ownKey(service);
      const { d = '' } = key.export({ format: 'jwk' });
      const der = key.export({ format: 'der', type: 'pkcs8' });
      expect(row!.private_key.includes(Buffer.from(d, 'base64url'))).toBe(false);
      expect(row!.private_key.includes(der.subarray(0, 26))).toBe(false);
      for (const text of [d, Buffer.from(d, 'base64url').toString('hex'), der.toString('base64')])
        expect(row!.everything).not.toContain(text);
    });
  });

  const ending = '\r\n\r\n';
  const path = '/auth/check-token';
  type Headers = Record<string, string | undefined>;

  /** The bytes of a request. A header that is undefined is left out. */
  function bytesOf(body: string, headers: Headers = {}, target = path, method = 'POST'): string {
    const usual = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    return requestHead(method, target, { ...usual, 'X-Forwarded-For': newIp(), ...headers }) + body;
  }

  const send = async (...pieces: string[]) => (await exchange(pieces))[0]!;

  /** Sends pieces one after the other over one connection, and returns all responses. */
  async function exchange(pieces: string[], count = 1) {
    const connection = await RawConnection.open(service.port);
    for (const piece of pieces) {
      await connection.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const responses = () => connection.received.split(/(?=HTTP\/1\.1 \d{3} )/);
    const isComplete = (text: string) => {
      const [head = '', body = ''] = text.split(ending);
      return body.length >= Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Infinity);
    };
    await until(() => responses().length === count && responses().every(isComplete));
    connection.socket.destroy();
    return responses().map((text) => {
      const [head = '', body = ''] = text.split(ending);
      const [first = '', ...lines] = head.split('\r\n');
      const headers = lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ').slice(1).join(': ')]);
      return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers) as Headers, body };
    });
  }

  /** Everything in a response that does not depend on the time. */
  function comparable({ status, headers, body }: { status: number; headers: Headers; body: string }): unknown {
    const { date, 'x-request-id': requestId, ...fixed } = headers;
    expect([date, requestId]).toEqual([expect.any(String), expect.any(String)]);
    return { status, headers: fixed, body: body.replace(/"expires_in":\d+/, '"expires_in":0') };
  }
});
