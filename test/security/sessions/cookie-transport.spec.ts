import { hashToken } from '../../../src/platform/random';
import { cookieOf, CookiePage, refreshTokenForm, sameOrigin, setCookiesOf, withCookies } from '../../support/cookies';
import { Authenticator } from '../../support/second-factors';
import { password, TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';

const transport = 'cookie';

describe('the refresh cookie', () => {
  const secure = 'HttpOnly; Secure; SameSite=Strict';
  it.each([
    ['https://identity.example.net', '', '__Host-carrier-identity', `Path=/; ${secure}`],
    ['https://identity.example.net', '/identity', '__Secure-carrier-identity', `Path=/identity/auth; ${secure}`],
    ['http://192.0.2.7:3000', '', '__Host-carrier-identity', `Path=/; ${secure}`],
    ['http://localhost:8080', '', 'carrier-identity-8080', 'Path=/; HttpOnly; SameSite=Strict'],
    ['http://localhost', '/identity', 'carrier-identity-80', 'Path=/identity/auth; HttpOnly; SameSite=Strict'],
  ])('has the name and attributes for %s, BASE_PATH "%s" (S20)', async (PUBLIC_URL, BASE_PATH, name, attributes) => {
    const service = await TestService.start({ PUBLIC_URL, BASE_PATH });
    try {
      const send = (path: string, body: object, headers: Record<string, string> = {}) =>
        service.post(`${BASE_PATH}/auth/${path}`, {
          body: { ...body, transport },
          headers: { origin: PUBLIC_URL, ...headers },
        });
      const login = await send('login', { login: 'admin@example.com', password });
      const cookie = cookieOf(login);
      expect(cookie).toMatch(refreshTokenForm);
      const expected = (value: string, seconds: number) => `${name}=${value}; Max-Age=${seconds}; ${attributes}`;
      expect(setCookiesOf(login)).toEqual([expected(cookie, login.body.refresh_expires_in)]);
      const refreshed = await send('check-token', {}, { cookie: `${name}=${cookie}` });
      const next = cookieOf(refreshed);
      expect(next).not.toBe(cookie);
      expect(setCookiesOf(refreshed)).toEqual([expected(next, refreshed.body.refresh_expires_in)]);
      for (const answer of [login, refreshed]) expect(answer.text).not.toMatch(/"refresh_token"/);
      const left = await send('logout', {}, { cookie: `${name}=${next}` });
      expect([left.status, setCookiesOf(left)]).toEqual([204, [expected('', 0)]]);
      expect((await send('check-token', {}, { cookie: `${name}=${next}` })).status).toBe(401);
    } finally {
      await service.close();
    }
  });
});

describe('the cookie transport', () => {
  let service: TestService;
  let other: ServiceProcess;
  let page: CookiePage;
  beforeAll(async () => {
    service = await TestService.start();
    other = await ServiceProcess.beside(service);
    page = await CookiePage.create(service);
  });
  afterAll(async () => {
    await other.kill();
    await service.close();
  });

  const works = async (access: string) => (await service.get('/user', { token: access })).status;
  const sessions = async () => service.rows('select * from sessions order by session_id');
  const state = async (session_id: string) =>
    (
      await service.rows<{ refresh_token_hash: Buffer; ended_reason: string | null }>(
        'select refresh_token_hash, ended_reason from sessions where session_id = $1',
        [session_id],
      )
    )[0];

  it('sends the refresh token of a login with a second factor only as a cookie (S20)', async () => {
    const holder = await service.createUser();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), holder.user_id);
    const required = await page.post('login', { login: holder.name, password });
    expect([required.status, required.body.code, setCookiesOf(required)]).toEqual([
      401,
      'auth.second_factor_required',
      [],
    ]);
    const { challenge } = required.body;
    const wrong = await page.post('second-factor', { challenge, code: app.wrongCode() });
    expect([wrong.status, setCookiesOf(wrong)]).toEqual([401, []]);
    expect((await page.post('second-factor', { challenge })).status).toBe(400);
    const completed = await page.post('second-factor', { challenge, code: app.code() });
    expect(completed.text).not.toContain('"refresh_token"');
    const refreshed = await page.post('check-token', {}, withCookies(cookieOf(completed)));
    expect([refreshed.status, refreshed.body.session.amr]).toEqual([200, ['pwd', 'otp', 'mfa']]);
  });

  it('accepts the cookie only with transport=cookie, in check-token and logout (J19)', async () => {
    const { cookie } = await page.login();
    const headers = { ...sameOrigin, ...withCookies(cookie).headers };
    expect((await service.get('/user', { headers })).body.code).toBe('auth.token_missing');
    for (const path of ['check-token', 'logout'])
      for (const body of [undefined, {}])
        expect(
          (await service.post(`/auth/${path}`, { headers, ...(body === undefined ? {} : { body }) })).body.code,
        ).toBe('auth.token_missing');
    for (const value of ['Cookie', 'body', '', null, true, ['cookie']])
      for (const path of ['login', 'check-token', 'logout']) {
        const answer = await page.post(
          path,
          { ...(path === 'login' ? page.credentials : {}), transport: value },
          { headers },
        );
        expect([answer.status, answer.body.errors?.[0].pointer]).toEqual([400, '/transport']);
      }
    expect((await page.post('check-token', {}, withCookies(cookie))).status).toBe(200);
  });

  it('rejects the transport together with a token in the body, and names the field', async () => {
    const { cookie, token: access } = await page.login();
    const before = await sessions();
    for (const [path, body] of [
      ['check-token', { refresh_token: cookie }],
      ['check-token', { token: access }],
      ['logout', { refresh_token: cookie }],
    ] as const) {
      const answer = await page.post(path, body, withCookies(cookie));
      const [field] = Object.keys(body);
      expect([answer.status, answer.body.errors, setCookiesOf(answer)]).toEqual([
        400,
        [
          {
            pointer: `/${field}`,
            code: 'field.not_allowed',
            detail: 'must not be sent together with transport',
            params: { field: 'transport' },
          },
        ],
        [],
      ]);
    }
    expect(await sessions()).toEqual(before);
  });

  it('starts a new session at login, regardless of the sent cookie (S1)', async () => {
    const first = await page.login();
    const second = await page.post('login', page.credentials, withCookies(first.cookie));
    expect(second.body.session_id).not.toBe(first.session_id);
    expect(cookieOf(second)).not.toBe(first.cookie);
    expect((await state(first.session_id))?.refresh_token_hash).toEqual(hashToken(first.cookie));
  });

  it('gives tabs that refresh at the same time on two instances the same cookie (S20, S9)', async () => {
    const { cookie, session_id } = await page.login();
    const there = () =>
      other.send('POST', '/auth/check-token', {
        body: { transport },
        headers: { ...sameOrigin, ...withCookies(cookie).headers },
      });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? page.post('check-token', {}, withCookies(cookie)) : there(),
      ),
    );
    const values = new Set(answers.map(cookieOf));
    expect(values.size).toBe(1);
    const [next = ''] = values;
    expect((await state(session_id))?.refresh_token_hash).toEqual(hashToken(next));
    for (const { body } of answers) expect(await works(body.access_token)).toBe(200);
  });

  it('ends the session at the reuse of an old cookie, and keeps the cookie of the browser (S8, S20)', async () => {
    const { cookie, session_id, token: access } = await page.login();
    const next = cookieOf(await page.post('check-token', {}, withCookies(cookie)));
    await service.rows(`update sessions set refreshed_at = refreshed_at - interval '10 s' where session_id = $1`, [
      session_id,
    ]);
    for (const value of [cookie, next]) {
      const answer = await page.post('check-token', {}, withCookies(value));
      expect([answer.status, answer.body.code, setCookiesOf(answer)]).toEqual([401, 'auth.token_invalid', []]);
    }
    expect([(await state(session_id))?.ended_reason, await works(access)]).toEqual(['token_reuse', 401]);
  });

  it('never removes the cookie when a request fails (S20)', async () => {
    const { cookie, session_id } = await page.login();
    const foreign = await page.login();
    const malformed = `${cookie.slice(0, -2)}AA`;
    const failures = [
      await page.post('login', { ...page.credentials, password: 'wrong' }, withCookies(cookie)),
      await page.post('login', { login: page.name }, withCookies(cookie)),
      await page.post('second-factor', { challenge: 'x', code: '123456' }, withCookies(cookie)),
      await page.post('passkey/login', { challenge: 'x', passkey: {} }, withCookies(cookie)),
      await page.post('check-token', {}),
      await page.post('check-token', {}, withCookies(malformed)),
      await page.post('check-token', { unknown: 1 }, withCookies(cookie)),
      await page.post('check-token', {}, { ...withCookies(cookie), token: foreign.token }),
      await page.post('logout', {}),
      await page.post('logout', {}, withCookies(malformed)),
      await page.post('logout', { unknown: 1 }, withCookies(cookie)),
    ];
    for (const answer of failures) {
      expect([400, 401]).toContain(answer.status);
      expect(setCookiesOf(answer)).toEqual([]);
    }
    expect((await state(session_id))?.refresh_token_hash).toEqual(hashToken(cookie));
    await service.rows(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update on sessions for each row execute function refuse()`);
    const broken = [
      await page.post('check-token', {}, withCookies(cookie)),
      await page.post('logout', {}, withCookies(cookie)),
    ];
    await service.rows('drop function refuse cascade');
    for (const answer of broken) expect([answer.status, setCookiesOf(answer)]).toEqual([500, []]);
    expect((await page.post('check-token', {}, withCookies(cookie))).status).toBe(200);
  });

  it('ends the session of the cookie at logout, not that of the access token (S3)', async () => {
    const [own, second] = [await page.login(), await page.login()];
    const left = await page.post('logout', {}, { ...withCookies(own.cookie), token: second.token });
    expect([left.status, setCookiesOf(left).length]).toEqual([204, 1]);
    expect([await works(own.token), await works(second.token)]).toEqual([401, 200]);
    expect((await state(own.session_id))?.ended_reason).toBe('logout');
    // Without a cookie, the access token names the session.
    expect((await page.post('logout', {}, { token: second.token })).status).toBe(204);
    expect(await works(second.token)).toBe(401);
  });

  it('restricts users who must change their password, and keeps their session afterwards', async () => {
    const restricted = await service.createUser({ roles: ['carrier_administrator'], must_change_password: true });
    const cookie = cookieOf(await page.post('login', { login: restricted.name, password }));
    const { body, ...answer } = await page.post('check-token', {}, withCookies(cookie));
    expect([body.user.must_change_password, body.permissions]).toEqual([true, []]);
    expect((await service.get('/user/list', { token: body.access_token })).body.code).toBe(
      'auth.password_change_required',
    );
    const change = { current_password: password, new_password: 'seven bridges over a quiet river' };
    expect((await service.post('/auth/password', { token: body.access_token, body: change })).status).toBe(204);
    const next = await page.post('check-token', {}, withCookies(cookieOf({ ...answer, body })));
    expect([next.status, (await service.get('/user/list', { token: next.body.access_token })).status]).toEqual([
      200, 200,
    ]);
  });

  it('rejects the cookie of a disabled user', async () => {
    const { user_id, name: login, version } = await service.createUser();
    const cookie = cookieOf(await page.post('login', { login, password }));
    const headers = { 'if-match': `"${version}"` };
    const disabled = { token: service.admin.token, body: { status: 'disabled' }, headers };
    expect((await service.patch(`/user/${user_id}`, disabled)).status).toBe(200);
    const answer = await page.post('check-token', {}, withCookies(cookie));
    expect([answer.status, setCookiesOf(answer)]).toEqual([401, []]);
  });
});
