import { hash as hashArgon2 } from '@node-rs/argon2';
import { hashCost, heldHashes, METRICS_TOKEN, whileHashes } from '../support/hash-counts';
import { mailedResetToken } from '../support/links';
import { appSecret, adminEmail, password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase } from '../support/test-database';

describe('the rules for passwords', () => {
  let service: TestService;
  let user: TestLogin & { name: string; email: string };
  /** the current password of `user` */
  let current = password;

  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN, ...heldHashes });
    user = await service.loginAs({ carrier_id: 'acmecarrier' });
  });
  afterAll(() => service.close());

  const change = (new_password: unknown, current_password: unknown = current): Promise<TestAnswer> =>
    service.post('/auth/password', { token: user.token, body: { current_password, new_password } });
  const login = async (secret: string) =>
    (await service.post('/auth/login', { body: { login: user.name, password: secret } })).status;

  async function accept(secret: string): Promise<void> {
    const answer = await change(secret);
    expect([secret, answer.status]).toEqual([secret, 204]);
    current = secret;
  }

  async function refuse(secret: string, code: string): Promise<void> {
    const answer = await change(secret);
    expect([secret, answer.status, answer.body?.errors?.[0]]).toMatchObject([
      secret,
      400,
      { pointer: '/new_password', code },
    ]);
  }

  it('counts length in code points, including spaces (P1)', async () => {
    await refuse('k7#Qz!m2Wp9$xR', 'password.too_short');
    await refuse('🂡🎲🚀🌵🍄🎻🦉🐙🧊🪐🎯🗿🧵🥨', 'password.too_short');
    await accept('k7#Qz!m2Wp9$xRv');
    await accept('🂡🎲🚀🌵🍄🎻🦉🐙🧊🪐🎯🗿🧵🥨🛶');
    await accept(' a b c d e f g ');
    expect(await login(current)).toBe(200);
    expect(await login(current.trim())).toBe(401);
  });

  it('verifies every character, and rejects NUL (P2)', async () => {
    const long = `${'0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ .-_'.padEnd(78, '#')}Yz`;
    expect(long).toHaveLength(80);
    await accept(long);
    for (const near of [long.slice(0, 72), long.slice(0, 79), `${long.slice(0, 79)}y`, `${long}x`])
      expect(await login(near)).toBe(401);
    expect(await login(long)).toBe(200);
    expect((await change('abcdefgh\u0000ijklmnopqr')).status).toBe(400);
    expect(await login(`${long}\u0000`)).toBe(400);
    const longest = long.repeat(4).slice(0, 192) + 'é'.repeat(32) + 'ñ'.repeat(32);
    await accept(longest);
    expect(await login(longest.slice(0, 255))).toBe(401);
    expect(await login(longest)).toBe(200);
  });

  it('requires no composition of characters (P3)', async () => {
    for (const free of [
      'correct horse battery',
      'onlylowercaseletters',
      'пароль без правил',
      '8302749165720938',
      'ẞßﬁ ﬂuent 文字列です',
    ]) {
      await accept(free);
    }
    expect(await login(current)).toBe(200);
  });

  it.each(['1q2w3e4r5t6y7u8i9o0p', 'PASSWORDpassword', 'aaaaaaaaaaaaaaa', '987654321098765'])(
    'rejects the common password %s (P4)',
    (secret) => refuse(secret, 'password.common'),
  );

  it('rejects passwords made of name, address, carrier and product, in any case (P5)', async () => {
    const words = [
      user.name,
      user.email.split('@')[0] ?? '',
      'acmecarrier',
      'ACMEcarrier',
      'carrier-identity',
      'CarrierIdentity',
    ];
    for (const word of words) await refuse(`${word}2026!!xyzzy`, 'password.contains_identity');
  });

  it('rejects long passwords before it computes a hash (P6)', async () => {
    const { logins, others } = await hashCost(service, async () => {
      const secrets = Array.from({ length: 8 }, (_, index) => String(index).repeat(index < 4 ? 1_048_576 : 60_000));
      const answers = await Promise.all(
        secrets.flatMap((secret) => [
          change(secret),
          change('x', secret),
          service.post('/auth/login', { body: { login: user.name, password: secret } }),
        ]),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 413]));
      await refuse('aZ4'.repeat(85) + 'xy', 'password.too_long');
    });
    // The right current password of the last one.
    expect([logins, others]).toEqual([1, 0]);
  });

  it('rejects a change without the current password, which counts as a failed login (P7)', async () => {
    const failures = async () => {
      const [row] = await service.rows<{ n: number }>(
        `select count(*)::integer as n from events where event_type = 'login.failed' and target_id = $1`,
        [user.user_id],
      );
      return row?.n ?? 0;
    };
    const before = await failures();
    const next = 'another fine phrase here';
    expect((await change(next, 'not the current one')).body.code).toBe('auth.wrong_current_password');
    expect(await failures()).toBe(before + 1);
    for (const body of [
      { new_password: next },
      { new_password: next, current_password: null },
      { new_password: next, current_password: '' },
    ]) {
      expect((await service.post('/auth/password', { token: user.token, body })).status).toBe(400);
    }
    const by = { token: service.admin.token, body: { password: next } };
    expect((await service.patch(`/user/${user.user_id}`, by)).status).toBe(400);
    expect((await service.patch(`/user/${user.user_id}`, { ...by, token: user.token })).status).toBe(400);
    expect((await service.patch(`/user/all?user_id=${user.user_id}`, by)).status).toBe(400);
    expect(await login(next)).toBe(401);
    expect(await login(current)).toBe(200);
  });

  it('ends all other sessions after a change, and keeps the current one (P8, S12)', async () => {
    const other = await service.login(user.name, current);
    await accept('yet another fine phrase');
    expect((await service.get('/user', { token: other.token })).status).toBe(401);
    expect((await service.post('/auth/check-token', { body: { refresh_token: other.refresh_token } })).status).toBe(
      401,
    );
    expect((await service.get('/user', { token: user.token })).status).toBe(200);
    const { body } = await service.post('/auth/check-token', { body: { refresh_token: user.refresh_token } });
    user = { ...user, token: body.access_token, refresh_token: body.refresh_token };
    const [row] = await service.rows('select ended_reason from sessions where session_id = $1', [other.session_id]);
    expect(row).toEqual({ ended_reason: 'password_changed' });
  });

  it('rejects an unchanged password (P9)', () => refuse(current, 'password.unchanged'));

  it('replaces old hash parameters at a login, which succeeds although the new hash fails (P12)', async () => {
    const weak = await hashArgon2(current, { algorithm: 2, memoryCost: 4_096, timeCost: 1, parallelism: 1 });
    const stored = async () => {
      const [row] = await service.rows<{ password_hash: string }>(
        'select password_hash from credentials where user_id = $1',
        [user.user_id],
      );
      return row?.password_hash ?? '';
    };
    await service.rows('update credentials set password_hash = $2 where user_id = $1', [user.user_id, weak]);
    expect(await login(`${current}!`)).toBe(401);
    expect(await stored()).toBe(weak);
    expect(await whileHashes(service, 'fail', () => login(current))).toBe(200);
    expect(await stored()).toBe(weak);
    expect(await login(current)).toBe(200);
    expect(await stored()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await login(current)).toBe(200);
  });

  it('verifies Unicode exactly as sent (P13)', async () => {
    const wide = 'Ｆｕｌｌｗｉｄｔｈ ｐａｓｓｗｏｒｄ';
    await accept(wide);
    expect(await login(wide.normalize('NFKC'))).toBe(401);
    expect(await login(wide)).toBe(200);
    const composed = 'Ångström café naïve Ω'.normalize('NFC');
    await accept(composed);
    for (const other of [composed.normalize('NFD'), composed.toLowerCase(), composed.toUpperCase()])
      expect(await login(other)).toBe(401);
    expect(await login(composed)).toBe(200);
  });

  const create = (fields: object) =>
    service.post('/user/create', {
      token: service.admin.token,
      body: { user_type: 'carrier', carrier_id: 'acmefreight', ...fields },
    });

  const faultOf = ({ status, body }: TestAnswer) => (status === 400 ? body.errors[0] : status);

  it('rejects a guessable password wherever a password is set, and says why (P15)', async () => {
    const secret = 'superman19850612';
    const fault = (pointer: string) => ({
      pointer,
      code: 'password.too_weak',
      detail: 'is too easy to guess',
      hints: expect.arrayContaining(['another_word']),
    });
    const { token, email } = await service.loginAs();
    const body = { current_password: password, new_password: secret };
    expect(faultOf(await service.post('/auth/password', { token, body }))).toEqual(fault('/new_password'));
    const named = { name: 'weak', email: 'weak@example.com', password: secret };
    expect(faultOf(await create(named))).toEqual(fault('/password'));
    const link = await mailedResetToken(service, email);
    const answer = await service.post(`/auth/reset/${link}`, { body: { password: secret } });
    expect(faultOf(answer)).toEqual(fault('/password'));
    expect((await service.post(`/auth/reset/${link}`, { body: { password: 'seven quiet bridges' } })).status).toBe(204);
  });

  it('rejects the first and last name, address and phone number of the user with a few characters (P5)', async () => {
    const person = {
      name: 'vdq',
      first_name: 'Zebulonia',
      last_name: 'Quixborough',
      email: 'vdq@wuthfreight.example',
      phone: '+437205551234',
    };
    const secrets = ['Zebulonia123456', 'Quixborough2024', 'vdq@wuthfreight.example', '437205551234!!!'];
    for (const [index, secret] of secrets.entries()) {
      const refused = faultOf(await create({ ...person, password: secret }));
      expect([secret, refused]).toMatchObject([secret, { code: 'password.too_weak' }]);
      const other = { name: `other-${index}`, email: `other-${index}@example.com` };
      expect([secret, (await create({ ...other, password: secret })).status]).toEqual([secret, 201]);
    }
  });

  it('creates no administrator with a guessable password (P15)', async () => {
    const database = await createTestDatabase();
    const instance = new ServiceProcess({
      ...{ DATABASE_URL: database.url, APP_SECRET: appSecret },
      ...{ ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: 'password1234567' },
    });
    expect(await instance.exit).toBe(1);
    expect(instance.output).toContain('too easy to guess');
    await database.drop();
  });
});
