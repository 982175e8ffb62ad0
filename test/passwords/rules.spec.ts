import { createHash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { hash as hashArgon2 } from '@node-rs/argon2';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { PasswordStrength, strengthLimits } from '../../src/auth/passwords/policy/password-strength';
import { changesOf } from '../support/data/events';
import { hashCost, heldHashes, METRICS_TOKEN, whileHashes } from '../support/process/hash-counts';
import { importRow, importRows } from '../support/data/imports';
import { mailedResetToken } from '../support/data/links';
import { appSecret, adminEmail, password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { createTestDatabase } from '../support/test-database';
import { decode } from '../support/logins/tokens';
import { until } from '../support/until';

const weak = 'rosebud';
const strong = 'four rivers under a wide bridge';
const salt = Buffer.from('0123456789abcdef');
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

const own = (password: string) => hashArgon2(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
const bcrypt = (password: string) => hashBcrypt(password, { cost: 4 });
const pbkdf2 = (password: string, iterations = 1_000) => base64(pbkdf2Sync(password, salt, iterations, 32, 'sha256'));

const forms: [string, (password: string) => Promise<string> | string][] = [
  ['bcrypt', bcrypt],
  ['Argon2 with current parameters', own],
  ['Argon2 with other parameters', (password) => hashArgon2(password, { memoryCost: 64, timeCost: 1, parallelism: 1 })],
  ['scrypt', (password) => `$scrypt$ln=4,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32, { N: 16 }))}`],
  ['PBKDF2', (password) => `$pbkdf2-sha256$1000$${base64(salt)}$${pbkdf2(password)}`],
  ['MD5', (password) => createHash('md5').update(password).digest('hex')],
];

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
    for (const free of ['onlylowercaseletters', 'пароль без правил', '8302749165720938', 'ẞßﬁ ﬂuent 文字列です'])
      await accept(free);
    expect(await login(current)).toBe(200);
  });

  it('rejects a common password (P4)', () => refuse('1q2w3e4r5t6y7u8i9o0p', 'password.common'));

  it('rejects passwords made of name, address, carrier and product, in any case (P5)', async () => {
    const [local = ''] = user.email.split('@');
    for (const word of [user.name, local, 'acmecarrier', 'ACMEcarrier', 'carrier-identity', 'CarrierIdentity'])
      await refuse(`${word}2026!!xyzzy`, 'password.contains_identity');
  });

  it('rejects long passwords before it computes a hash (P6)', async () => {
    const { logins, others } = await hashCost(service, async () => {
      const answers = await Promise.all(
        ['1'.repeat(1_048_576), '2'.repeat(60_000)].flatMap((secret) => [
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
    const failures = async () => (await changesOf(service, 'login.failed', user.user_id)).length;
    const before = await failures();
    const next = 'another fine phrase here';
    expect((await change(next, 'not the current one')).body.code).toBe('auth.wrong_current_password');
    expect(await failures()).toBe(before + 1);
    for (const current_password of [undefined, null, '']) {
      const body = { new_password: next, current_password };
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
    expect((await service.get('/user', user)).status).toBe(200);
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
      ...service.admin,
      body: { user_type: 'carrier', carrier_id: 'acmefreight', ...fields },
    });

  const faultOf = ({ status, body }: TestAnswer) => (status === 400 ? body.errors[0] : status);

  it('rejects a guessable password wherever a password is set, and says why (P15)', async () => {
    const secret = 'superman19850612';
    const [detail, hints] = ['is too easy to guess', expect.arrayContaining(['another_word'])];
    const fault = (pointer: string) => ({ pointer, code: 'password.too_weak', detail, hints });
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
    const person = { first_name: 'Zebulonia', last_name: 'Quixborough', phone: '+437205551234' };
    const [name, email] = ['vdq', 'vdq@wuthfreight.example'];
    const secrets = ['Zebulonia123456', 'Quixborough2024', 'vdq@wuthfreight.example', '437205551234!!!'];
    for (const [index, secret] of secrets.entries()) {
      const refused = faultOf(await create({ ...person, name, email, password: secret }));
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

  describe('imported passwords that the current policy rejects', () => {
    let count = 0;
    const replaceHash = async (user_id: string, password_hash: string) =>
      service.rows('update credentials set password_hash = $2 where user_id = $1', [user_id, password_hash]);

    const stored = async (user_id: string) => {
      const columns = 'select policy_checked, xmin::text from credentials where user_id = $1';
      return (await service.rows<{ policy_checked: boolean; xmin: string }>(columns, [user_id]))[0];
    };
    const isChecked = async (user_id: string) => (await stored(user_id))?.policy_checked;

    async function importUser(password_hash: string, more: object = {}): Promise<{ name: string; user_id: string }> {
      const name = `imported-${++count}`;
      const { body } = await importRows(service, [importRow(name, { password_hash, ...more })], service.admin);
      expect(body).toMatchObject({ changed: 1 });
      const users = await service.rows<{ user_id: string }>('select user_id from users where name = $1', [name]);
      return { name, user_id: users[0]?.user_id ?? '' };
    }
    const logIn = (login: string, password: string) => service.post('/auth/login', { body: { login, password } });

    it.each(forms)('requires a change of a weak password, but of no other: %s (P12)', async (_form, make) => {
      const [one, other] = [await importUser(await make(weak)), await importUser(await make(strong))];
      expect((await logIn(one.name, strong)).status).toBe(401);
      expect(await isChecked(one.user_id)).toBe(false);
      expect((await logIn(one.name, weak)).body.user.must_change_password).toBe(true);
      expect((await logIn(other.name, strong)).body.user.must_change_password).toBe(false);
      expect([await isChecked(one.user_id), await isChecked(other.user_id)]).toEqual([true, true]);
    });

    it('restricts the first login with a weak password, until it is changed (P12)', async () => {
      const { name } = await importUser(await bcrypt(weak), { roles: ['carrier_administrator'] });
      const token = (await logIn(name, weak)).body.access_token;
      expect(decode(token)['roles']).toEqual([]);
      expect((await service.get('/user/list', { token })).body.code).toBe('auth.password_change_required');
      const checked = await service.post('/auth/check-token', { body: { token } });
      expect(checked.body).toMatchObject({ user: { must_change_password: true }, permissions: [] });
      expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
      const change = { current_password: weak, new_password: strong };
      expect((await service.post('/auth/password', { token, body: change })).status).toBe(204);
      expect((await service.get('/user/list', { token })).status).toBe(200);
      const free = await logIn(name, strong);
      expect(free.body.user.must_change_password).toBe(false);
      expect(decode(free.body.access_token)['roles']).toEqual(['carrier_administrator']);
    });

    it('checks a strong imported password with current parameters at the first login only', async () => {
      const { name, user_id } = await importUser(await own(strong));
      expect(await isChecked(user_id)).toBe(false);
      expect((await logIn(name, strong)).body.user.must_change_password).toBe(false);
      expect(await isChecked(user_id)).toBe(true);

      // A weak password that was already checked, as after a policy became stricter.
      await replaceHash(user_id, await own(weak));
      const before = await stored(user_id);
      expect((await logIn(name, weak)).body.user.must_change_password).toBe(false);
      expect(await stored(user_id)).toEqual(before);
    });

    it('marks a password that replaces an unchecked one as checked', async () => {
      const { user_id, token } = await service.loginAs();
      await service.rows('update credentials set policy_checked = false where user_id = $1', [user_id]);
      const change = { current_password: password, new_password: strong };
      expect((await service.post('/auth/password', { token, body: change })).status).toBe(204);
      expect(await isChecked(user_id)).toBe(true);
    });

    it('checks the password against the name of the user', async () => {
      const named = 'a fine password of ada-lovelace';
      await importUser(await bcrypt(named), { name: 'ada-lovelace' });
      expect((await logIn('ada-lovelace', named)).body.user.must_change_password).toBe(true);
    });

    it('records one event and one new version, even for concurrent first logins', async () => {
      const { name, user_id } = await importUser(await bcrypt(weak));
      const { version } = (await service.get(`/user/${user_id}`, service.admin)).body;
      const answers = await Promise.all([1, 2, 3].map(() => logIn(name, weak)));
      expect(answers.map(({ body }) => body.user.version)).toEqual([version + 1, version + 1, version + 1]);
      const { body } = await service.get(`/audit/list?target_id=${user_id}&event_type=user.changed`, service.admin);
      const changes = { must_change_password: { before: false, after: true } };
      expect(body.items).toMatchObject([{ actor_type: 'system', actor_id: null, changes }]);
    });

    it('restricts the open sessions of the user as well', async () => {
      const { name, user_id } = await importUser(await bcrypt(strong));
      const before = (await logIn(name, strong)).body;
      await replaceHash(user_id, await bcrypt(weak));
      expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
      const answer = await service.get(`/auth/session/list`, { token: before.access_token });
      expect(answer.body.code).toBe('auth.password_change_required');
    });

    it('keeps the hash when the password is only confirmed, so that the next login still checks it', async () => {
      const { user_id, name, token } = await service.loginAs();
      await replaceHash(user_id, await bcrypt(weak));
      const change = { email: 'confirmed@example.com', current_password: weak };
      expect((await service.post('/auth/email', { token, body: change })).status).toBe(202);
      expect((await logIn(name, weak)).body.user.must_change_password).toBe(true);
    });

    it('takes the work of an imported hash to reject anyone, and less for a right password (L19)', async () => {
      const [user, disabled] = [await service.createUser(), await service.createUser()];
      await service.rows(`update users set status = 'disabled' where user_id = $1`, [disabled.user_id]);
      const { name } = await importUser(`$pbkdf2-sha256$600000$${base64(salt)}$${pbkdf2(strong, 600_000)}`);
      const seconds = async (login: string, secret: string, status: number) => {
        const { cpuSeconds } = await hashCost(service, async () =>
          expect((await logIn(login, secret)).status).toBe(status),
        );
        await service.rows('delete from login_attempts');
        return cpuSeconds;
      };
      const least = (await seconds('unknown-name', strong, 401)) / 2;
      for (const login of [user.name, disabled.name, name])
        expect([login, (await seconds(login, weak, 401)) > least]).toEqual([login, true]);
      expect(await seconds(disabled.name, password, 401)).toBeGreaterThan(least);
      expect(await seconds(user.name, password, 200)).toBeLessThan(least);
    });
  });
});

/** Patient, because the machine of the tests may be busy. */
const patient = { ...strengthLimits, checkMs: 30_000, loadMs: 60_000, patienceMs: 60_000 };
/** A random password of 64 characters, which takes longest. */
const longest = 'q8Z!r3@Vx7$Lm1#Tw9^Kp2&Hn5*Bc4(Yd6)Gf0-Js_Xe+Ua=Ri%Ob~Nk?Cq;Mt:E';
const accepted = { isStrong: true, hints: [] };

describe('the strength of passwords', () => {
  const limits = { ...patient };
  const strength = new PasswordStrength(limits);
  afterEach(() => Object.assign(limits, patient));
  afterAll(() => strength.onApplicationShutdown());

  it('accepts phrases and random passwords, and explains what makes others easy to guess', async () => {
    for (const password of ['correct horse battery staple', 'пароль без правил', longest])
      expect([password, await strength.check(password, [])]).toEqual([password, accepted]);
    const weak: [string, string][] = [
      ['password1234567', 'similar_to_common'],
      ['P@ssw0rd12345678', 'l33t'],
      ['abcabcabcabcabcabc', 'extended_repeat'],
      ['qwertzuiopqwertzuiop', 'another_word'],
      ['jannine@example.com1', 'user_inputs'],
    ];
    for (const [password, hint] of weak) {
      const found = await strength.check(password, ['jannine@example.com']);
      expect([password, found?.isStrong]).toEqual([password, false]);
      expect([password, found?.hints]).toEqual([password, expect.arrayContaining([hint])]);
    }
    expect(await strength.check('jannine@example.com1', [])).toEqual(accepted);
  });

  it('checks only the first 64 characters, also of characters outside the basic plane', async () => {
    expect((await strength.check(`${'ab'.repeat(32)}${longest}`, []))?.isStrong).toBe(false);
    expect((await strength.check(`${'🦊'.repeat(64)}${longest}`, []))?.isStrong).toBe(false);
    expect((await strength.check(`${'🦊'.repeat(40)}${longest}`, []))?.isStrong).toBe(true);
  });

  it('leaves the event loop free while it checks long passwords in any script (P17)', async () => {
    const checks = ['абвгдежзиклмн', '文字列測試密碼', '4@8({[<3619|!1705$7+2'].map((letters) => {
      const characters = [...letters];
      // Without a period, because repetitions are checked fast.
      const secret = Array.from(
        { length: 256 },
        (_, index) => characters[(index * index * 7 + index) % characters.length],
      );
      return strength.check(secret.join(''), []);
    });
    let [running, turns] = [true, 0];
    const done = Promise.all(checks).finally(() => (running = false));
    for (; running; turns++) await delay(1);
    expect(turns).toBeGreaterThan(2 * checks.length);
    expect(await done).not.toContain(null);
  });

  it('stops a check that takes too long, without a result, and restarts the thread', async () => {
    limits.checkMs = 1;
    // The answer may arrive in time if this process was suspended.
    await until(async () => (await strength.check(longest, [])) === null);
    limits.checkMs = patient.checkMs;
    expect(await strength.check(longest, [])).toEqual(accepted);
  });

  it('has no result while the thread loads for too long, and uses the thread later', async () => {
    const hurried = new PasswordStrength({ ...patient, loadMs: 1 });
    expect(await hurried.check(longest, [])).toBeNull();
    await until(async () => (await hurried.check(longest, [])) !== null);
    await hurried.onApplicationShutdown();
  });

  it('survives a crash of the thread, and starts another one', async () => {
    expect(await strength.check(longest, [])).toEqual(accepted);
    // Not a text: the library throws.
    expect(await strength.check(longest, [null as never])).toBeNull();
    expect(await strength.check(longest, [])).toEqual(accepted);
  });

  it('has no result for passwords beyond the limit of waiting passwords', async () => {
    limits.waitingMax = 2;
    const results = await Promise.all(Array.from({ length: 5 }, () => strength.check(longest, [])));
    expect(results).toEqual([accepted, accepted, null, null, null]);
    expect(await strength.check(longest, [])).toEqual(accepted);
  });

  it('has no result for passwords that waited too long', async () => {
    limits.patienceMs = 0;
    const results = await Promise.all([strength.check(longest, []), strength.check(longest, [])]);
    expect(results[1]).toBeNull();
  });

  it('starts no thread after the shutdown', async () => {
    await strength.onApplicationShutdown();
    expect(await strength.check('aaaaaaaa', [])).toBeNull();
  });
});
