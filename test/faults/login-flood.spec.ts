import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { Cluster } from '../support/cluster';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(120_000);

const crowd = 300;

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

  it('L13 F20 login flood starves all: the surplus is turned away without a statement, on a connection that stays, and tokens are checked all the while', async () => {
    const before = await counters();
    const flood = Array.from({ length: crowd }, (_, index) => login({ login: `nobody-${index}`, password: 'a wrong password' }));
    const checks: number[] = [];
    const answers = Promise.all(flood);
    let isOver = false;
    void answers.finally(() => (isOver = true));
    while (!isOver) checks.push((await service.send('POST', '/auth/check-token', { body: { token } })).status);
    const away = (await answers).filter(({ status }) => status === 503);
    const evaluated = (await answers).filter(({ status }) => status === 401);
    expect(evaluated.length + away.length).toBe(crowd);
    expect(away.length).toBeGreaterThan(crowd / 2);
    for (const { headers, body } of away) {
      expect(body).toMatchObject({ code: 'service.overloaded' });
      expect(headers).toMatchObject({ 'retry-after': '2', connection: 'keep-alive' });
    }
    expect((await counters()) - before).toBe(evaluated.length);
    expect(new Set(checks)).toEqual(new Set([200]));
    expect(await login({ login: 'nobody-0', password: 'a wrong password' })).toMatchObject({ status: 401 });
  });

  it('L13 while there is no room, a login is turned away before it is looked at, and each one is no error of the log', async () => {
    const flood = Array.from({ length: crowd }, (_, index) => login({ login: `somebody-${index}`, password: 'a wrong password' }));
    let [seen, answer] = [0, await login({})];
    for (; answer.status === 400 && seen < crowd; seen++) answer = await login({});
    expect(answer.body).toMatchObject({ status: 503, code: 'service.overloaded' });
    await Promise.all(flood);
    expect((await login({})).status).toBe(400);
    expect(service.output).not.toMatch(/AppError|"level":50/);
  });

  it('F20 hash CPU: the threads that hash go after the one that answers', () => {
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
