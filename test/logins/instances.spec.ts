import { setTimeout as delay } from 'node:timers/promises';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';

/** Rounds per change; each round makes the change at a different moment of the logins. */
const rounds = 3;
const racers = 5;
const email = 'racer@example.com';

/**
 * Changes that deny the login, each with the change that allows it again. A path that ends with `/`
 * or `=` is followed by the id.
 */
const changes: Record<string, [Request, Request?]> = {
  disabled: [
    ['PATCH', '/user/', { status: 'disabled' }],
    ['PATCH', '/user/', { status: 'active' }],
  ],
  'disabled in bulk': [
    ['PATCH', '/user/all?user_id=', { status: 'disabled' }],
    ['PATCH', '/user/', { status: 'active' }],
  ],
  deleted: [
    ['DELETE', '/user/'],
    ['POST', '/user/restore/'],
  ],
  'kept to other addresses': [
    ['PATCH', '/user/', { allowed_ips: ['198.51.100.0/24'] }],
    ['PATCH', '/user/', { allowed_ips: [] }],
  ],
};
type Request = [method: string, path: string, body?: object];

describe('logins over two instances during changes of their user', () => {
  const max = 2;
  let service: TestService;
  let instances: [ServiceProcess, ServiceProcess];
  let token: string;
  let user_id: string;
  const opened: string[] = [];

  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: String(max), ACCESS_TOKEN_TTL_SECONDS: '3600' });
    instances = [service, await ServiceProcess.beside(service, { SESSIONS_PER_USER_MAX: String(max) })];
    ({ token } = service.admin);
    ({ user_id } = await service.createUser({ name: 'racer', email }));
  });
  afterAll(async () => {
    await instances[1].stop();
    await service.close();
  });

  const at = (index: number): ServiceProcess => instances[index % 2 === 0 ? 0 : 1];
  const live = () =>
    service.rows<{ session_id: string }>('select session_id from sessions where user_id = $1 and ended_at is null', [
      user_id,
    ]);
  const login = async (index: number, secret = password): Promise<TestAnswer> => {
    const answer = await at(index).send('POST', '/auth/login', {
      body: { login: index % 3 === 0 ? email.toUpperCase() : 'racer', password: secret },
    });
    if (answer.status === 200) opened.push(answer.body.session_id as string);
    return answer;
  };
  const send = (index: number, [method, path, body]: Request): Promise<TestAnswer> => {
    const target = path === '/user/restore/' ? `/user/${user_id}/restore` : path + user_id;
    return at(index).send(method, target, body === undefined ? { token } : { token, body });
  };

  /** Starts logins on both instances and makes one change while they run. */
  async function race(round: number, change: () => Promise<TestAnswer>): Promise<TestAnswer[]> {
    for (const { status } of await Promise.all([login(0), login(1)])) expect(status).toBe(200);
    const logins = Array.from({ length: racers }, (_, index) => login(index));
    await delay(round * 12);
    const changed = await change();
    expect(changed.status).toBeLessThan(300);
    return Promise.all(logins);
  }

  /** Checks that each attempt has ended, and clears the counters for the next round. */
  async function settle(): Promise<void> {
    expect(await service.rows(`select * from login_attempts where pending <> '{}'`)).toEqual([]);
    await service.rows('delete from login_attempts');
  }

  it.each(Object.entries(changes))(
    'leaves no session to a user who is %s (S13, CVE-2026-1609)',
    async (_, [out, back]) => {
      for (let round = 0; round < rounds; round++) {
        const answers = await race(round, () => send(round, out));
        expect(answers.filter(({ status }) => ![200, 401, 403, 429].includes(status))).toEqual([]);
        expect(await live()).toEqual([]);
        await settle();
        expect((await send(round + 1, back as Request)).status).toBeLessThan(300);
      }
    },
  );

  it('leaves no session of the old password, except the one that changed the password (S13)', async () => {
    let secret = password;
    let changed = 0;
    for (let round = 0; round < rounds; round++) {
      const next = `${password} ${round}`;
      const { status, body } = await login(round, secret);
      expect(status).toBe(200);
      const change = { current_password: secret, new_password: next };
      const asked = at(round).send('POST', '/auth/password', { token: body.access_token as string, body: change });
      await delay(round * 10 + 20);
      const logins = Array.from({ length: 2 }, (_, index) => login(index, secret));
      const answer = await asked;
      await Promise.all(logins);
      if (answer.status < 300) {
        expect((await live()).filter(({ session_id }) => session_id !== body.session_id)).toEqual([]);
        secret = next;
        changed++;
      }
      // The session of the change itself may have exceeded the limit.
      else expect(answer.status).toBe(401);
      await settle();
    }
    expect(changed).toBeGreaterThan(0);
  });

  it('never exceeds the session limit during revocations, and records each start and end once (S13)', async () => {
    const { user_id: busy } = await service.createUser({ name: 'busy' });
    for (let round = 0; round < rounds; round++) {
      const logins = Array.from({ length: racers }, async (_, index) => {
        const { status, body } = await at(index).send('POST', '/auth/login', { body: { login: 'busy', password } });
        expect(status).toBe(200);
        opened.push(body.session_id as string);
        if (index === 0)
          await at(1).send('POST', '/auth/logout', { body: { refresh_token: body.refresh_token as string } });
        if (index === 1)
          await at(0).send('POST', '/auth/check-token', { body: { refresh_token: body.refresh_token as string } });
      });
      await delay(round * 12);
      const revoked = [at(0), at(1)].map((instance) =>
        instance.send('DELETE', `/auth/session/all?user_id=${busy}`, { token }),
      );
      const changed = at(round).send('PATCH', `/user/${busy}`, { token, body: { first_name: `Busy ${round}` } });
      await Promise.all([...logins, ...revoked, changed]);
      const left = await service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [busy]);
      expect(left.length).toBeLessThanOrEqual(max);
      await settle();
    }
  });

  it('records one start and one end for each session, and has responded with each', async () => {
    const sessions = await service.rows<{ session_id: string }>(
      `select session_id from sessions join users using (user_id) where name in ('racer', 'busy')`,
    );
    expect(sessions.map(({ session_id }) => session_id).sort()).toEqual([...opened].sort());
    const wrong = await service.rows(`
      select session_id, ended_at, ended_reason, begun, ends
      from (
        select
          sessions.*,
          (
            select count(*)::integer
            from events
            where event_type = 'login.succeeded' and events.session_id = sessions.session_id
          ) as begun,
          (
            select count(*)::integer
            from events
            where event_type = 'session.ended' and target_id = sessions.session_id
          ) as ends
        from sessions
      ) counted
      where begun <> 1 or ends <> (ended_at is not null)::integer`);
    expect(wrong).toEqual([]);
    expect(sessions.length).toBeGreaterThan(rounds * racers);
    for (const { output } of instances) expect(output).not.toMatch(/"level":"(error|fatal)"/);
  });
});
