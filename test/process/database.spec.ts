import { Cluster } from '../support/cluster';
import { Mailbox } from '../support/mailbox';
import { adminEmail, password, type TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

const rounds = 6;

/** The tests use one service in order, behind a proxy that stands in for the network. */
describe('a service whose database fails', () => {
  let cluster: Cluster;
  let proxy: TcpProxy;
  let mailbox: Mailbox;
  let service: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    proxy = await TcpProxy.start(cluster.databaseUrl);
    mailbox = new Mailbox();
    await mailbox.start();
    service = await start();
    token = await cluster.login(service);
  });
  afterAll(async () => {
    await cluster.close();
    await mailbox.stop();
    await proxy.cut();
  });

  const start = () =>
    cluster.start({
      ...{ DATABASE_URL: proxy.url, DATABASE_POOL_MAX: '8', SMTP_URL: mailbox.url },
      // Repeated logins must not end the session of the other requests.
      SESSIONS_PER_USER_MAX: '1000',
      // One test terminates all connections faster than the lease for commits can be renewed.
      LIVE_LOGIN_LEASE_SECONDS: '60',
    });

  let created = 0;
  const create = () => {
    const name = `made-${++created}`;
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
    return service.post('/user/create', { token, body });
  };
  /** Requests for each use of the database: reads, tokens, passwords, transactions with a job. */
  const requests: (() => Promise<TestAnswer>)[] = [
    () => service.get('/user', { token }),
    () => service.get('/user/list?q=admin', { token }),
    () => service.post('/auth/check-token', { token, body: {} }),
    () => service.post('/auth/login', { body: { login: adminEmail, password } }),
    create,
  ];
  const all = () => Promise.all(requests.map((request) => request()));
  const ready = () => service.get('/health/ready');
  const jobs = () => cluster.rows('select locked_at from graphile_worker.jobs');

  function expectUnavailable({ status, headers, body, text }: TestAnswer): void {
    expect([status, body.code]).toEqual([503, 'service.database_unavailable']);
    expect(headers['content-type']).toContain('application/problem+json');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(text).not.toMatch(/postgres|ECONN|select|terminat/i);
  }

  const expectNoUnexpectedError = ({ output }: ServiceProcess) =>
    expect(output.split('\n').filter((line) => /unhandled|service\.internal_error/.test(line))).toEqual([]);

  /** Restores the database, and checks that the same process recovers, with all its jobs. */
  async function expectRecovery(): Promise<void> {
    await proxy.restore();
    await service.ready();
    const answers = await all();
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 201]);
    await mailbox.take(answers[4]!.body.email);
    await until(async () => (await jobs()).length === 0);
    expectNoUnexpectedError(service);
  }

  it('loses no acknowledged write while connections are terminated, and recovers (F6)', async () => {
    let on = true;
    const answers: TestAnswer[] = [];
    const load = [...requests, ...requests].map(async (request) => {
      while (on) answers.push(await request());
    });
    const terminate = `
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and application_name <> 'tests'`;
    let terminated = 0;
    try {
      for (let round = 0; round < rounds; round++) {
        const before = answers.length;
        terminated += (await cluster.rows(terminate)).length;
        await service.until(() => answers.length > before + 20);
        // A login that is cut off counts as failed after 15 s. Five would lock the account.
        await cluster.rows('delete from login_attempts');
      }
    } finally {
      on = false;
      await Promise.all(load);
    }
    expect(terminated).toBeGreaterThan(rounds);
    const refused = answers.filter(({ status }) => status >= 300);
    expect(refused.length).toBeGreaterThan(0);
    // A login that is cut off keeps its place in the queue for 15 s. Later logins may give up.
    for (const answer of refused)
      if (answer.body.code === 'service.overloaded') expect(answer.status).toBe(503);
      else expectUnavailable(answer);
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.email as string);
    expect(made.length).toBeGreaterThan(0);
    const stored = await cluster.rows('select email from users where email = any($1)', [made]);
    expect(stored).toHaveLength(made.length);
    await expectRecovery();
    for (const email of made) await mailbox.take(email);
  });

  it('responds with 503 while the database is gone, is not ready, and recovers (F4)', async () => {
    await proxy.cut();
    for (let round = 0; round < 2; round++)
      for (const answer of [...(await all()), await ready()]) expectUnavailable(answer);
    expect(await service.get('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    await expectRecovery();
  });

  it('responds with 503 while the database hangs, is not ready, and recovers (F7)', async () => {
    proxy.freeze();
    // More requests than connections.
    const pending = Array.from({ length: 4 }, () => all());
    expect((await service.get('/health/live')).status).toBe(200);
    for (const answer of [...(await Promise.all(pending)).flat(), await ready()]) expectUnavailable(answer);
    await expectRecovery();
  });

  it('sends mail over new connections while those of the jobs hang (F41)', async () => {
    await until(() => proxy.freezeOpen('carrier-identity jobs') > 0);
    const { status, body } = await create();
    expect(status).toBe(201);
    await mailbox.take(body.email, /./, 120_000);
    await expectRecovery();
  });

  it('reports jobs that wait for more than a minute in the readiness, which stays 200 (F41)', async () => {
    await until(async () => (await ready()).body.overdue_jobs === undefined);
    // No worker takes a job of an unknown name.
    await cluster.rows(`
      select graphile_worker.add_job('unknown', run_at := now() - ago)
      from unnest(array[interval '0', interval '2 minutes', interval '1 hour']) ago`);
    await until(async () => (await ready()).body.overdue_jobs !== undefined);
    expect(await ready()).toMatchObject({ status: 200, body: { status: 'ok', overdue_jobs: 2 } });
  });

  it('names the purpose of each connection in application_name', async () => {
    const purposes = ['jobs', 'lease', 'notifications', 'requests'].map((purpose) => `carrier-identity ${purpose}`);
    await until(async () => {
      await ready();
      const rows = await cluster.rows<{ name: string }>(`
        select distinct application_name as name
        from pg_stat_activity
        where datname = current_database() and application_name <> 'tests' and backend_type = 'client backend'`);
      expect(purposes).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
      return rows.length === purposes.length;
    });
  });

  it('stops while the database hangs (F17)', async () => {
    const other = await start();
    proxy.freeze();
    const pending = [other.get('/user', { token }), other.get('/user/list', { token })];
    const answered = Promise.allSettled(pending);
    // No signal kills the service: it stops by its deadline at the latest.
    expect(await other.stop()).not.toBeNull();
    await answered;
    expectNoUnexpectedError(other);
    await proxy.restore();
  });

  it('stops normally while the database is gone (F17)', async () => {
    await service.ready();
    await proxy.cut();
    // On a slow machine, the service stops by its deadline.
    if ((await service.stop()) !== 0) expect(service.output).toContain('exits: it could not stop in time');
    expectNoUnexpectedError(service);
  });
});
