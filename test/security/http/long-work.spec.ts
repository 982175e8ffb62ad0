import type { PoolClient } from 'pg';
import { Admission } from '../../../src/access/admission';
import { createKey } from '../../support/keys';
import { chunk, RawConnection, requestHead } from '../../support/raw-connection';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

/** Long work that reads a separate table, so that a test can make it wait. */
const path = '/stats/overview';
const table = 'login_counts';

/** Requests that were sent at once, and the responses so far. */
interface Sent {
  answers: TestAnswer[];
  all: Promise<TestAnswer[]>;
}

describe('long work', () => {
  let service: TestService;
  let port: number;
  let lock: PoolClient;
  beforeAll(async () => {
    service = await TestService.start({ DATABASE_POOL_MAX: '10' });
    ({ port } = await service.listen());
    await service.get(path, service.admin);
    lock = await service.sql.connect();
  });
  afterAll(async () => {
    lock.release();
    await service.close();
  });
  beforeEach(() => lock.query(`begin; lock table ${table} in access exclusive mode`));
  afterEach(() => lock.query('rollback'));

  const send = (count: number, token: string, url = path): Sent => {
    const answers: TestAnswer[] = [];
    const requests = Array.from({ length: count }, async () => {
      const answer = await service.get(url, { token });
      answers.push(answer);
      return answer;
    });
    return { answers, all: Promise.all(requests) };
  };
  const administrator = (carrier_id: string): Promise<TestLogin> =>
    service.loginAs({ carrier_id, roles: ['carrier_administrator'] });
  const waiting = (): number => service.app.get(Admission).waiting;
  /** Number of statements that wait for the test. */
  const blocked = async (name = table): Promise<number> => {
    const { rows } = await service.sql.query<{ count: number }>(
      `select count(*)::int as count from pg_locks
       where relation = $1::regclass and mode = 'AccessShareLock' and not granted`,
      [name],
    );
    return rows[0]?.count ?? 0;
  };

  it('leaves connections for logins, tokens, single users and the lists of other tenants (D30)', async () => {
    const attacker = await administrator('north');
    const { name, user_id } = await service.createUser({ carrier_id: 'south', roles: ['carrier_administrator'] });
    const attack = send(60, attacker.token);
    await until(async () => (await blocked()) > 0);
    const login = await service.post('/auth/login', { body: { login: name, password } });
    const { refresh_token } = login.body;
    const refresh = await service.post('/auth/check-token', { body: { refresh_token } });
    const token: string = refresh.body.access_token;
    const answers = [
      login,
      refresh,
      await service.post('/auth/check-token', { body: { token } }),
      await service.get(`/user/${user_id}`, { token }),
      await service.patch(`/user/${user_id}`, { token, body: { locale: 'fr' } }),
      await service.get('/user/list?q=user', { token }),
      await service.get('/health/ready'),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await lock.query('rollback');
    expect((await attack.all).some(({ status }) => status === 200)).toBe(true);
  });

  it('rejects the 21st waiting request of an actor, and serves another actor in turn (D30)', async () => {
    const { token } = await administrator('east');
    const other = await administrator('south');
    // Alone, the actor has three places.
    const attack = send(26, token);
    await until(() => attack.answers.length === 3);
    for (const { status, headers, body } of attack.answers) {
      expect([status, body.code, headers['retry-after']]).toEqual([429, 'request.rate_limited', '5']);
      expect(headers).toMatchObject({
        'ratelimit-policy': '"long-work";q=2;qu="concurrent-requests"',
        ratelimit: '"long-work";r=0;t=5',
      });
    }
    const listed = send(3, other.token);
    await until(async () => (await blocked()) === 5);
    await lock.query('rollback');
    expect((await listed.all).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await attack.all).filter(({ status }) => status === 200)).toHaveLength(23);
  });

  it('shares three quarters among the users of a carrier, and among a user and their keys (D30)', async () => {
    const { token } = await administrator('west');
    const colleague = await administrator('west');
    const system = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key } = await createKey(service, ['user:read'], {}, system);
    const carrier = [send(4, token), send(4, colleague.token)];
    await until(async () => waiting() === 5 && (await blocked()) === 3);
    // A user and their key could have two places each. Two are left.
    const others = [send(4, system.token), send(4, key)];
    await until(async () => waiting() === 11 && (await blocked()) === 5);
    await lock.query('rollback');
    const answers = await Promise.all([...carrier, ...others].map(({ all }) => all));
    expect(answers.flat().map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    await lock.query(`begin; lock table ${table} in access exclusive mode`);
    const fresh = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const own = [send(4, fresh.token), send(4, (await createKey(service, ['user:read'], {}, fresh)).key)];
    await until(async () => waiting() === 5 && (await blocked()) === 3);
    await lock.query('rollback');
    await Promise.all(own.map(({ all }) => all));
  });

  it('removes a waiting request whose client disconnects (D30)', async () => {
    const { token } = await administrator('centre');
    const running = send(3, token);
    await until(async () => (await blocked()) === 3);
    const gone = await RawConnection.open(port);
    await gone.send(requestHead('GET', path, { host: 'localhost', authorization: `Bearer ${token}` }));
    await until(() => waiting() === 1);
    gone.socket.destroy();
    await until(() => waiting() === 0);
    expect(await blocked()).toBe(3);
    await lock.query('rollback');
    await running.all;
  });

  it.each([['dry_run=true'], ['dry_run=false']])(
    'takes a place for each batch of an import with %s, and none while the client sends (D30)',
    async (query) => {
      const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const held = send(3, login.token);
      await until(async () => (await blocked()) === 3);
      const upload = await RawConnection.open(port);
      const headers = { authorization: `Bearer ${login.token}`, 'content-type': 'application/x-ndjson' };
      await upload.send(requestHead('POST', `/user/import?${query}`, { ...headers, 'transfer-encoding': 'chunked' }));
      // One row more than a batch.
      const rows = Array.from({ length: 1_001 }, (_, index) => {
        const name = `import${index}-${login.name}`;
        return JSON.stringify({ user_type: 'carrier', carrier_id: 'coast', name, email: `${name}@example.com` });
      });
      await upload.send(chunk(rows.map((row) => `${row}\n`).join('')));
      await until(() => waiting() === 1);
      await lock.query('rollback');
      await held.all;
      await until(() => waiting() === 0);
      const lists = send(4, login.token, '/user/list');
      expect((await lists.all).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(upload.answers).toBe(0);
      await upload.send(chunk(''));
      await until(() => upload.answers === 1);
      expect(upload.status).toBe(200);
      upload.socket.destroy();
    },
  );
});
