import { Authenticator, firstStep } from '../../support/second-factors';
import { password, type TestAnswer, TestService } from '../../support/service';

describe('the second step of a login', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '1000' });
  });
  afterAll(() => service.close());

  const rows = (text: string, values: unknown[]) => service.rows(text, values);
  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
  const step = (body: object, ip?: string): Promise<TestAnswer> =>
    post('/auth/second-factor', { body, ...(ip === undefined ? {} : { ip }) });

  async function user(fields: Record<string, unknown> = {}) {
    const { name, user_id, email } = await service.createUser(fields);
    return { name, user_id, email, app: await Authenticator.enrol(rows, user_id) };
  }
  const codes = (answers: TestAnswer[]) => answers.map(({ status, body }) => (status === 200 ? 200 : body.code));

  it('logs in exactly once if one code is sent over 50 connections (M1)', async () => {
    const { url } = await service.listen();
    const { name, user_id, app } = await user();
    for (const challengesUsed of [1, 5]) {
      await app.passTime();
      const challenges: string[] = [];
      while (challenges.length < challengesUsed) challenges.push(await firstStep(post, name));
      const code = app.code();
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const body = JSON.stringify({ challenge: challenges[index % challengesUsed], code });
          const headers = { 'content-type': 'application/json', connection: 'close' };
          return (await fetch(`${url}/auth/second-factor`, { method: 'POST', headers, body })).status;
        }),
      );
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => ![200, 401, 429].includes(status))).toEqual([]);
      const live = await service.rows(
        `
          update sessions
          set ended_at = now(), ended_reason = 'revoked'
          where user_id = $1 and ended_at is null
          returning 1`,
        [user_id],
      );
      expect(live).toHaveLength(1);
    }
  });

  it('gives a wrong and a replayed code the same response, and accepts the next code (M1)', async () => {
    const { name, app } = await user();
    const code = app.code();
    expect((await step({ challenge: await firstStep(post, name), code })).status).toBe(200);
    const challenge = await firstStep(post, name);
    const answers = [await step({ challenge, code }), await step({ challenge, code: app.wrongCode() })];
    expect(codes(answers)).toEqual(['auth.invalid_second_factor', 'auth.invalid_second_factor']);
    const [replayed, wrong] = answers.map(({ body }) => ({ ...body, request_id: '' }));
    expect(replayed).toEqual(wrong);
    expect((await step({ challenge, code: app.code(1) })).body).toMatchObject({
      token_type: 'Bearer',
      user: { name, second_factors: ['totp'] },
    });
  });

  it('accepts a challenge once, for five wrong codes and for 300 seconds (M3)', async () => {
    const { name, app } = await user();
    const used = await firstStep(post, name);
    expect((await step({ challenge: used, code: app.code() })).status).toBe(200);
    expect(codes([await step({ challenge: used, code: app.code(1) })])).toEqual(['auth.challenge_invalid']);
    const recovery_code = await app.recoveryCode();
    const guessed = await firstStep(post, name);
    for (let guesses = 0; guesses < 5; guesses++)
      expect(codes([await step({ challenge: guessed, recovery_code: 'A'.repeat(24) })])).toEqual([
        'auth.invalid_second_factor',
      ]);
    expect(codes([await step({ challenge: guessed, recovery_code })])).toEqual(['auth.challenge_invalid']);
    const expired = await firstStep(post, name);
    await service.rows(`update login_challenges set expires_at = now() where expires_at > now()`);
    expect(codes([await step({ challenge: expired, recovery_code })])).toEqual(['auth.challenge_invalid']);
    expect(codes([await step({ challenge: 'unknown', recovery_code })])).toEqual(['auth.challenge_invalid']);
    const last = await firstStep(post, name);
    expect((await step({ challenge: last, recovery_code })).status).toBe(200);
    expect(codes([await step({ challenge: await firstStep(post, name), recovery_code })])).toEqual([
      'auth.invalid_second_factor',
    ]);
  });

  const changes = [
    ['is disabled', `update users set status = 'disabled' where user_id = $1`],
    ['is deleted', `update users set deleted_at = now() where user_id = $1`],
    ['has another password', `update users set password_changed_at = now() where user_id = $1`],
    ['no longer has a factor', `delete from second_factors where user_id = $1`],
    ['may not log in from the address', `update users set allowed_ips = '{203.0.113.0/24}' where user_id = $1`],
  ] as const;

  it.each(changes)('names no passkey of a challenge once the user %s (M4)', async (_, change) => {
    const { name, user_id } = await user();
    const body = { challenge: await firstStep(post, name) };
    expect((await post('/auth/second-factor/passkey-options', { body })).status).toBe(200);
    await service.rows(change, [user_id]);
    const rejected = await post('/auth/second-factor/passkey-options', { body });
    expect([rejected.status, rejected.body.code]).toEqual([401, 'auth.challenge_invalid']);
  });

  it.each(changes)('rejects a challenge once the user %s, for good (M4)', async (_, change) => {
    const { name, user_id, app } = await user();
    const challenge = await firstStep(post, name);
    const recovery_code = await app.recoveryCode();
    await service.rows(change, [user_id]);
    for (const proof of [{ code: app.code() }, { recovery_code }])
      expect(codes([await step({ challenge, ...proof })])).toEqual(['auth.challenge_invalid']);
    await service.rows(`update users set status = 'active', deleted_at = null, allowed_ips = '{}' where user_id = $1`, [
      user_id,
    ]);
    expect(codes([await step({ challenge, recovery_code })])).toEqual(['auth.challenge_invalid']);
    expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
    expect(await service.rows('select 1 from recovery_codes where user_id = $1', [user_id])).toHaveLength(1);
  });

  it('requires exactly one proof of a known form', async () => {
    const { name, app } = await user();
    const challenge = await firstStep(post, name);
    const [code, recovery_code] = [app.code(), await app.recoveryCode()];
    const bodies = [
      { challenge },
      { challenge, code, recovery_code },
      { code },
      ...['12345', '1234567', '12 456', '٠١٢٣٤٥', 123456, null, ['123456']].map((odd) => ({ challenge, code: odd })),
      { challenge, recovery_code: 'x'.repeat(65) },
    ];
    for (const body of bodies) expect((await step(body)).body).toMatchObject({ code: 'request.invalid' });
    expect((await step({ challenge, code })).status).toBe(200);
  });

  it('puts methods and time of the authentication into tokens, sessions and introspection', async () => {
    const { name, app, user_id } = await user();
    const { body } = await step({ challenge: await firstStep(post, name), code: app.code() });
    const amr = ['pwd', 'otp', 'mfa'];
    const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const claims = claimsOf(body.access_token as string);
    expect(claims).toMatchObject({ amr, auth_time: expect.any(Number) });
    expect(Math.abs(claims.auth_time - Date.now() / 1_000)).toBeLessThan(30);
    const refreshed = await post('/auth/check-token', { body: { refresh_token: body.refresh_token } });
    expect(refreshed.body.session.amr).toEqual(amr);
    expect(claimsOf(refreshed.body.access_token as string)).toMatchObject({ amr, auth_time: claims.auth_time });
    const introspected = await service.post('/auth/introspect', {
      token: body.access_token,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `token=${body.access_token}`,
    });
    expect(introspected.body).toMatchObject({ active: true, amr, auth_time: claims.auth_time });
    await service.createUser();
    const list = async (filter: string) => {
      const url = `/auth/session/list?user_id_in=${user_id},${service.admin.user_id}&${filter}`;
      const found = await service.get(url, { token: service.admin.token });
      return [...new Set((found.body.items as { user_id: string }[]).map((session) => session.user_id))];
    };
    expect(await list('mfa=true')).toEqual([user_id]);
    expect(await list('mfa=false')).toEqual([service.admin.user_id]);
  });
});

describe('the login limit of an address', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '2' });
  });
  afterAll(() => service.close());

  it('does not count the second step of a login', async () => {
    const ip = '192.0.2.200';
    const body = { challenge: 'unknown', recovery_code: 'unknown' };
    for (let index = 0; index < 5; index++)
      expect((await service.post('/auth/second-factor', { body, ip })).status).toBe(401);
    const login = { body: { login: 'unknown', password }, ip };
    expect((await service.post('/auth/login', login)).status).toBe(401);
    expect((await service.post('/auth/login', login)).status).toBe(401);
    expect((await service.post('/auth/login', login)).status).toBe(429);
  });
});
