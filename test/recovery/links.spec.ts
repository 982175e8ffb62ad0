import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../support/links';
import { password, TestService } from '../support/service';
import { until } from '../support/until';

const newPassword = 'an entirely new phrase';

describe('a reset link', () => {
  let service: TestService;
  let user: { user_id: string; name: string; email: string };
  beforeAll(async () => {
    service = await TestService.start();
  });
  beforeEach(async () => {
    user = await service.createUser({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const reset = (token: string, secret = newPassword) =>
    service.post(`/auth/reset/${token}`, { body: { password: secret } });
  const loginStatus = async (secret: string) =>
    (await service.post('/auth/login', { body: { login: user.name, password: secret } })).status;
  const stored = async () => (await service.get(`/user/${user.user_id}`, { token: service.admin.token })).body;

  /** The response to every invalid token, which does not say why. */
  async function expectInvalid(token: string): Promise<void> {
    const never = visibleResponse(await reset('A'.repeat(43)));
    expect(never).toMatchObject({ status: 404, text: expect.stringContaining('"reset.token_invalid"') });
    expect(visibleResponse(await reset(token))).toEqual(never);
    expect(visibleResponse(await service.get(`/auth/reset/${token}`))).toEqual(never);
  }

  it('resets the password once (R9)', async () => {
    const token = await mailedResetToken(service, user.email);
    expect((await reset(token)).status).toBe(204);
    await expectInvalid(token);
    expect((await reset(token, 'the phrase of another user')).status).toBe(404);
    expect(await loginStatus(newPassword)).toBe(200);
    expect(await loginStatus('the phrase of another user')).toBe(401);
  });

  it('accepts one of 20 parallel resets with the same link and rejects the others (R10)', async () => {
    for (let round = 0; round < 2; round++) {
      const token = await mailedResetToken(service, user.email);
      const secrets = Array.from({ length: 20 }, (_, index) => `phrase ${round} of request ${index}`);
      const answers = await Promise.all(secrets.map((secret) => reset(token, secret)));
      const winners = secrets.filter((_, index) => answers[index]?.status === 204);
      expect(winners).toHaveLength(1);
      const rejected = answers.filter(({ status }) => status !== 204).map(({ body }) => body.code as string);
      expect(rejected.filter((code) => code !== 'request.rate_limited').length).toBeGreaterThan(0);
      for (const code of rejected) expect(['reset.token_invalid', 'request.rate_limited']).toContain(code);
      expect(await loginStatus(winners[0] ?? '')).toBe(200);
      expect(await loginStatus(secrets.find((secret) => secret !== winners[0]) ?? '')).toBe(401);
    }
  });

  it('rejects texts that look like an unset token (R11)', async () => {
    await mailedResetToken(service, user.email);
    const texts = [
      '',
      'null',
      'undefined',
      '0',
      '%00',
      '..',
      '{}',
      '*',
      'true',
      '%E2%80%8B',
      'A'.repeat(42),
      `${'A'.repeat(43)}=`,
    ];
    for (const token of texts) {
      const { status, body } = await reset(token);
      expect([token, status]).toEqual([token, 404]);
      expect(['reset.token_invalid', 'request.not_found']).toContain(body.code);
    }
    expect(await loginStatus(password)).toBe(200);
  });

  it('sets no password by a change of the own user or of all users that a filter matches (R11)', async () => {
    const { token } = await service.login(user.name);
    const administrator = await service.loginAs({ roles: ['carrier_administrator'] });
    for (const field of ['password', 'password_hash', 'password_changed_at', 'credentials']) {
      const body = { [field]: newPassword };
      expect((await service.patch(`/user/${user.user_id}`, { token, body })).status).toBe(400);
      expect((await service.patch(`/user/${user.user_id}`, { token: administrator.token, body })).status).toBe(400);
      expect(
        (await service.patch(`/user/all?user_id=${user.user_id}`, { token: administrator.token, body })).status,
      ).toBe(400);
    }
    expect((await service.post('/auth/password', { token, body: { new_password: newPassword } })).status).toBe(400);
    expect(await loginStatus(password)).toBe(200);
  });

  describe('an outdated link', () => {
    const asAdmin = () => service.admin.token;
    it.each<[string, (token: string) => Promise<unknown>]>([
      ['a newer request', () => mailedResetToken(service, user.email)],
      ['a reset by another link', async () => reset(await mailedResetToken(service, user.email))],
      [
        'the confirmation of another address',
        async () => {
          await service.patch(`/user/${user.user_id}`, { token: asAdmin(), body: { email: `new-${user.email}` } });
          const confirmation = await service.mailbox.take(`new-${user.email}`);
          expect((await service.post(`/auth/email/${confirmation.token}`)).status).toBe(204);
        },
      ],
      ['disabling', () => service.patch(`/user/${user.user_id}`, { token: asAdmin(), body: { status: 'disabled' } })],
      [
        'disabling in bulk',
        () => service.patch(`/user/all?user_id=${user.user_id}`, { token: asAdmin(), body: { status: 'disabled' } }),
      ],
      ['deletion', () => service.delete(`/user/${user.user_id}`, { token: asAdmin() })],
      ['deletion in bulk', () => service.delete(`/user/all?user_id=${user.user_id}`, { token: asAdmin() })],
      ['purging', () => service.delete(`/user/${user.user_id}?purge=true`, { token: asAdmin() })],
    ])('rejects a link after %s (R12)', async (_name, event) => {
      const token = await mailedResetToken(service, user.email);
      expect((await service.get(`/auth/reset/${token}`)).status).toBe(200);
      await event(token);
      await expectInvalid(token);
      await service.post(`/user/${user.user_id}/restore`, { token: asAdmin() });
      await service.patch(`/user/${user.user_id}`, { token: asAdmin(), body: { status: 'active' } });
      await expectInvalid(token);
    });

    it('rejects a link from a newer request on, before the new mail is sent (R12)', async () => {
      const token = await mailedResetToken(service, user.email);
      await endMailLimits(service);
      await service.mailbox.stop();
      await service.post('/auth/reset_email', { body: { email: user.email } });
      await until(async () => (await service.get(`/auth/reset/${token}`)).status === 404);
      await expectInvalid(token);
      await service.mailbox.start();
      await service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
      expect((await service.mailbox.take(user.email, /\/auth\/reset\//)).token).not.toBe(token);
    });
  });

  it('accepts a link five seconds before its expiry and rejects it one second after (R13)', async () => {
    const token = await mailedResetToken(service, user.email);
    const [{ life = 0 } = {}] = await service.rows<{ life: number }>(
      'select extract(epoch from expires_at - now())::float as life from one_time_tokens where user_id = $1',
      [user.user_id],
    );
    expect(life).toBeGreaterThan(3_540);
    expect(life).toBeLessThanOrEqual(3_600);
    const expire = (seconds: number) =>
      service.rows(`update one_time_tokens set expires_at = now() + $1 * interval '1 second' where user_id = $2`, [
        seconds,
        user.user_id,
      ]);
    await expire(-1);
    await expectInvalid(token);
    expect(await loginStatus(password)).toBe(200);
    await expire(5);
    expect((await reset(token)).status).toBe(204);
  });

  it('rejects access tokens, refresh tokens, address confirmations and session ids (R14)', async () => {
    const login = await service.login(user.name);
    const email = `new-${user.email}`;
    await service.post('/auth/email', { token: login.token, body: { email, current_password: password } });
    const { token: confirmation } = await service.mailbox.take(email);
    expect((await service.get(`/auth/email/${confirmation}`)).status).toBe(200);
    for (const token of [confirmation ?? '', login.token, login.refresh_token, login.session_id])
      await expectInvalid(token);
    const token = await mailedResetToken(service, user.email);
    expect((await service.post(`/auth/email/${token}`, { body: {} })).body.code).toBe('email.token_invalid');
    expect((await service.get('/user', { token })).status).toBe(401);
    expect((await service.post('/auth/check-token', { body: { refresh_token: token } })).status).toBe(401);
    expect(await loginStatus(password)).toBe(200);
    expect((await service.get(`/auth/email/${confirmation}`)).status).toBe(200);
  });

  it('rejects a request that names another user, and changes only its own user (R15)', async () => {
    const other = await service.createUser();
    const token = await mailedResetToken(service, user.email);
    for (const field of [{ user_id: other.user_id }, { email: other.email }, { login: other.name }, { token: 'x' }]) {
      const answer = await service.post(`/auth/reset/${token}`, { body: { password: newPassword, ...field } });
      expect(answer.body).toMatchObject({ code: 'request.invalid', errors: [{ code: 'field.unknown' }] });
    }
    expect(
      (await service.post(`/auth/reset/${token}?user_id=${other.user_id}`, { body: { password: newPassword } })).status,
    ).toBe(400);
    expect((await reset(token)).status).toBe(204);
    expect(await loginStatus(newPassword)).toBe(200);
    expect((await service.post('/auth/login', { body: { login: other.name, password } })).status).toBe(200);
  });

  it('responds to a token longer than any route parameter with the documented error (R20)', async () => {
    expect(await mailedResetToken(service, user.email)).toHaveLength(43);
    for (const length of [100, 101, 128, 129, 10_000]) await expectInvalid('a'.repeat(length));
  });

  it('stores the token neither in the database nor in the queue (R21)', async () => {
    const token = await mailedResetToken(service, user.email);
    await service.post('/auth/reset_email', { body: { email: user.email } });
    const tables = await service.rows<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['public.one_time_tokens', 'public.events', 'graphile_worker._private_jobs']),
    );
    const dumps = await Promise.all(
      tables.map(({ name }) => service.rows<{ row: string }>(`select t::text as row from ${name} t`)),
    );
    const dump = dumps.flat().map(({ row }) => row);
    expect(dump.filter((row) => row.includes(user.user_id)).length).toBeGreaterThan(2);
    const bytes = Buffer.from(token, 'base64url');
    for (const form of [
      token,
      bytes.toString('hex'),
      bytes.toString('base64'),
      Buffer.from(token).toString('hex'),
      Buffer.from(token).toString('base64'),
    ])
      expect(dump.filter((row) => row.toLowerCase().includes(form.toLowerCase()))).toEqual([]);
    await queueEmpty(service);
  });

  it('ends all sessions of the user (R16)', async () => {
    const logins = [await service.login(user.name), await service.login(user.email), await service.login(user.name)];
    const bystander = await service.loginAs();
    const token = await mailedResetToken(service, user.email);
    for (const login of logins) expect((await service.get('/user', { token: login.token })).status).toBe(200);
    expect((await reset(token)).status).toBe(204);
    for (const login of logins) {
      expect((await service.get('/user', { token: login.token })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { token: login.token } })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { refresh_token: login.refresh_token } })).status).toBe(
        401,
      );
    }
    expect((await service.get('/user', { token: bystander.token })).status).toBe(200);
    const found = `/auth/session/list?user_id=${user.user_id}&ended_reason=password_changed`;
    expect((await service.get(found, { token: service.admin.token })).body.items).toHaveLength(3);
  });

  it('responds without a login and without data of the user (R17)', async () => {
    const token = await mailedResetToken(service, user.email);
    const check = await service.get(`/auth/reset/${token}`);
    expect(Object.keys(check.body).sort()).toEqual(['expires_at', 'kind']);
    const answers = [
      check,
      await service.post('/auth/reset_email', { body: { email: user.email } }),
      await reset(token),
    ];
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [200, check.text],
      [202, '{}'],
      [204, ''],
    ]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      expect(headers['set-cookie']).toBeUndefined();
      expect(JSON.stringify(headers)).not.toMatch(
        new RegExp(`${user.name}|${user.user_id}|${token}|location|bearer`, 'i'),
      );
    }
    expect(await service.rows('select 1 from sessions where user_id = $1', [user.user_id])).toEqual([]);
  });

  it('keeps the link valid when a mail scanner opens it (R19)', async () => {
    const token = await mailedResetToken(service, user.email);
    const scan = (method: string, accept: string) =>
      service.inject({
        method,
        url: `/auth/reset/${token}`,
        headers: { accept, 'user-agent': 'Scanner/1.0' },
      });
    for (let round = 0; round < 3; round++) {
      expect((await scan('GET', '*/*')).statusCode).toBe(200);
      expect((await scan('GET', 'text/html')).statusCode).toBe(200);
      expect((await scan('HEAD', '*/*')).statusCode).toBe(405);
      expect((await scan('OPTIONS', '*/*')).statusCode).toBe(405);
    }
    expect((await reset(token)).status).toBe(204);
  });

  describe('with a weak password', () => {
    let token: string;
    beforeEach(async () => {
      token = await mailedResetToken(service, user.email);
    });
    const fault = async (secret: unknown) => {
      const { status, body } = await service.post(`/auth/reset/${token}`, { body: { password: secret } });
      return status === 400 ? body.errors[0].code : status;
    };

    it('rejects a weak password as everywhere and keeps the link valid (R22)', async () => {
      const refused: [string, unknown][] = [
        ['password.too_short', 'fourteen chars'],
        ['password.too_short', '🦊'.repeat(14)],
        ['password.too_long', 'é1 '.repeat(86)],
        ['field.too_long', 'x'.repeat(1_025)],
        ['password.common', 'aaaaaaaaaaaaaaaa'],
        ['password.common', 'qwertyuiopasdfgh'],
        ['password.common', 'passwordpassword'],
        ['password.contains_identity', `my name is ${user.name.toUpperCase()}`],
        ['password.contains_identity', 'this is carrier-identity'],
        ['field.malformed', 'nothing after\u0000 this counts'],
        ['field.malformed', 'half a fox \ud83e and more'],
        ['field.too_short', ''],
        ['field.wrong_type', ['correct horse battery']],
        ['field.wrong_type', null],
        ['field.wrong_type', 123_456_789_012_345],
        ['field.required', undefined],
      ];
      for (const [code, secret] of refused) expect([secret, await fault(secret)]).toEqual([secret, code]);
      expect(await loginStatus(password)).toBe(200);
      expect(await fault(newPassword)).toBe(204);
      expect(await loginStatus(newPassword)).toBe(200);
    });

    const animals = '🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧🐦🐤';
    it.each([
      ['of 15 code points', `${animals}🦆`, `${animals}🦉`],
      ['with spaces at both ends', '  fourteen chars  ', 'fourteen chars'],
      ['without capitals and digits', 'ein langer satz ohne alles', 'Ein langer Satz ohne alles'],
      [
        'of 256 characters',
        `семь мостов и тихая река ${'Ж2 '.repeat(77)}`,
        `семь мостов и тихая река ${'Ж2 '.repeat(76)}Ж2x`,
      ],
      ['in full width', 'ｃｏｒｒｅｃｔ ｈｏｒｓｅ ｓｔａｐｌｅ', 'correct horse staple'],
    ])('accepts a password %s and verifies it exactly (R22)', async (_name, secret, near) => {
      expect(await fault(secret)).toBe(204);
      expect(await loginStatus(secret)).toBe(200);
      expect(await loginStatus([...secret].slice(0, -1).join(''))).toBe(401);
      expect(await loginStatus(near)).toBe(401);
    });
  });

  describe('by a user who cannot log in', () => {
    it('leaves a disabled user disabled, by an older link and by a new request (R23)', async () => {
      const token = await mailedResetToken(service, user.email);
      await service.patch(`/user/${user.user_id}`, { token: service.admin.token, body: { status: 'disabled' } });
      expect((await reset(token)).body.code).toBe('reset.token_invalid');
      await service.rows(`update one_time_tokens set requested_at = requested_at - interval '1 hour'`);
      expect((await service.post('/auth/reset_email', { body: { email: user.email } })).status).toBe(202);
      await queueEmpty(service);
      expect(service.mailbox.mails.filter(({ to }) => to.includes(user.email))).toEqual([]);
      expect([await loginStatus(password), await loginStatus(newPassword)]).toEqual([401, 401]);
      expect((await stored()).status).toBe('disabled');
    });

    it('detects that the user is disabled between the check of the link and its use (R23)', async () => {
      const token = await mailedResetToken(service, user.email);
      await service.rows(`update users set status = 'disabled' where user_id = $1`, [user.user_id]);
      expect((await reset(token)).body.code).toBe('reset.token_invalid');
      expect((await stored()).status).toBe('disabled');
      expect(
        await service.rows('select 1 from one_time_tokens where user_id = $1 and token_hash is not null', [
          user.user_id,
        ]),
      ).toHaveLength(1);
    });

    it('ends a lockout and the duty to change the password, and confirms the address (R23)', async () => {
      await service.rows(
        `update users set locked_until = now() + interval '1 hour', must_change_password = true where user_id = $1`,
        [user.user_id],
      );
      expect(await stored()).toMatchObject({
        must_change_password: true,
        email_verified_at: null,
        locked_until: expect.any(String),
      });
      expect((await reset(await mailedResetToken(service, user.email))).status).toBe(204);
      expect(await stored()).toMatchObject({
        must_change_password: false,
        email_verified_at: expect.any(String),
        locked_until: null,
      });
      const { token } = await service.login(user.name, newPassword);
      expect((await service.get('/user', { token })).status).toBe(200);
    });
  });

  it('notifies the user of the changed password (R24)', async () => {
    const token = await mailedResetToken(service, user.email);
    await reset(token);
    const notice = await service.mailbox.take(user.email, /Subject: Your password was changed/);
    expect(notice.to).toEqual([user.email]);
    const login = await service.login(user.name, newPassword);
    await service.post('/auth/password', {
      token: login.token,
      body: { current_password: newPassword, new_password: password },
    });
    const second = await service.mailbox.take(user.email, /Subject: Your password was changed/);
    for (const { source } of [notice, second]) {
      expect(source).not.toContain(token);
      expect(source).not.toContain(newPassword);
      expect(source).not.toContain(password);
    }
    expect(notice.source).not.toMatch(/\/auth\//);
  });
});
