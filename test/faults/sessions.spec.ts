import { Cluster } from '../support/cluster';
import { adminEmail, password } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

const max = 20;

describe('many logins of one user at once over two instances', () => {
  let cluster: Cluster;
  let instances: ServiceProcess[];
  beforeAll(async () => {
    cluster = await Cluster.create();
    instances = [await cluster.start(), await cluster.start()];
  });
  afterAll(() => cluster.close());

  const live = async () => {
    const [row] = await cluster.rows<{ count: number }>(
      'select count(*)::integer as count from sessions where ended_at is null and expires_at > now()',
    );
    return row?.count ?? NaN;
  };

  it('starts a hundred sessions and never keeps more alive than the limit (S13, S23)', async () => {
    let [most, running] = [0, true];
    const watch = (async () => {
      while (running) most = Math.max(most, await live());
    })();
    const body = { login: adminEmail, password };
    const login = (i: number) => (instances[i % 2] as ServiceProcess).send('POST', '/auth/login', { body });
    const logins: Awaited<ReturnType<typeof login>>[] = [];
    // Twenty at a time: an attempt waits at most 15 s for others on the same account.
    while (logins.length < 100) logins.push(...(await Promise.all(Array.from({ length: 20 }, (_, i) => login(i)))));
    running = false;
    await watch;
    const opened = logins.filter(({ status }) => status === 200);
    expect(logins.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
    const ids = opened.map(({ body }) => body.session_id as string);
    expect(new Set(ids).size).toBe(100);
    expect([most, await live()]).toEqual([max, max]);
    const [ended] = await cluster.rows(
      `
        select count(*)::integer as sessions, count(distinct event_id)::integer as events
        from sessions
        join events on target_id = sessions.session_id
        where ended_reason = 'replaced'
          and event_type = 'session.ended'
          and changes -> 'ended_reason' ->> 'after' = 'replaced'`,
    );
    expect(ended).toEqual({ sessions: 100 - max, events: 100 - max });
    const answers = await Promise.all(
      opened.map(({ body }, i) =>
        (instances[(i + 1) % 2] as ServiceProcess).send('GET', '/user', { token: body.access_token }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(max);
    expect(answers.filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
    const [deadlocks] = await cluster.rows(
      'select deadlocks::integer as count from pg_stat_database where datname = current_database()',
    );
    expect(deadlocks).toEqual({ count: 0 });
  });

  it('waits for refreshes and revocations of all sessions without a deadlock (S23)', async () => {
    const login = (i: number) =>
      (instances[i % 2] as ServiceProcess).send('POST', '/auth/login', { body: { login: adminEmail, password } });
    const first = await login(0);
    const { access_token: token } = first.body;
    let { refresh_token } = (await login(1)).body;
    const refreshes = async () => {
      for (let i = 0; i < 40; i++) {
        const { status, body } = await (instances[i % 2] as ServiceProcess).send('POST', '/auth/check-token', {
          body: { refresh_token },
        });
        expect([200, 401]).toContain(status);
        refresh_token = status === 200 ? body.refresh_token : (await login(i)).body.refresh_token;
      }
    };
    const ends = async () => {
      for (let i = 0; i < 20; i++) {
        const { status } = await (instances[i % 2] as ServiceProcess).send('DELETE', '/auth/session/all?active=true', {
          token,
        });
        expect([200, 401]).toContain(status);
      }
    };
    const logins = async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => login(i)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    };
    await Promise.all([refreshes(), ends(), logins()]);
    expect(await live()).toBeLessThanOrEqual(max);
    const [deadlocks] = await cluster.rows(
      'select deadlocks::integer as count from pg_stat_database where datname = current_database()',
    );
    expect(deadlocks).toEqual({ count: 0 });
  });
});
