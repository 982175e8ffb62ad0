import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { changesOf } from '../support/data/events';
import { mailedResetToken } from '../support/data/links';
import { inTransaction, lockWaits } from '../support/locks';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { decode } from '../support/logins/tokens';

const ip = '198.51.100.7';
const away = '198.51.100.8';
const home = '192.0.2.77';

describe('a login with a second factor', () => {
  let service: TestService;
  /** a second instance, with a low limit of logins per address */
  let other: ServiceProcess;
  beforeAll(async () => {
    // The lockout outlasts the test.
    service = await TestService.start({ SESSIONS_PER_USER_MAX: '1', LOCKOUT_FIRST_SECONDS: '3600' });
    other = await ServiceProcess.beside(service, {
      LOCKOUT_FIRST_SECONDS: '3600',
      LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '2',
    });
  });
  afterAll(async () => {
    await other.stop();
    await service.close();
  });

  const step = (body: object, at?: string): Promise<TestAnswer> =>
    service.post('/auth/second-factor', { body, ...(at === undefined ? {} : { ip: at }) });
  const codes = (answers: TestAnswer[]) => answers.map(({ status, body }) => (status === 200 ? 200 : body.code));
  const failed = async (user_id: string) => (await changesOf(service, 'login.second_factor_failed', user_id)).length;
  async function user() {
    const { name, user_id, email } = await service.createUser();
    return { name, user_id, email, app: await Authenticator.enrol(service, user_id) };
  }

  describe('in its first step', () => {
    /** Everything that a login changes. */
    const stateOf = async (user_id: string) => {
      const of = (table: string) => service.rows(`select * from ${table} where user_id = $1`, [user_id]);
      const counters = await service.rows('select * from login_attempts where account like $1', [`%${user_id}`]);
      const [users, credentials, logins] = [await of('users'), await of('credentials'), await of('user_logins')];
      return { users, credentials, logins, seen: await of('user_seen'), sessions: await of('sessions'), counters };
    };

    it('has no effect except a challenge and its event, and leaves all others to the second step (M12)', async () => {
      // A user with a session, 3 failures, an old hash of a weak initial password, and a factor.
      const { name, user_id } = await service.createUser();
      await service.login(name);
      const enter = (secret: string) => service.post('/auth/login', { body: { login: name, password: secret }, ip });
      for (let failures = 0; failures < 3; failures++) await enter(`${password}!`);
      await service.rows(
        `update credentials set password_hash = $2, policy_checked = false, expires_at = now() + interval '1 day'
         where user_id = $1`,
        [user_id, await hashBcrypt('rosebud', { cost: 4 })],
      );
      const app = await Authenticator.enrol(service, user_id);
      const before = await stateOf(user_id);
      expect(before.counters).toContainEqual(expect.objectContaining({ address: '', failures: 3 }));
      const first = await enter('rosebud');
      expect(first.body).toMatchObject({ code: 'auth.second_factor_required', expires_in: 300, factors: ['totp'] });
      expect(first.body.challenge).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(await stateOf(user_id)).toEqual(before);
      const { challenge } = first.body;
      const answer = await service.post('/auth/second-factor', { body: { challenge, code: app.code() }, ip });
      expect([answer.status, answer.body.user.must_change_password]).toEqual([200, true]);
      const after = await stateOf(user_id);
      const password_hash = expect.stringMatching(/^\$argon2id/);
      expect(after.credentials).toMatchObject([{ policy_checked: true, expires_at: null, password_hash }]);
      expect(after.logins).not.toEqual(before.logins);
      const own = { session_id: answer.body.session_id, ended_at: null, amr: ['pwd', 'otp', 'mfa'] };
      for (const session of [own, { ended_reason: 'replaced' }])
        expect(after.sessions).toContainEqual(expect.objectContaining(session));
      for (const counter of [
        { account: user_id, address: '', failures: 0 },
        { account: user_id, address: ip, known_until: expect.any(Date) },
      ])
        expect(after.counters).toContainEqual(expect.objectContaining(counter));
      expect(await changesOf(service, 'login.challenged', user_id)).toHaveLength(1);
    });

    it('stores only the hash of a challenge, and keeps five challenges of a user (M3)', async () => {
      const { name, user_id, app } = await user();
      const challenges: string[] = [];
      for (let index = 0; index < 7; index++) challenges.push(await firstStep(service, name));
      const stored = await service.rows('select * from login_challenges where user_id = $1 and expires_at > now()', [
        user_id,
      ]);
      expect(stored).toHaveLength(5);
      for (const challenge of challenges) expect(JSON.stringify(stored)).not.toContain(challenge);
      for (const [index, challenge] of challenges.entries()) {
        const { body } = await service.post('/auth/second-factor', { body: { challenge, recovery_code: 'wrong' } });
        expect([index, body.code]).toEqual([
          index,
          index < 2 ? 'auth.challenge_invalid' : 'auth.invalid_second_factor',
        ]);
      }
      const challenge = challenges.at(-1);
      expect((await service.post('/auth/second-factor', { body: { challenge, code: app.code() } })).status).toBe(200);
    });

    it('keeps the challenge of a known address while a stranger with the password requests others (L11)', async () => {
      const { name, app } = await user();
      const complete = (challenge: string, at: string) =>
        service.post('/auth/second-factor', { body: { challenge, code: app.code() }, ip: at });
      expect((await complete(await firstStep(service, name, home), home)).status).toBe(200);
      await app.passTime();
      const challenge = await firstStep(service, name, home);
      const strange: string[] = [];
      for (let index = 0; index < 6; index++) strange.push(await firstStep(service, name, away));
      // The stranger still has at most five.
      expect((await complete(strange[0] ?? '', away)).body.code).toBe('auth.challenge_invalid');
      expect((await complete(challenge, home)).status).toBe(200);
    });

    it('asks for the factor that was enrolled while the password was verified (M9)', async () => {
      const { name, user_id } = await service.createUser();
      const answer = await inTransaction(service, async (other) => {
        await other.query('select 1 from users where user_id = $1 for no key update', [user_id]);
        const login = service.post('/auth/login', { body: { login: name, password } });
        await lockWaits(service);
        await Authenticator.enrol({ rows: async (text, values) => (await other.query(text, values)).rows }, user_id);
        await other.query('commit');
        return login;
      });
      expect(answer.body.code).toBe('auth.second_factor_required');
      expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
    });

    it('rejects the session that an instance without second factors would open (M1)', async () => {
      const { user_id } = await service.createUser();
      const open = () =>
        service.rows(
          `insert into sessions
             (session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, expires_at,
              absolute_expires_at)
           select uuid_v7(), user_id, user_type, carrier_id, '', now(), now(), now() from users where user_id = $1`,
          [user_id],
        );
      await open();
      await Authenticator.enrol(service, user_id);
      await expect(open()).rejects.toThrow('the user has a second factor');
    });
  });

  it('logs in exactly once if one code is sent over 30 connections to two instances (M1)', async () => {
    const { name, user_id, app } = await user();
    const challenges: string[] = [];
    while (challenges.length < 5) challenges.push(await firstStep(service, name));
    const code = app.code();
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const instance = index % 2 === 0 ? service : other;
        const body = { challenge: challenges[index % 5], code };
        return (await instance.post('/auth/second-factor', { body, headers: { connection: 'close' } })).status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => ![200, 401, 429].includes(status))).toEqual([]);
    const live = 'select 1 from sessions where user_id = $1 and ended_at is null';
    expect(await service.rows(live, [user_id])).toHaveLength(1);
  });

  it('gives a wrong and a replayed code the same response, and accepts the next code (M1)', async () => {
    const { name, app } = await user();
    const code = app.code();
    expect((await step({ challenge: await firstStep(service, name), code })).status).toBe(200);
    const challenge = await firstStep(service, name);
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
    const used = await firstStep(service, name);
    expect((await step({ challenge: used, code: app.code() })).status).toBe(200);
    expect(codes([await step({ challenge: used, code: app.code(1) })])).toEqual(['auth.challenge_invalid']);
    const recovery_code = await app.recoveryCode();
    const guessed = await firstStep(service, name);
    for (let guesses = 0; guesses < 5; guesses++)
      expect(codes([await step({ challenge: guessed, recovery_code: 'A'.repeat(24) })])).toEqual([
        'auth.invalid_second_factor',
      ]);
    expect(codes([await step({ challenge: guessed, recovery_code })])).toEqual(['auth.challenge_invalid']);
    const expired = await firstStep(service, name);
    await service.rows(`update login_challenges set expires_at = now() where expires_at > now()`);
    expect(codes([await step({ challenge: expired, recovery_code })])).toEqual(['auth.challenge_invalid']);
    expect(codes([await step({ challenge: 'unknown', recovery_code })])).toEqual(['auth.challenge_invalid']);
    const last = await firstStep(service, name);
    expect((await step({ challenge: last, recovery_code })).status).toBe(200);
    expect(codes([await step({ challenge: await firstStep(service, name), recovery_code })])).toEqual([
      'auth.invalid_second_factor',
    ]);
  });

  it('accepts a challenge once if two instances receive different recovery codes at the same time (M1)', async () => {
    const { name, user_id, app } = await user();
    const challenge = await firstStep(service, name);
    const proofs = [await app.recoveryCode(), await app.recoveryCode()];
    const answers = await inTransaction(service, async (client) => {
      await client.query('select 1 from users where user_id = $1 for update', [user_id]);
      const steps = [service, other].map((instance, index) =>
        instance.post('/auth/second-factor', { body: { challenge, recovery_code: proofs[index] } }),
      );
      await lockWaits(service, 2);
      await client.query('commit');
      return Promise.all(steps);
    });
    expect(codes(answers).sort()).toEqual([200, 'auth.challenge_invalid']);
    expect(await service.rows('select 1 from recovery_codes where user_id = $1', [user_id])).toHaveLength(1);
  });

  it.each([
    ['is disabled', `update users set status = 'disabled' where user_id = $1`],
    ['is deleted', `update users set deleted_at = now() where user_id = $1`],
    ['has another password', `update users set password_changed_at = now() where user_id = $1`],
    ['no longer has a factor', `delete from second_factors where user_id = $1`],
    ['may not log in from the address', `update users set allowed_ips = '{203.0.113.0/24}' where user_id = $1`],
  ] as const)(
    'rejects a challenge once the user %s, for good, and names no passkeys for it (M4)',
    async (_, change) => {
      const { name, user_id, app } = await user();
      const challenge = await firstStep(service, name);
      const recovery_code = await app.recoveryCode();
      const options = () => service.post('/auth/second-factor/passkey-options', { body: { challenge } });
      expect((await options()).status).toBe(200);
      await service.rows(change, [user_id]);
      expect(codes([await options()])).toEqual(['auth.challenge_invalid']);
      for (const proof of [{ code: app.code() }, { recovery_code }])
        expect(codes([await step({ challenge, ...proof })])).toEqual(['auth.challenge_invalid']);
      await service.rows(
        `update users set status = 'active', deleted_at = null, allowed_ips = '{}' where user_id = $1`,
        [user_id],
      );
      expect(codes([await step({ challenge, recovery_code })])).toEqual(['auth.challenge_invalid']);
      expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
      expect(await service.rows('select 1 from recovery_codes where user_id = $1', [user_id])).toHaveLength(1);
    },
  );

  it('requires exactly one proof of a known form', async () => {
    const { name, app } = await user();
    const challenge = await firstStep(service, name);
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
    const { body } = await step({ challenge: await firstStep(service, name), code: app.code() });
    const amr = ['pwd', 'otp', 'mfa'];
    const { auth_time, ...claims } = decode(body.access_token);
    expect(claims).toMatchObject({ amr });
    expect(Math.abs(Number(auth_time) - Date.now() / 1_000)).toBeLessThan(30);
    const refreshed = await service.post('/auth/check-token', { body: { refresh_token: body.refresh_token } });
    expect(refreshed.body.session.amr).toEqual(amr);
    expect(decode(refreshed.body.access_token)).toMatchObject({ amr, auth_time });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const asked = { token: body.access_token, headers, body: `token=${body.access_token}` };
    expect((await service.post('/auth/introspect', asked)).body).toMatchObject({ active: true, amr, auth_time });
    const list = async (filter: string) => {
      const url = `/auth/session/list?user_id_in=${user_id},${service.admin.user_id}&${filter}`;
      const { items } = (await service.get(url, service.admin)).body;
      return [...new Set((items as { user_id: string }[]).map((session) => session.user_id))];
    };
    expect([await list('mfa=true'), await list('mfa=false')]).toEqual([[user_id], [service.admin.user_id]]);
  });

  it('does not count towards the login limit of an address in its second step', async () => {
    const at = '192.0.2.200';
    const body = { challenge: 'unknown', recovery_code: 'unknown' };
    for (let index = 0; index < 5; index++)
      expect((await other.post('/auth/second-factor', { body, ip: at })).status).toBe(401);
    const login = { body: { login: 'unknown', password }, ip: at };
    const statuses: number[] = [];
    while (statuses.length < 3) statuses.push((await other.post('/auth/login', login)).status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  describe('with wrong codes', () => {
    /** Enters wrong codes, each with a new challenge, and returns the statuses. */
    const guess = async (login: string, app: Authenticator, times: number, at = away): Promise<number[]> => {
      const statuses: number[] = [];
      while (statuses.length < times) {
        const challenge = await firstStep(service, login, at);
        statuses.push((await step({ challenge, code: app.wrongCode() }, at)).status);
      }
      return statuses;
    };
    const endLock = (user_id: string) =>
      service.rows(
        `
          update login_attempts
          set locked_until = now()
          where account = $1 and locked_until > now() and locked_until < now() + interval '2 hours'`,
        [`codes:${user_id}`],
      );

    it('evaluates five of 24 codes over 6 challenges, factors and a session (M3)', async () => {
      const { name, user_id, app } = await user();
      const second = await Authenticator.enrol(service, user_id);
      const login = await step({ challenge: await firstStep(service, name, away), code: app.code() }, away);
      const challenges: string[] = [];
      const answers: TestAnswer[] = [];
      for (let index = 0; index < 24; index++) {
        if (index % 4 === 0) challenges.push(await firstStep(service, name, away));
        const code = [app, second][index % 2]?.wrongCode();
        answers.push(
          index % 3 === 2
            ? await service.post('/auth/reauthenticate', { token: login.body.access_token, body: { code }, ip: away })
            : await step({ challenge: challenges.at(-1), code }, away),
        );
      }
      expect(answers.map(({ status }) => status)).toEqual([
        ...Array<number>(5).fill(401),
        ...Array<number>(19).fill(429),
      ]);
      expect(answers.at(-1)?.body).toMatchObject({ code: 'auth.too_many_attempts' });
      expect(Number(answers.at(-1)?.headers['retry-after'])).toBeLessThanOrEqual(3_600);
      expect(await failed(user_id)).toBe(5);
      // The right code is locked out as well. A recovery code is not, and unlocks the codes.
      const challenge = challenges.at(-1);
      expect((await step({ challenge, code: app.code(1) }, away)).status).toBe(429);
      expect((await step({ challenge, recovery_code: await app.recoveryCode() }, away)).status).toBe(200);
      expect((await step({ challenge: await firstStep(service, name, away), code: app.code(1) }, away)).status).toBe(
        200,
      );
    });

    it('keeps the known addresses of the user apart, so that a stranger cannot lock out codes (M3)', async () => {
      const { name, user_id, app } = await user();
      expect((await step({ challenge: await firstStep(service, name, home), code: app.code() }, home)).status).toBe(
        200,
      );
      expect(await guess(name, app, 6)).toEqual([401, 401, 401, 401, 401, 429]);
      await app.passTime();
      expect((await step({ challenge: await firstStep(service, name, home), code: app.code() }, home)).status).toBe(
        200,
      );
      // The login at home does not give the stranger more guesses.
      expect(await guess(name, app, 1)).toEqual([429]);
      expect(await failed(user_id)).toBe(5);
    });

    it('does not clear the counter of passwords with a password alone (M8)', async () => {
      const { name, user_id, app } = await user();
      const wrong = () => service.post('/auth/login', { body: { login: name, password: `${password}!` }, ip: away });
      const { body } = await step({ challenge: await firstStep(service, name, away), code: app.code() }, '192.0.2.78');
      for (let failures = 0; failures < 4; failures++) expect((await wrong()).status).toBe(401);
      await firstStep(service, name, away);
      const change = { current_password: password, new_password: password };
      expect((await service.post('/auth/password', { token: body.access_token, body: change, ip: away })).status).toBe(
        400,
      );
      const count = `select failures from login_attempts where account = $1 and address = ''`;
      expect(await service.rows(count, [user_id])).toEqual([{ failures: 4 }]);
      expect((await wrong()).status).toBe(401);
      expect((await wrong()).status).toBe(429);
    });

    it('keeps counting up to 100 wrong codes, and keeps the factor, after mailed resets (M2, M8, R25)', async () => {
      const { name, user_id, email, app } = await user();
      let secret = password;
      const afterLogin = async (code: string) => {
        const { body } = await service.post('/auth/login', { body: { login: name, password: secret }, ip: away });
        return (await step({ challenge: body.challenge, code }, away)).status;
      };
      const statuses = [await afterLogin(app.wrongCode())];
      await service.rows('update login_attempts set failures = 97 where account = $1', [`codes:${user_id}`]);
      for (let turn = 0; turn < 4; turn++) {
        const token = await mailedResetToken(service, email);
        secret = `phrase ${turn} of the owner`;
        expect((await service.post(`/auth/reset/${token}`, { body: { password: secret } })).status).toBe(204);
        // As if the lock had ended. After the hundredth failure, it does not end.
        await endLock(user_id);
        statuses.push(await afterLogin(app.wrongCode()));
      }
      expect(statuses).toEqual([401, 401, 401, 401, 429]);
      expect(await afterLogin(app.code(1))).toBe(429);
      expect(await failed(user_id)).toBe(4);
      expect(await service.rows('select kind from second_factors where user_id = $1', [user_id])).toHaveLength(1);
    });
  });

  it('evaluates five of 60 wrong codes with five challenges on two instances (M3)', async () => {
    const { name, user_id, app } = await user();
    const challenges: string[] = [];
    while (challenges.length < 5) challenges.push(await firstStep(service, name));
    const code = app.wrongCode();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? service : other).post('/auth/second-factor', {
          body: { challenge: challenges[index % 5], code },
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => ![401, 429, 503].includes(status))).toEqual([]);
    expect(await failed(user_id)).toBe(5);
    const counter = 'select failures from login_attempts where account = $1';
    expect(await service.rows(counter, [`codes:${user_id}`])).toEqual([{ failures: 5 }]);
  });
});
