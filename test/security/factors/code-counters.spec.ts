import { hash as hashArgon2 } from '@node-rs/argon2';
import { systemActor } from '../../../src/access/actor';
import { LoginAttemptsService } from '../../../src/credentials/login-attempts.service';
import { UserPasswordsService } from '../../../src/users/user-passwords.service';
import { mailedResetToken } from '../../support/links';
import { Authenticator, firstStep } from '../../support/second-factors';
import { password, type TestAnswer, TestService } from '../../support/service';

jest.setTimeout(300_000);

const away = '198.51.100.8';
/** Number of codes after which no lock ends by itself. */
const codesMax = 100;
/** Number of turns of an attack, enough to reach the last lock. A longer run sets TURNS. */
const turns = Number(process.env['TURNS'] ?? codesMax + 20);

describe('the counter of wrong codes', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const rows = (text: string, values: unknown[]) => service.rows(text, values);
  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
  const step = (body: object, ip = away): Promise<TestAnswer> => post('/auth/second-factor', { body, ip });

  async function user() {
    const { name, user_id, email } = await service.createUser();
    return { name, user_id, email, app: await Authenticator.enrol(rows, user_id) };
  }
  /** Enters wrong codes, each with a new challenge, and returns the statuses. */
  const guess = async (login: string, app: Authenticator, times: number, ip = away): Promise<number[]> => {
    const statuses: number[] = [];
    while (statuses.length < times) {
      const challenge = await firstStep(post, login, ip);
      statuses.push((await step({ challenge, code: app.wrongCode() }, ip)).status);
    }
    return statuses;
  };
  const failed = async (user_id: string) => {
    const found = `select 1 from events where target_id = $1 and event_type = 'login.second_factor_failed'`;
    return (await service.rows(found, [user_id])).length;
  };
  const endLock = (user_id: string) =>
    service.rows(
      `
        update login_attempts
        set locked_until = now()
        where account = $1 and locked_until > now() and locked_until < now() + interval '2 hours'`,
      [`codes:${user_id}`],
    );

  it('evaluates five of 100 codes over 20 challenges, factors and a session (M3)', async () => {
    const { name, user_id, app } = await user();
    const second = await Authenticator.enrol(rows, user_id);
    const login = await step({ challenge: await firstStep(post, name, away), code: app.code() });
    const challenges: string[] = [];
    const answers: TestAnswer[] = [];
    for (let index = 0; index < 100; index++) {
      if (index % 5 === 0) challenges.push(await firstStep(post, name, away));
      const code = [app, second][index % 2]?.wrongCode();
      answers.push(
        index % 3 === 2
          ? await service.post('/auth/reauthenticate', { token: login.body.access_token, body: { code }, ip: away })
          : await step({ challenge: challenges.at(-1), code }),
      );
    }
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array<number>(5).fill(401),
      ...Array<number>(95).fill(429),
    ]);
    expect(answers.at(-1)?.body).toMatchObject({ code: 'auth.too_many_attempts' });
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeLessThanOrEqual(30);
    expect(await failed(user_id)).toBe(5);
    // The right code is locked out as well. A recovery code is not, and unlocks the codes.
    const challenge = challenges.at(-1);
    expect((await step({ challenge, code: app.code(1) })).status).toBe(429);
    expect((await step({ challenge, recovery_code: await app.recoveryCode() })).status).toBe(200);
    expect((await step({ challenge: await firstStep(post, name, away), code: app.code(1) })).status).toBe(200);
  });

  it('keeps the known addresses of the user apart, so that a stranger cannot lock out codes (M3)', async () => {
    const { name, user_id, app } = await user();
    const home = '192.0.2.77';
    expect((await step({ challenge: await firstStep(post, name, home), code: app.code() }, home)).status).toBe(200);
    expect(await guess(name, app, 6)).toEqual([401, 401, 401, 401, 401, 429]);
    await app.passTime();
    expect((await step({ challenge: await firstStep(post, name, home), code: app.code() }, home)).status).toBe(200);
    // The login at home does not give the stranger more guesses.
    expect(await guess(name, app, 1)).toEqual([429]);
    expect(await failed(user_id)).toBe(5);
  });

  it('is not cleared by a password or a mailed reset, and neither removes the factor (M2, M8, R25)', async () => {
    const { name, user_id, email, app } = await user();
    const { body } = await step({ challenge: await firstStep(post, name, away), code: app.code() });
    expect(await guess(name, app, 5)).toEqual(Array<number>(5).fill(401));
    const secret = 'an entirely new phrase';
    const token = await mailedResetToken(service, email);
    expect((await service.post(`/auth/reset/${token}`, { body: { password: secret } })).status).toBe(204);
    expect((await service.get('/user', { token: body.access_token })).status).toBe(401);
    const login = await post('/auth/login', { body: { login: name, password: secret }, ip: away });
    expect(login.body.code).toBe('auth.second_factor_required');
    const { challenge } = login.body;
    expect((await step({ challenge, code: app.code(1) })).status).toBe(429);
    expect(await service.rows('select kind from second_factors where user_id = $1', [user_id])).toHaveLength(1);
  });

  it('does not evaluate more than 100 codes when codes, mailed resets and logins alternate (M8)', async () => {
    const { name, user_id, app } = await user();
    const passwords = service.app.get(UserPasswordsService, { strict: false });
    // The same password again: its Argon2 hash is computed once, not in each turn.
    const options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };
    const hash = await hashArgon2(password, options);
    const statuses: number[] = [];
    let failures = 0;
    for (let turn = 0; turn < turns; turn++) {
      statuses.push(...(await guess(name, app, 1)));
      await passwords.setPassword(systemActor, user_id, hash, { event: 'password.reset' });
      // As if the lock had ended. After the hundredth failure, it does not end.
      await endLock(user_id);
      const [counter] = await service.rows<{ failures: number }>(
        'select failures from login_attempts where account = $1',
        [`codes:${user_id}`],
      );
      expect(counter?.failures).toBeGreaterThanOrEqual(failures);
      failures = counter?.failures ?? 0;
    }
    expect(failures).toBe(codesMax);
    expect(statuses).toEqual([...Array<number>(codesMax).fill(401), ...Array<number>(turns - codesMax).fill(429)]);
    expect(await failed(user_id)).toBe(codesMax);
    await service.app.get(LoginAttemptsService, { strict: false }).clearCodes([user_id]);
    expect((await step({ challenge: await firstStep(post, name, away), code: app.code() })).status).toBe(200);
  });

  it('does not clear the counter of passwords with a password alone (M8)', async () => {
    const { name, user_id, app } = await user();
    const wrong = () => post('/auth/login', { body: { login: name, password: `${password}!` }, ip: away });
    const { body } = await step({ challenge: await firstStep(post, name, away), code: app.code() }, '192.0.2.78');
    for (let failures = 0; failures < 4; failures++) expect((await wrong()).status).toBe(401);
    await firstStep(post, name, away);
    const change = { current_password: password, new_password: password };
    expect((await service.post('/auth/password', { token: body.access_token, body: change, ip: away })).status).toBe(
      400,
    );
    const count = `select failures from login_attempts where account = $1 and address = ''`;
    expect(await service.rows(count, [user_id])).toEqual([{ failures: 4 }]);
    expect((await wrong()).status).toBe(401);
    expect((await wrong()).status).toBe(429);
  });
});
