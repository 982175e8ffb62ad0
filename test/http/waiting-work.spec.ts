import type { PoolClient } from 'pg';
import { createKey } from '../support/data/keys';
import { parseScrape, valuesOf } from '../support/metrics';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

const METRICS_TOKEN = 'metrics-token-0123456789-abcdefghij';
/** Long work that reads a separate table, so that a test can make it wait. */
const path = '/stats/overview';
const table = 'login_counts';

/** Requests that were sent at once, and the responses so far. */
interface Sent {
  answers: TestAnswer[];
  all: Promise<TestAnswer[]>;
}

/**
 * Requests wait for locks that `holder` holds. With 10 connections, long work has five places, of
 * which an actor has three while it is alone, and two otherwise. Changes of single users have four,
 * of which a carrier has three.
 */
let service: TestService;
let holder: PoolClient;
beforeAll(async () => {
  service = await TestService.start({ DATABASE_POOL_MAX: '10', METRICS_TOKEN });
  await service.get(path, service.admin);
  holder = await service.sql.connect();
});
afterAll(async () => {
  holder.release();
  await service.close();
});
beforeEach(() => holder.query('begin'));
afterEach(() => holder.query('rollback'));

const administrator = (carrier_id: string) => service.loginAs({ carrier_id, roles: ['carrier_administrator'] });
/** Returns the number of requests that wait for a place. */
const waiting = async (kind: 'long work' | 'single writes'): Promise<number> => {
  const { text } = await service.get('/metrics', { token: METRICS_TOKEN });
  const values = Object.entries(valuesOf(parseScrape(text), 'carrier_identity_database_pool_waiting'));
  return values.find(([labels]) => labels.includes(kind))?.[1] ?? 0;
};
/** Returns the number of statements that wait for a lock. */
const blocked = async (): Promise<number> => {
  const { rows } = await service.sql.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
};
const send = (count: number, request: () => Promise<TestAnswer>): Sent => {
  const answers: TestAnswer[] = [];
  const requests = Array.from({ length: count }, async () => {
    const answer = await request();
    answers.push(answer);
    return answer;
  });
  return { answers, all: Promise.all(requests) };
};
const statuses = (answers: TestAnswer[]) => new Set(answers.map(({ status }) => status));

describe('long work', () => {
  const lockTable = () => holder.query(`lock table ${table} in access exclusive mode`);
  beforeEach(lockTable);
  const overviews = (count: number, token: string) => send(count, () => service.get(path, { token }));

  it('leaves connections for logins, tokens, single users and the lists of other tenants (D30)', async () => {
    const attacker = await administrator('north');
    const { name, user_id } = await service.createUser({ carrier_id: 'south', roles: ['carrier_administrator'] });
    const attack = overviews(60, attacker.token);
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
    await holder.query('rollback');
    expect((await attack.all).some(({ status }) => status === 200)).toBe(true);
  });

  it('rejects the 21st waiting request of an actor, and serves another actor in turn (D30)', async () => {
    const { token } = await administrator('east');
    const other = await administrator('south');
    const attack = overviews(26, token);
    await until(() => attack.answers.length === 3);
    for (const { status, headers, body } of attack.answers) {
      expect([status, body.code, headers['retry-after']]).toEqual([429, 'request.rate_limited', '5']);
      expect(headers).toMatchObject({
        'ratelimit-policy': '"long-work";q=2;qu="concurrent-requests"',
        ratelimit: '"long-work";r=0;t=5',
      });
    }
    const listed = overviews(3, other.token);
    await until(async () => (await blocked()) === 5);
    await holder.query('rollback');
    expect(statuses(await listed.all)).toEqual(new Set([200]));
    expect((await attack.all).filter(({ status }) => status === 200)).toHaveLength(23);
  });

  it('limits the users of a carrier, or a user and their keys, to three quarters of its places (D30)', async () => {
    const system = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key } = await createKey(service, ['user:read'], {}, system);
    const [one, two] = [await administrator('west'), await administrator('west')];
    for (const tokens of [
      [one.token, two.token],
      [system.token, key],
    ]) {
      const sent = tokens.map((token) => overviews(4, token));
      await until(async () => (await waiting('long work')) === 5 && (await blocked()) === 3);
      await holder.query('rollback');
      for (const { all } of sent) expect(statuses(await all)).toEqual(new Set([200]));
      await holder.query('begin');
      await lockTable();
    }
  });

  it('removes a waiting request whose client disconnects (D30)', async () => {
    const { token } = await administrator('centre');
    const running = overviews(3, token);
    await until(async () => (await blocked()) === 3);
    const gone = await RawConnection.open(service.port);
    await gone.send(requestHead('GET', path, { authorization: `Bearer ${token}` }));
    await until(async () => (await waiting('long work')) === 1);
    gone.socket.destroy();
    await until(async () => (await waiting('long work')) === 0);
    expect(await blocked()).toBe(3);
    await holder.query('rollback');
    await running.all;
  });

  it.each(['dry_run=true', 'dry_run=false'])(
    'takes a place for each batch of an import with %s, and none while the client sends (D30)',
    async (query) => {
      const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      const held = overviews(3, login.token);
      await until(async () => (await blocked()) === 3);
      const upload = await RawConnection.open(service.port);
      const headers = { authorization: `Bearer ${login.token}`, 'content-type': 'application/x-ndjson' };
      await upload.send(requestHead('POST', `/user/import?${query}`, { ...headers, 'transfer-encoding': 'chunked' }));
      // One row more than a batch.
      const rows = Array.from({ length: 1_001 }, (_, index) => {
        const name = `import${index}-${login.name}`;
        return JSON.stringify({ user_type: 'carrier', carrier_id: 'coast', name, email: `${name}@example.com` });
      });
      await upload.send(chunk(rows.map((row) => `${row}\n`).join('')));
      await until(async () => (await waiting('long work')) === 1);
      await holder.query('rollback');
      await held.all;
      await until(async () => (await waiting('long work')) === 0);
      const lists = send(4, () => service.get('/user/list', login));
      expect(statuses(await lists.all)).toEqual(new Set([200]));
      expect(upload.answers).toBe(0);
      await upload.send(chunk(''));
      await until(() => upload.answers === 1);
      expect(upload.status).toBe(200);
      upload.socket.destroy();
    },
  );
});

describe('changes of single users', () => {
  let manager: TestLogin;
  let other: TestLogin & { name: string };
  beforeAll(async () => {
    manager = await administrator('harbour');
    other = await administrator('south');
  });
  const lockUsers = () => holder.query(`select 1 from users where carrier_id = 'harbour' for update`);
  const user = () => service.createUser({ carrier_id: 'harbour' });
  const create = (name: string, email: string) =>
    service.post('/user/create', {
      ...manager,
      body: { user_type: 'carrier', carrier_id: 'harbour', name, email: `${email}@example.com` },
    });

  /** Sends a request of the carrier. Each request has a different number. */
  type Request = (index: number) => Promise<TestAnswer>;
  const changeOf = (user_id: string) => service.patch(`/user/${user_id}`, { ...manager, body: { locale: 'fr' } });
  const kinds: Record<string, () => Promise<Request>> = {
    'changes of users': async () => {
      const { user_id } = await user();
      await lockUsers();
      return () => changeOf(user_id);
    },
    'new users with a name that an import creates': async () => {
      await holder.query(
        `insert into users (user_id, user_type, carrier_id, name, email, status)
         values (gen_random_uuid(), 'carrier', 'harbour', 'imported', 'imported@example.com', 'invited')`,
      );
      return (index) => create('imported', `imported${index}`);
    },
    'conflicts whose counter an import holds': async () => {
      const { name } = await service.createUser({ carrier_id: 'south' });
      const [before] = await service.rows<{ keys: Buffer[] }>('select array_agg(key) as keys from rate_limits');
      await create(name, 'conflict');
      await holder.query('select 1 from rate_limits where key <> all($1) for update', [before?.keys ?? []]);
      return (index) => create(name, `conflict${index}`);
    },
    'a new password, and changes': async () => {
      const { user_id } = await user();
      const { token } = await service.loginAs({ carrier_id: 'harbour' });
      await lockUsers();
      const body = { current_password: password, new_password: 'nine lanterns sing quietly' };
      return async (index) => {
        if (index === 0) return service.post('/auth/password', { token, body });
        // Hashing the password takes longer than the other requests may wait for their locks.
        await until(async () => (await blocked()) > 0);
        return changeOf(user_id);
      };
    },
    'cancels of an operation': async () => {
      const [row] = await service.rows<{ operation_id: string }>(
        `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
         values (gen_random_uuid(), 'change', 'user:update', 'running', 'user', $1, '{}')
         returning operation_id`,
        [manager.user_id],
      );
      await holder.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [row?.operation_id]);
      return () => service.post(`/user/operation/${row?.operation_id}/cancel`, manager);
    },
  };

  it.each(Object.entries(kinds))(
    'leave connections for others while those of one carrier wait: %s (D30)',
    async (_kind, prepare) => {
      const request = await prepare();
      const sent = Promise.all(Array.from({ length: 6 }, (_, index) => request(index)));
      await until(async () => (await blocked()) === 3);
      const login = await service.post('/auth/login', { body: { login: other.name, password } });
      const answers = [
        login,
        await service.get('/health/ready'),
        await service.patch(`/user/${other.user_id}`, { ...other, body: { locale: 'de' } }),
        await service.post('/auth/check-token', { body: { token: login.body.access_token } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      await until(async () => (await waiting('single writes')) === 3);
      expect(await blocked()).toBe(3);
      await holder.query('rollback');
      expect((await sent).filter(({ status }) => status === 429 || status >= 500)).toEqual([]);
    },
  );

  it('count a conflict although other changes of the actor fill the queue (B25)', async () => {
    const { name } = await service.createUser({ carrier_id: 'south' });
    const [probed, changed] = [await user(), await user()];
    const [prober, first, second] = [
      await administrator('harbour'),
      await administrator('harbour'),
      await administrator('harbour'),
    ];
    await service.rows('delete from rate_limits');
    await holder.query('select 1 from users where user_id = $1 for update', [changed.user_id]);
    await holder.query('savepoint probe');
    await holder.query('select 1 from users where user_id = $1 for update', [probed.user_id]);
    const change = ({ token }: TestLogin) =>
      service.patch(`/user/${changed.user_id}`, { token, body: { locale: 'it' } });
    const probe = service.patch(`/user/${probed.user_id}`, { ...prober, body: { name } });
    await until(async () => (await blocked()) === 1);
    const works = [change(first), change(second)];
    await until(async () => (await blocked()) === 3);
    // The first administrator is the next to get the place of the probe, so the queue stays full.
    works.push(change(first));
    await until(async () => (await waiting('single writes')) === 1);
    works.push(...Array.from({ length: 100 }, () => change(prober)));
    await until(async () => (await waiting('single writes')) === 101);
    expect((await change(prober)).body.code).toBe('request.rate_limited');
    await holder.query('rollback to savepoint probe');
    // Two changes wait for a third one: the probe has ended, and counts its conflict.
    await until(async () => {
      const { rows } = await service.sql.query(`select 1 from pg_locks where locktype = 'tuple' and not granted`);
      return rows.length === 2 && (await waiting('single writes')) === 101;
    });
    await holder.query('rollback');
    expect((await probe).body.code).toBe('user.name_taken');
    await Promise.all(works);
    const [counted] = await service.rows<{ hits: number }>('select max(hits)::int as hits from rate_limits');
    expect(counted?.hits).toBeGreaterThan(0);
  });
});
