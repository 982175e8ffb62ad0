import { Cluster } from '../support/cluster';
import { Authenticator, firstStep } from '../support/second-factors';
import { password, type TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(300_000);

/** Requests that are under way at once, so that the test does not run out of ports. */
const atOnce = 1_000;

describe('the service with second factors on two instances', () => {
  let cluster: Cluster;
  let instances: [ServiceProcess, ServiceProcess];
  let token: string;
  let count = 0;

  beforeAll(async () => {
    cluster = await Cluster.create();
    // The lockout outlasts the test.
    const lockout = { LOCKOUT_FIRST_SECONDS: '3600' };
    const first = await cluster.start(lockout);
    instances = [first, await cluster.start(lockout)];
    token = await cluster.login(first);
  });
  afterAll(() => cluster.close());

  const rows = (text: string, values: unknown[]) => cluster.rows(text, values);
  const post = (url: string, request: { body: object }) => instances[0].send('POST', url, request);

  async function user() {
    const name = `guessed-${++count}`;
    const fields = { user_type: 'carrier', carrier_id: 'c1', password, must_change_password: false };
    const { body } = await instances[0].send('POST', '/user/create', {
      token,
      body: { name, email: `${name}@example.com`, ...fields },
    });
    const user_id = body.user_id as string;
    return { name, user_id, app: await Authenticator.enrol(rows, user_id) };
  }

  it('evaluates five of 10,000 wrong codes, on either instance and with five challenges (M3)', async () => {
    const { name, user_id, app } = await user();
    const challenges: string[] = [];
    while (challenges.length < 5) challenges.push(await firstStep(post, name));
    const body = (index: number) => ({ challenge: challenges[index % 5], code: app.wrongCode() });
    const statuses: number[] = [];
    while (statuses.length < 10_000) {
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, index) =>
          (instances[index % 2] as ServiceProcess).send('POST', '/auth/second-factor', { body: body(index) }),
        ),
      );
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => ![401, 429, 503].includes(status))).toEqual([]);
    const failed = `select 1 from events where event_type = 'login.second_factor_failed' and target_id = $1`;
    expect(await cluster.rows(failed, [user_id])).toHaveLength(5);
    const counter = 'select failures from login_attempts where account = $1';
    expect(await cluster.rows(counter, [`codes:${user_id}`])).toEqual([{ failures: 5 }]);
  });

  it('accepts a code and a challenge on one instance only (M1)', async () => {
    const { name, app } = await user();
    const challenge = await firstStep(post, name);
    const code = app.code();
    const answers: TestAnswer[] = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (instances[index % 2] as ServiceProcess).send('POST', '/auth/second-factor', { body: { challenge, code } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
  });

  it('uses a renewed auth_time from the next request on, at both instances (S24)', async () => {
    const { name, app } = await user();
    const { body } = await post('/auth/second-factor', {
      body: { challenge: await firstStep(post, name), code: app.code() },
    });
    const login = { token: body.access_token as string };
    const times = () =>
      Promise.all(
        instances.map(async (instance) => {
          const checked = await instance.send('POST', '/auth/check-token', { body: login });
          return checked.body.session.auth_time as string;
        }),
      );
    const before = await times();
    expect(new Set(before).size).toBe(1);
    expect(
      (await instances[0].send('POST', '/auth/reauthenticate', { ...login, body: { code: app.code(1) } })).status,
    ).toBe(200);
    const [here] = await times();
    expect(Date.parse(here ?? '')).toBeGreaterThan(Date.parse(before[0] ?? ''));
    let there = before[1];
    for (let attempt = 0; attempt < 100 && there !== here; attempt++) there = (await times())[1];
    expect(there).toBe(here);
  });
});
