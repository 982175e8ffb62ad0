import { Client, escapeIdentifier } from 'pg';
import { Cluster } from '../support/cluster';
import type { ServiceProcess } from '../support/service-process';
import { TransactionPooler } from '../support/transaction-pooler';

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
