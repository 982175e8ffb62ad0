import { Client, escapeIdentifier } from 'pg';
import { Cluster } from '../support/cluster';
import { PgBouncer, pgbouncer } from '../support/pgbouncer';
import type { ServiceProcess } from '../support/service-process';

// eslint-disable-next-line house/skipped-tests -- no npm package contains PgBouncer; CI installs it
const withPgBouncer = pgbouncer === undefined ? describe.skip : describe;

withPgBouncer('the service behind PgBouncer in transaction mode', () => {
  let cluster: Cluster;
  let bouncer: PgBouncer;
  beforeAll(async () => {
    cluster = await Cluster.create();
    // A timeout of the operator that is shorter than that of the service stays.
    const { username, pathname } = new URL(cluster.databaseUrl);
    const [role, database] = [escapeIdentifier(username), escapeIdentifier(pathname.slice(1))];
    await cluster.rows(`alter role ${role} in database ${database} set statement_timeout = '2s'`);
    bouncer = await PgBouncer.start(cluster.databaseUrl);
  });
  afterAll(async () => {
    await bouncer.stop();
    await cluster.close();
  });

  async function refusalOf(env: Record<string, string>): Promise<string> {
    const instance = cluster.spawn({ DATABASE_URL: bouncer.url, LOG_LEVEL: 'silent', ...env });
    expect([await instance.exit, instance.stdout]).toEqual([1, '']);
    return instance.stderr;
  }

  it('refuses to start with DATABASE_URL alone, names the missing variable and holds no lock (F28)', async () => {
    const reason = /^DATABASE_URL leads to a connection pooler such as PgBouncer\. .+ Set DATABASE_DIRECT_URL .+\n$/;
    const withOptions = { DATABASE_URL: `${bouncer.url}?options=-c%20jit=off` };
    for (const refusal of await Promise.all([refusalOf({}), refusalOf(withOptions)])) expect(refusal).toMatch(reason);
    const locks = `select from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
    expect(await cluster.rows(locks)).toEqual([]);
  });

  it('rejects a DATABASE_DIRECT_URL of a pooler or of no server (F28)', async () => {
    const [pooled, unreachable] = await Promise.all([
      refusalOf({ DATABASE_DIRECT_URL: `${bouncer.url}?application_name=direct` }),
      refusalOf({ DATABASE_DIRECT_URL: 'postgres://nobody:hidden@127.0.0.1:1/x' }),
    ]);
    expect(pooled).toMatch(/^DATABASE_DIRECT_URL leads to a connection pooler such as PgBouncer\. .+\n$/);
    expect(unreachable).toMatch(/^The database of DATABASE_DIRECT_URL cannot be used: connect ECONNREFUSED [^h]+\n$/);
  });

  describe('with DATABASE_DIRECT_URL', () => {
    let instance: ServiceProcess;
    let token: string;
    beforeAll(async () => {
      instance = await cluster.start({ DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: cluster.databaseUrl });
      token = await cluster.login(instance);
    });

    it('logs in, checks tokens, lists users and changes many', async () => {
      const create = (name: string) =>
        instance.send('POST', '/user/create', {
          token,
          body: { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` },
        });
      for (const name of ['ada', 'grace']) expect((await create(name)).status).toBe(201);
      expect((await instance.send('POST', '/auth/check-token', { body: { token } })).status).toBe(200);
      const list = await instance.send('GET', '/user/list?carrier_id=c1&order_by=name&order_dir=asc', { token });
      expect(list.body.items.map(({ name }: { name: string }) => name)).toEqual(['ada', 'grace']);
      const change = (query: string) =>
        instance.send('PATCH', `/user/all?carrier_id=c1&${query}`, { token, body: { attributes: { tier: 'gold' } } });
      const preview = await change('dry_run=true');
      const done = await change(`confirm_token=${preview.body.confirm_token}`);
      expect([done.status, done.body.changed]).toEqual([200, 2]);
    });

    it('responds with 503 when a statement exceeds the timeout of the role', async () => {
      const [user] = await cluster.rows<{ user_id: string }>(`select user_id from users where name = 'ada'`);
      const holder = new Client({ connectionString: cluster.databaseUrl });
      await holder.connect();
      await holder.query(`begin; update users set locale = 'en' where name = 'ada'`);
      const began = performance.now();
      const answer = await instance.send('PATCH', `/user/${user?.user_id}`, { token, body: { locale: 'de' } });
      expect([answer.status, answer.body.code]).toEqual([503, 'service.database_unavailable']);
      expect(performance.now() - began).toBeGreaterThan(1_900);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      await holder.end();
    });

    it('warns about the timeouts that the role lacks, with the SQL that sets them', async () => {
      const warned = /"msg":"requests through the pooler of DATABASE_URL have no timeouts\. Run once: (.+?)"/;
      const statements = warned.exec(instance.stdout.replaceAll('\\"', "'"))?.[1] ?? '';
      expect(statements).not.toContain('statement_timeout');
      expect(statements).toMatch(/lock_timeout = '5000ms'; .+ idle_in_transaction_session_timeout = '30000ms';$/);
    });
  });
});
