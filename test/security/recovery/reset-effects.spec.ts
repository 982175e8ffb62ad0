import { strengthLimits } from '../../../src/credentials/policy/password-strength';
import { mailedResetToken, queueEmpty } from '../../support/links';
import { password, TestService } from '../../support/service';

const newPassword = 'an entirely new phrase';

// A check on a busy machine must not be skipped.
Object.assign(strengthLimits, { checkMs: 60_000, loadMs: 60_000, patienceMs: 60_000 });

describe('the effects of a reset', () => {
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
      service.app.inject({
        method: method as 'GET',
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
        ['password.too_weak', 'password1234567'],
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
