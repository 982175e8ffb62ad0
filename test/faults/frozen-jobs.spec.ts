import { Cluster } from '../support/cluster';
import { Mailbox } from '../support/mailbox';
import type { ServiceProcess } from '../support/service-process';
import { until } from '../support/until';

describe('jobs whose connections freeze', () => {
  let cluster: Cluster;
  let mailbox: Mailbox;
  let instance: ServiceProcess;
  beforeAll(async () => {
    cluster = await Cluster.create();
    mailbox = new Mailbox();
    await mailbox.start();
    instance = await cluster.start({ SMTP_URL: mailbox.url });
  });
  afterAll(async () => {
    await cluster.close();
    await mailbox.stop();
  });

  const backends = async () => {
    const rows = await cluster.rows<{ pid: number }>(`
      select pid
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity jobs' and state = 'idle'`);
    return rows.map(({ pid }) => pid);
  };

  it('sends mail within 60 s over new connections (F41)', async () => {
    const token = await cluster.login(instance);
    await until(async () => (await backends()).length > 0);
    const frozen = await backends();
    try {
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
      const email = 'frozen@example.com';
      const body = { user_type: 'carrier', carrier_id: 'c1', name: 'frozen', email };
      expect((await instance.send('POST', '/user/create', { token, body })).status).toBe(201);
      await mailbox.take(email, /./, 60_000);
      expect((await backends()).some((pid) => !frozen.includes(pid))).toBe(true);
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    }
  });

  it('reports jobs that wait for more than a minute in the readiness, which stays 200 (F41)', async () => {
    const ready = () => instance.send('GET', '/health/ready');
    expect((await ready()).body).not.toHaveProperty('overdue_jobs');
    // No worker takes a job of an unknown name.
    await cluster.rows(`
      select graphile_worker.add_job('unknown', run_at := now() - ago)
      from unnest(array[interval '0', interval '2 minutes', interval '1 hour']) ago`);
    await until(async () => (await ready()).body.overdue_jobs !== undefined);
    expect(await ready()).toMatchObject({ status: 200, body: { status: 'ok', overdue_jobs: 2 } });
  });

  it('names the purpose of each connection', async () => {
    const purposes = ['jobs', 'lease', 'notifications', 'requests'].map((purpose) => `carrier-identity ${purpose}`);
    await until(async () => {
      await instance.ready();
      const rows = await cluster.rows<{ name: string }>(`
        select distinct application_name as name
        from pg_stat_activity
        where datname = current_database() and application_name <> 'tests' and backend_type = 'client backend'
        order by 1`);
      expect(purposes).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
      return rows.length === purposes.length;
    });
  });
});
