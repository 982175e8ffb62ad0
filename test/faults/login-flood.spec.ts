import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { Client } from 'pg';
import { Cluster } from '../support/cluster';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(120_000);

const crowd = 100;
/** Number of logins that may run at the same time. */
const places = 65;

describe('a flood of logins', () => {
  let cluster: Cluster;
  let service: ServiceProcess;
  let token: string;

  beforeAll(async () => {
    cluster = await Cluster.create();
    service = await cluster.start();
    token = await cluster.login(service);
  });
  afterAll(() => cluster.close());

  const login = (body: object): Promise<TestAnswer> => service.send('POST', '/auth/login', { body });

  /** Runs `meanwhile` while admitted attempts wait for a lock and no attempt can begin. */
  async function whileHeld(work: () => Promise<void>): Promise<void> {
    const holder = new Client({ connectionString: cluster.databaseUrl });
    await holder.connect();
    await holder.query('begin; lock table login_attempts in share row exclusive mode');
    await work().finally(() => holder.end());
  }

  it('rejects the surplus without a statement, keeps the connections, and still checks tokens (L13, F20)', async () => {
    const before = await counters();
    // A known token needs no database query: the connections are occupied, too.
    const check = async () => (await service.send('POST', '/auth/check-token', { body: { token } })).status;
    await check();
    let flood: Promise<TestAnswer>[] = [];
    const answered: TestAnswer[] = [];
    await whileHeld(async () => {
      flood = Array.from({ length: crowd }, (_, index) =>
        login({ login: `unknown-${index}`, password: 'a wrong password' }),
      );
      for (const one of flood) void one.then((answer) => answered.push(answer));
      await service.until(() => answered.length === crowd - places);
      expect(new Set(answered.map(({ body }) => body.code as string))).toEqual(new Set(['service.overloaded']));
      for (const { headers } of answered)
        expect(headers).toMatchObject({ 'retry-after': '2', connection: 'keep-alive' });
      for (let time = 0; time < 20; time++) expect(await check()).toBe(200);
      // Rejected by validation: this is not a login attempt.
      expect((await login({})).body).toMatchObject({ status: 503, code: 'service.overloaded' });
    });
    await Promise.all(flood);
    expect(answered.filter(({ status }) => status === 401)).toHaveLength(places);
    expect((await counters()) - before).toBe(places);
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

  const counters = async (): Promise<number> => {
    const [row] = await cluster.rows<{ n: number }>('select count(*)::integer as n from login_attempts');
    return row?.n ?? 0;
  };
});

/** Field 19 of proc_pid_stat(5); the name before it may have spaces. */
function niceOf(stat: string): number {
  return Number(readFileSync(stat, 'utf8').split(') ')[1]?.split(' ')[16]);
}
