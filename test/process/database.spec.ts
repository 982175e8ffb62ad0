import { setTimeout as delay } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import { Cluster } from '../support/process/cluster';
import { Mailbox } from '../support/network/mailbox';
import { adminEmail, password, type TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { TransactionPooler } from '../support/network/transaction-pooler';
import { until } from '../support/until';

const rounds = 4;

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
    const webhookFaults = () => service.output.match(/"webhooks: /g)?.length ?? 0;
    const before = webhookFaults();
    await proxy.cut();
    for (let round = 0; round < 2; round++)
      for (const answer of [...(await all()), await ready()]) expectUnavailable(answer);
    expect(await service.get('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    // Webhooks are polled four times a second.
    await delay(1_500);
    expect(webhookFaults() - before).toBeLessThanOrEqual(3);
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

describe('the service behind a pooler in transaction mode, such as PgBouncer', () => {
  let cluster: Cluster;
  let pooler: TransactionPooler;
  beforeAll(async () => {
    cluster = await Cluster.create();
    // A timeout of the operator that is shorter than that of the service stays.
    const { username, pathname } = new URL(cluster.databaseUrl);
    const [role, database] = [escapeIdentifier(username), escapeIdentifier(pathname.slice(1))];
    await cluster.rows(`alter role ${role} in database ${database} set statement_timeout = '2s'`);
    pooler = await TransactionPooler.start(cluster.databaseUrl);
  });
  afterAll(async () => {
    await pooler.stop();
    await cluster.close();
  });

  it('does not start without a direct URL of the database, names the variable and holds no lock (F28)', async () => {
    const leads = (variable: string) => `${variable} leads to a connection pooler such as PgBouncer\\. .+`;
    const direct = new RegExp(`^${leads('DATABASE_URL')} Set DATABASE_DIRECT_URL .+\n$`);
    const faults: [env: Record<string, string>, RegExp][] = [
      [{}, direct],
      [{ DATABASE_URL: `${pooler.url}?options=-c%20jit=off` }, direct],
      [
        { DATABASE_DIRECT_URL: `${pooler.url}?application_name=direct` },
        new RegExp(`^${leads('DATABASE_DIRECT_URL')}\n$`),
      ],
      [
        { DATABASE_DIRECT_URL: 'postgres://nobody:hidden@127.0.0.1:1/x' },
        /^The database of DATABASE_DIRECT_URL cannot be used: connect ECONNREFUSED [^h]+\n$/,
      ],
    ];
    const refused = faults.map(([env]) => cluster.spawn({ DATABASE_URL: pooler.url, LOG_LEVEL: 'silent', ...env }));
    expect(await Promise.all(refused.map(({ exit }) => exit))).toEqual([1, 1, 1, 1]);
    for (const [index, { stdout, stderr }] of refused.entries())
      expect([stdout, stderr]).toEqual(['', expect.stringMatching(faults[index]![1])]);
    const locks = `
      select from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
    expect(await cluster.rows(locks)).toEqual([]);
  });

  describe('with DATABASE_DIRECT_URL', () => {
    let instance: ServiceProcess;
    let token: string;
    beforeAll(async () => {
      instance = await cluster.start({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: cluster.databaseUrl });
      token = await cluster.login(instance);
    });

    it('logs in, checks tokens, lists users and changes many', async () => {
      for (const name of ['ada', 'grace']) {
        const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
        expect((await instance.post('/user/create', { token, body })).status).toBe(201);
      }
      expect((await instance.post('/auth/check-token', { body: { token } })).status).toBe(200);
      const list = await instance.get('/user/list?carrier_id=c1&order_by=name&order_dir=asc', { token });
      expect(list.body.items.map(({ name }: { name: string }) => name)).toEqual(['ada', 'grace']);
      const change = (query: string) =>
        instance.patch(`/user/all?carrier_id=c1&${query}`, { token, body: { attributes: { tier: 'gold' } } });
      const { confirm_token } = (await change('dry_run=true')).body;
      expect(await change(`confirm_token=${confirm_token}`)).toMatchObject({ status: 200, body: { changed: 2 } });
    });

    it('responds with 503 when PostgreSQL cancels a statement after the timeout of the role', async () => {
      const [user] = await cluster.rows<{ user_id: string }>(`select user_id from users where name = 'ada'`);
      const holder = new Client({ connectionString: cluster.databaseUrl });
      await holder.connect();
      await holder.query(`begin; update users set locale = 'en' where name = 'ada'`);
      const answer = await instance.patch(`/user/${user?.user_id}`, { token, body: { locale: 'de' } });
      expect([answer.status, answer.body.code]).toEqual([503, 'service.database_unavailable']);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      // A statement that the service had only stopped waiting for would still wait for the lock.
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      expect(await cluster.rows(waiting)).toEqual([]);
      await holder.end();
    });

    it('warns about the timeouts that the role lacks, with the SQL that sets them', () => {
      const warned = /"msg":"requests through the pooler of DATABASE_URL have no timeouts\. Run once: (.+?)"/;
      const statements = warned.exec(instance.stdout.replaceAll('\\"', "'"))?.[1] ?? '';
      expect(statements).not.toContain('statement_timeout');
      expect(statements).toMatch(/lock_timeout = '5000ms'; .+ idle_in_transaction_session_timeout = '30000ms';$/);
    });
  });
});
