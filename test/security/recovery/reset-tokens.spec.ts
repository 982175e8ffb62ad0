import { endMailLimits, mailedResetToken, queueEmpty, visibleResponse } from '../../support/links';
import { password, TestService } from '../../support/service';

const newPassword = 'an entirely new phrase';

describe('the token of a reset link', () => {
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
    for (let round = 0; round < 5; round++) {
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

  describe('skipping the mail', () => {
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
      await expectInvalidSoon(token);
      await service.mailbox.start();
      await service.rows('update graphile_worker._private_jobs set run_at = now() where locked_at is null');
      expect((await service.mailbox.take(user.email, /\/auth\/reset\//)).token).not.toBe(token);
    });

    async function expectInvalidSoon(token: string): Promise<void> {
      for (const end = Date.now() + 15_000; Date.now() < end;)
        if ((await service.get(`/auth/reset/${token}`)).status === 404) return expectInvalid(token);
      throw new Error('the older link still works');
    }
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
});
