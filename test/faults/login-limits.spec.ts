import { until } from '../support/until';
import { Cluster } from '../support/cluster';
import { adminEmail, password, type TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(180_000);

describe('many passwords at once over two instances', () => {
  let cluster: Cluster;
  let instances: [ServiceProcess, ServiceProcess];
  let token: string;
  let count = 0;

  beforeAll(async () => {
    cluster = await Cluster.create();
    const first = await cluster.start();
    instances = [first, await cluster.start()];
    token = await cluster.login(first);
  });
  afterAll(() => cluster.close());

  const createUser = async (): Promise<{ user_id: string; name: string; email: string }> => {
    const name = `burst-${++count}`;
    const fields = { user_type: 'carrier', carrier_id: 'c1', password, must_change_password: false };
    const answer = await instances[0].send('POST', '/user/create', {
      token,
      body: { name, email: `${name}@example.com`, ...fields },
    });
    expect(answer.status).toBe(201);
    return answer.body;
  };

  const logins = (times: number, body: (index: number) => { login: string; password: string }): Promise<TestAnswer[]> =>
    Promise.all(
      Array.from({ length: times }, (_, index) =>
        instances[(index % 2) as 0 | 1].send('POST', '/auth/login', { body: body(index) }),
      ),
    );

  const eventsOf = (user_id: string) =>
    cluster.rows<{ event_type: string; n: number }>(
      `
        select event_type, count(*)::integer as n
        from events
        where target_id = $1 and event_type like 'login.%'
        group by 1
        order by 1`,
      [user_id],
    );

  it('verifies five of 200 wrong passwords, by name and by address, on either instance (L7)', async () => {
    for (let round = 0; round < 5; round++) {
      const { user_id, name, email } = await createUser();
      const answers = await logins(200, (index) => ({
        login: index % 3 === 0 ? email : name,
        password: `${password}${index}`,
      }));
      expect(await eventsOf(user_id)).toEqual([
        { event_type: 'login.failed', n: 5 },
        { event_type: 'login.locked', n: 1 },
      ]);
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
      for (const { status } of answers) expect([401, 429, 503]).toContain(status);
    }
  });

  it('verifies at most ten wrong passwords when a right one is among them (L7)', async () => {
    const { user_id, name } = await createUser();
    await logins(200, (index) => ({ login: name, password: index === 100 ? password : `${password}${index}` }));
    const [failed] = await eventsOf(user_id);
    expect(failed?.n).toBeLessThanOrEqual(10);
  });

  /** Logs in, and retries when a busy machine rejects the login. */
  const logIn = async (instance: ServiceProcess, login: string): Promise<TestAnswer> => {
    const answer = await instance.send('POST', '/auth/login', { body: { login, password } });
    return answer.status === 503 ? logIn(instance, login) : answer;
  };

  it.each([
    ['two instances', 2],
    ['one instance', 1],
  ])('logs a user in 100 times at %s at once, into separate sessions and without a lockout (S23)', async (_, n) => {
    const { user_id, name, email } = await createUser();
    const comers = Array.from({ length: 100 }, (_none, index) =>
      logIn(instances[(index % n) as 0 | 1], index % 3 === 0 ? email : name),
    );
    const answers = await Promise.all(comers);
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(100).fill(200));
    expect(new Set(answers.map(({ body }) => body.session_id)).size).toBe(100);
    expect(await eventsOf(user_id)).toEqual([{ event_type: 'login.succeeded', n: 100 }]);
    const counters = await cluster.rows(
      `select failures, pending, locked_until from login_attempts where account = $1`,
      [user_id],
    );
    for (const counter of counters) expect(counter).toEqual({ failures: 0, pending: {}, locked_until: null });
  });

  it('counts the attempts of a killed instance as failures (L7)', async () => {
    const { user_id, name } = await createUser();
    const doomed = await cluster.start();
    const attempts = Array.from({ length: 50 }, () =>
      doomed.send('POST', '/auth/login', { body: { login: name, password: `${password}!` } }).catch(() => null),
    );
    const pending = () =>
      cluster
        .rows(`select 1 from login_attempts where account = $1 and pending <> '{}'`, [user_id])
        .then((rows) => rows.length > 0);
    await until(pending);
    await doomed.kill();
    await Promise.all(attempts);
    await cluster.rows(
      `
        update login_attempts
        set pending = (
          select coalesce(jsonb_object_agg(key, value::float8 - 15), '{}')
          from jsonb_each_text(pending)
        )
        where account = $1`,
      [user_id],
    );
    const answers = await logins(20, () => ({ login: name, password: `${password}!` }));
    const evaluated = answers.filter(({ status }) => status === 401).length;
    const [row] = await cluster.rows<{ failures: number }>(`select failures from login_attempts where account = $1`, [
      user_id,
    ]);
    expect(row?.failures).toBe(5);
    expect(evaluated).toBeLessThan(5);
    expect((await instances[0].send('POST', '/auth/login', { body: { login: adminEmail, password } })).status).toBe(
      200,
    );
  });
});
