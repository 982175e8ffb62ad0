import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { systemActor } from '../../src/access/actor';
import { newId } from '../../src/platform/random';
import type { ImportRowsService } from '../../src/users/transfer/import-rows.service';
import { changesOf } from '../support/data/events';
import { hashCost, heldHashes, METRICS_TOKEN, whileHashes } from '../support/process/hash-counts';
import { importCsv } from '../support/data/imports';
import { mailedResetToken } from '../support/data/links';
import { inTransaction } from '../support/locks';
import { adminEmail, password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

const crowd = 100;
/** Number of logins that may run at the same time. */
const places = 65;

describe('many passwords at once', () => {
  let service: TestService;
  let instances: [ServiceProcess, ServiceProcess];
  let token: string;

  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN, ACCESS_TOKEN_TTL_SECONDS: '3600', ...heldHashes });
    instances = [service, await ServiceProcess.beside(service)];
    ({ token } = service.admin);
  });
  afterAll(async () => {
    await instances[1].stop();
    await service.close();
  });

  const login = (body: object): Promise<TestAnswer> => service.send('POST', '/auth/login', { body });

  const counters = () => service.rows('select 1 from login_attempts').then((rows) => rows.length);

  it('rejects the surplus without a statement, keeps the connections, and still checks tokens (L13, F20)', async () => {
    const before = await counters();
    // A known token needs no database query: the connections are occupied, too.
    const check = async () => (await service.send('POST', '/auth/check-token', { body: { token } })).status;
    await check();
    let flood: Promise<TestAnswer>[] = [];
    const answered: TestAnswer[] = [];
    await inTransaction(service, async (other) => {
      // Admitted attempts wait, and no attempt can begin.
      await other.query('lock table login_attempts in share row exclusive mode');
      flood = Array.from({ length: crowd }, (_, index) =>
        login({ login: `unknown-${index}`, password: 'a wrong password' }),
      );
      for (const one of flood) void one.then((answer) => answered.push(answer));
      await service.until(() => answered.length >= crowd - places);
      expect(new Set(answered.map(({ body }) => body.code as string))).toEqual(new Set(['service.overloaded']));
      for (const { headers } of answered)
        expect(headers).toMatchObject({ 'retry-after': '2', connection: 'keep-alive' });
      for (let time = 0; time < 20; time++) expect(await check()).toBe(200);
      // Rejected by validation: this is not a login attempt.
      expect((await login({})).body).toMatchObject({ status: 503, code: 'service.overloaded' });
    });
    await Promise.all(flood);
    // On a slow machine, some of the admitted attempts wait in vain for the lock or for their hash.
    const statuses = answered.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 503]));
    const evaluated = statuses.filter((status) => status === 401).length;
    const counted = (await counters()) - before;
    expect([evaluated <= counted, counted <= places]).toEqual([true, true]);
    expect((await login({})).status).toBe(400);
    expect((await login({ login: 'unknown-0', password: 'a wrong password' })).status).toBe(401);
    // A rejected login is no error of the service.
    expect(service.output).not.toMatch(/AppError|"level":"error"/);
  });

  it('runs hashing threads at a lower priority than the thread that responds (F20)', () => {
    const tasks = `/proc/${service.pid}/task`;
    const isLinux = existsSync(tasks);
    const niceness = isLinux ? readdirSync(tasks).map((thread) => niceOf(`${tasks}/${thread}/stat`)) : [];
    const own = getPriority(service.pid);
    expect(niceness.filter((nice) => nice === own + 5)).toHaveLength(isLinux ? 4 : 0);
    expect(isLinux ? niceOf(`${tasks}/${service.pid}/stat`) : own).toBe(own);
  });

  const logins = (times: number, body: (index: number) => { login: string; password: string }): Promise<TestAnswer[]> =>
    Promise.all(
      Array.from({ length: times }, (_, index) =>
        instances[(index % 2) as 0 | 1].send('POST', '/auth/login', { body: body(index) }),
      ),
    );

  /** Returns the numbers of failed, locked and successful logins in the audit log. */
  const eventsOf = async (user_id: string) => {
    const types = ['login.failed', 'login.locked', 'login.succeeded'];
    return Promise.all(types.map(async (type) => (await changesOf(service, type, user_id)).length));
  };

  it('verifies five of 60 wrong passwords, by name and by address, on either instance (L7)', async () => {
    const { user_id, name, email } = await service.createUser();
    const answers = await logins(60, (index) => ({
      login: index % 3 === 0 ? email : name,
      password: `${password}${index}`,
    }));
    expect(await eventsOf(user_id)).toEqual([5, 1, 0]);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    for (const { status } of answers) expect([401, 429, 503]).toContain(status);
  });

  it('verifies at most ten wrong passwords when a right one is among them (L7)', async () => {
    const { user_id, name } = await service.createUser();
    await logins(60, (index) => ({ login: name, password: index === 30 ? password : `${password}${index}` }));
    const [failed] = await eventsOf(user_id);
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThanOrEqual(10);
  });

  /** Logs in, and retries when a busy machine rejects the login. */
  const logIn = async (instance: ServiceProcess, login: string): Promise<TestAnswer> => {
    const answer = await instance.send('POST', '/auth/login', { body: { login, password } });
    return answer.status === 503 ? logIn(instance, login) : answer;
  };

  it('logs a user in 30 times at once, into separate sessions and without a lockout (S23)', async () => {
    const { user_id, name, email } = await service.createUser();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => logIn(instances[(index % 2) as 0 | 1], index % 3 === 0 ? email : name)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(30).fill(200));
    expect(new Set(answers.map(({ body }) => body.session_id)).size).toBe(30);
    expect(await eventsOf(user_id)).toEqual([0, 0, 30]);
    const counters = await service.rows(
      `select failures, pending, locked_until from login_attempts where account = $1`,
      [user_id],
    );
    for (const counter of counters) expect(counter).toEqual({ failures: 0, pending: {}, locked_until: null });
  });

  it('counts the open attempts of a killed instance as failures (L7)', async () => {
    const { user_id, name } = await service.createUser();
    const doomed = await ServiceProcess.beside(service);
    const counter = async () =>
      (
        await service.rows<{ failures: number; open: number }>(
          `select failures, (select count(*)::integer from jsonb_object_keys(pending)) as open
           from login_attempts where account = $1`,
          [user_id],
        )
      )[0];
    await inTransaction(service, async (other) => {
      // An attempt begins before its password is read, and ends after it.
      await other.query('lock table credentials in access exclusive mode');
      const body = { login: name, password: `${password}!` };
      const attempts = Array.from({ length: 20 }, () => doomed.post('/auth/login', { body }).catch(() => null));
      await until(async () => (await counter())?.open === 5);
      await doomed.kill();
      await Promise.all(attempts);
    });
    expect(await counter()).toEqual({ failures: 0, open: 5 });
    await service.rows(
      `
        update login_attempts
        set pending = (select jsonb_object_agg(key, value::float8 - 16) from jsonb_each_text(pending))
        where account = $1`,
      [user_id],
    );
    const answers = await Promise.all(instances.map((instance) => logIn(instance, name)));
    expect(answers.map(({ status }) => status)).toEqual([429, 429]);
    expect(await counter()).toEqual({ failures: 5, open: 0 });
    expect((await logIn(service, adminEmail)).status).toBe(200);
  });

  describe('that are new, beside logins', () => {
    /** Maximum number of concurrent new passwords of one actor. */
    const share = 8;
    const attempts = 20;
    let attacker: TestLogin & { name: string; email: string };
    let names: string[];
    beforeAll(async () => {
      attacker = await service.loginAs({ roles: ['carrier_administrator'] });
      names = [];
      while (names.length < 5) names.push((await service.createUser()).name);
    });

    let created = 0;
    const create = (fields: object = {}, by: Pick<TestLogin, 'token'> = attacker): Promise<TestAnswer> => {
      const name = `new-user-${++created}`;
      const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password, ...fields };
      return service.post('/user/create', { token: by.token, body });
    };
    const logInAll = async () => {
      const answers = await Promise.all(names.map((name) => logIn(service, name)));
      expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    };

    /** Sends new passwords while no hash ends. Calls `meanwhile` once the surplus is rejected. */
    async function flood(
      request: (index: number) => Promise<TestAnswer>,
      meanwhile: () => Promise<unknown>,
    ): Promise<TestAnswer[]> {
      let rejected = 0;
      const counted = async (index: number) => {
        const answer = await request(index);
        if (answer.status === 429) rejected++;
        return answer;
      };
      const { answers, others } = await whileHashes(service, 'wait', async () => {
        const sent = Array.from({ length: attempts }, (_, index) => counted(index));
        await service.until(() => rejected === attempts - share);
        return { answers: sent, others: meanwhile() };
      });
      await others;
      return Promise.all(answers);
    }

    it('lets users log in, and hashes no password of users with a taken name or address (L21)', async () => {
      const taken = [{ name: attacker.name.toUpperCase() }, { email: attacker.email.toUpperCase() }];
      const { others } = await hashCost(service, async () => {
        const creates = Array.from({ length: attempts }, (_, index) => create(taken[index % 2]));
        await logInAll();
        const codes = (await Promise.all(creates)).map(({ body }) => body.code as string);
        expect(new Set(codes)).toEqual(new Set(['user.name_taken', 'user.email_taken']));
      });
      expect(others).toBe(0);
    });

    it('lets users log in and another actor create users while one actor creates many (L21)', async () => {
      const colleague = await service.loginAs({ roles: ['carrier_administrator'] });
      const answers = await flood(
        () => create(),
        async () => {
          const [other] = await Promise.all([create({}, colleague), logInAll()]);
          expect(other.status).toBe(201);
        },
      );
      const rejected = answers.filter(({ status }) => status !== 201);
      expect(rejected).toHaveLength(attempts - share);
      for (const { status, body, headers } of rejected) {
        expect([status, body.code]).toEqual([429, 'request.rate_limited']);
        expect(headers).toMatchObject({
          'retry-after': '1',
          'ratelimit-policy': `"new-passwords";q=${share};qu="concurrent-requests"`,
          ratelimit: '"new-passwords";r=0;t=1',
        });
      }
      expect((await create()).status).toBe(201);
    });

    it('lets users log in during many resets by one link (L21)', async () => {
      const token = await mailedResetToken(service, attacker.email);
      const reset = (index: number) =>
        service.post(`/auth/reset/${token}`, { body: { password: `new phrase number ${index}` } });
      const statuses = (await flood(reset, logInAll)).map(({ status }) => status);
      const countOf = (...wanted: number[]) => statuses.filter((status) => wanted.includes(status)).length;
      // The other accepted requests wait for the lock of the user, on a slow machine until a 503.
      expect([countOf(204), countOf(404, 503), countOf(429)]).toEqual([1, share - 1, attempts - share]);
    });

    it('wraps no MD5 of a rejected or conflicting import row, and never stores a bare MD5 (L21)', async () => {
      const md5 = '0123456789abcdef0123456789abcdef';
      const [{ name, email }, header] = [attacker, 'user_type,name,email,carrier_id,password_hash'];
      const rows = [`${name},free1@example.com,c1`, `free-2,${email},c1`, 'free-3,free3@example.com,c 1'];
      const file = [...rows, 'free-4,free4@example.com,c1'].map((row) => `carrier,${row},${md5}`);
      const { others } = await hashCost(service, async () => {
        const { body } = await importCsv(service, [header, ...file].join('\n'), service.admin);
        expect(body).toMatchObject({ changed: 1, skipped_count: 3 });
      });
      expect(others).toBe(1);
      // The name was taken when the hashes were wrapped, and is free when the users are created.
      const free = { user_type: 'carrier', name: 'free-5', email: 'free5@example.com', carrier_id: 'c1' };
      const lines = [{ line: 2, size: 1, values: { ...free, password_hash: md5 } }];
      const options = { on_conflict: 'fail' as const, invite: false };
      const importing = service.inside<ImportRowsService>('ImportRowsService');
      const outcome = await importing.create(systemActor, lines, new Map(), options, newId());
      expect(outcome).toMatchObject({ created: 0, failed: [{ line: 2, errors: [{ code: 'user.name_taken' }] }] });
      expect(await service.rows('select 1 from credentials where password_hash = $1', [md5])).toEqual([]);
    });

    it('are checked by the rules first, then for a taken name, then for a taken address', async () => {
      const { name, email } = attacker;
      expect((await create({ name, email }, service.admin)).body.code).toBe('user.name_taken');
      const weak = await create({ name, email, password: 'short' }, service.admin);
      expect(weak.body.errors).toMatchObject([{ code: 'password.too_short' }]);
    });
  });
});

/** Field 19 of proc_pid_stat(5); the name before it may have spaces. */
function niceOf(stat: string): number {
  return Number(readFileSync(stat, 'utf8').split(') ')[1]?.split(' ')[16]);
}
