import { createHash } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { createApp } from '../../../src/app.setup';
import { loadConfig } from '../../../src/config/config';
import { PasswordPolicy } from '../../../src/credentials/policy/password-policy';
import { strengthLimits } from '../../../src/credentials/policy/password-strength';
import { FirstAdministrator } from '../../../src/recovery/first-administrator.service';
import { mailedResetToken } from '../../support/links';
import { adminEmail, appSecret, password, type TestAnswer, TestService } from '../../support/service';
import { createTestDatabase } from '../../support/test-database';

/** Passwords in no list that crackers try within minutes. */
const guessable = ['password1234567', 'P@ssw0rd12345678', 'qwertzuiop12345', 'superman19850612', 'november12345678'];
const scripts = [
  'abcXYZ019!@#',
  '4@8({[<3619|!1705$7+2',
  '0123456789./-',
  'абвгдежзиклмн',
  '文字列測試密碼',
  '🦊🐻🐼🐨🐯🦁',
];

// A check on a busy machine must not be skipped.
Object.assign(strengthLimits, { checkMs: 60_000, loadMs: 60_000, patienceMs: 60_000 });

describe('guessable passwords', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const create = (fields: object) =>
    service.post('/user/create', {
      token: service.admin.token,
      body: { user_type: 'carrier', carrier_id: 'acmefreight', ...fields },
    });

  const faultOf = ({ status, body }: TestAnswer) => (status === 400 ? body.errors[0] : status);

  it.each(guessable)('rejects %s wherever a password is set, and says why (P15)', async (secret) => {
    const fault = (pointer: string) => ({
      pointer,
      code: 'password.too_weak',
      detail: 'is too easy to guess',
      hints: expect.arrayContaining(['another_word']),
    });
    const { token, email } = await service.loginAs();
    const body = { current_password: password, new_password: secret };
    expect(faultOf(await service.post('/auth/password', { token, body }))).toEqual(fault('/new_password'));
    const named = { name: `weak-${guessable.indexOf(secret)}`, email: 'weak@example.com', password: secret };
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

  it('requires a change of an imported password that is easy to guess (P15, P12)', async () => {
    const secret = 'superman19850612';
    const { user_id, name } = await service.createUser();
    const old = await hash(secret, { algorithm: 2, memoryCost: 64, timeCost: 1, parallelism: 1 });
    await service.rows('update credentials set password_hash = $2 where user_id = $1', [user_id, old]);
    const { status, body } = await service.post('/auth/login', { body: { login: name, password: secret } });
    expect([status, body.user.must_change_password]).toEqual([200, true]);
  });

  it('responds to other requests while it checks passwords of 256 characters in any script (P17)', async () => {
    const { token, name, email } = await service.loginAs();
    const secrets = Array.from({ length: 20 }, (_, index) => {
      const alphabet = [...(scripts[index % scripts.length] ?? '')];
      // Without a period, because repetitions are checked fast.
      const random = [0, 1, 2, 3].flatMap((part) => [...createHash('sha512').update(`${index} ${part}`).digest()]);
      return random.map((byte) => alphabet[byte % alphabet.length]).join('');
    });
    const policy = service.app.get(PasswordPolicy);
    const context = { name, email, carrier_id: null };
    const checks = secrets.map((secret) => policy.fault(secret, context, '/password'));
    let running = checks.length;
    for (const check of checks) void check.then(() => running--);
    let answered = 0;
    for (; running > 0; answered++) expect((await service.get('/user', { token })).status).toBe(200);
    expect(await Promise.all(checks)).toEqual(checks.map(() => null));
    expect(answered).toBeGreaterThan(2 * checks.length);
  });
});

describe('a guessable ADMIN_PASSWORD', () => {
  it('creates no administrator (P15)', async () => {
    const database = await createTestDatabase();
    const config = loadConfig({
      DATABASE_URL: database.url,
      APP_SECRET: appSecret,
      ADMIN_EMAIL: adminEmail,
      ADMIN_PASSWORD: 'password1234567',
      LOG_LEVEL: 'silent',
    });
    const app = await createApp(config);
    await expect(app.get(FirstAdministrator).ensure()).rejects.toMatchObject({
      extras: { errors: [{ pointer: '/password', code: 'password.too_weak' }] },
    });
    await app.close();
    await database.drop();
  });
});
