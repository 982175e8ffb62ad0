import { Client } from 'pg';
import { LoginAttemptsService } from '../../../src/credentials/login-attempts.service';
import { password, TestService } from '../../support/service';
import { until } from '../../support/until';

jest.setTimeout(120_000);

const wrong = `${password}!`;

describe('logins and faults of the service', () => {
  let service: TestService;
  let attempts: LoginAttemptsService;
  let url: string;
  const clients: Client[] = [];
  beforeAll(async () => {
    service = await TestService.start();
    ({ url } = await service.listen());
    attempts = service.app.get(LoginAttemptsService, { strict: false });
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.end())));
  afterAll(() => service.close());

  // Over a socket: the service ends simulated requests that take longer than 10 seconds.
  const send = (path: string, body: object, token = ''): Promise<{ status: number }> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) },
    });
  const attempt = (login: string, secret = password) => send('/auth/login', { login, password: secret });
  const counter = async (user_id: string) =>
    (await service.rows('select failures, locked_until, pending from login_attempts where account = $1', [user_id]))[0];
  /** Runs a statement in a transaction that stays open, until the client ends. */
  async function hold(statement: string): Promise<Client> {
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    clients.push(client);
    await client.connect();
    await client.query(`begin; ${statement}`);
    return client;
  }
  const waiting = async (table: string) =>
    (
      await service.sql.query(
        `
          select 1
          from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ilike $1`,
        [`%${table}%`],
      )
    ).rows.length;
  const open = async (user_id: string) => {
    const begun = await attempts.begin({ account: user_id, user_id, address: '' });
    if (begun === null) throw new Error('no place is free');
    return begun;
  };
  /** Ages the open attempts beyond their lease. */
  const age = (user_id: string) =>
    service.rows(
      `
        update login_attempts
        set pending = (select jsonb_object_agg(key, value::float8 - 16) from jsonb_each_text(pending))
        where account = $1 and pending <> '{}'`,
      [user_id],
    );

  it('counts no right password while the database can neither complete nor close the attempt (L23)', async () => {
    const { name, user_id } = await service.createUser();
    const user = await hold(`select 1 from users where user_id = '${user_id}' for update`);
    const logins = Array.from({ length: 4 }, () => attempt(name));
    // The logins are counted and verified, and wait for the lock of the user.
    await until(async () => (await waiting('from users')) === 4);
    const counters = await hold('lock table login_attempts in access exclusive mode');
    expect((await Promise.all(logins)).map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    await Promise.all([user, counters].map((client) => client.query('rollback')));
    await until(async () => JSON.stringify((await counter(user_id))?.['pending']) === '{}');
    await age(user_id);
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null });
    expect((await attempt(name)).status).toBe(200);
  });

  it('removes the failures and the lock of attempts that are closed after their lease (L23)', async () => {
    const { user_id } = await service.createUser();
    const late = [];
    for (let round = 0; round < 5; round++) late.push(await open(user_id));
    await age(user_id);
    await expect(open(user_id)).rejects.toMatchObject({ code: 'auth.too_many_attempts' });
    expect(await counter(user_id)).toMatchObject({ failures: 5 });
    for (const each of late) await attempts.release(each);
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null, pending: {} });
    await attempts.release(await open(user_id));
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null, pending: {} });
  });

  it('removes the permanent lock of a late attempt, and keeps the lock of earlier failures (L23)', async () => {
    const { user_id } = await service.createUser();
    const late = await open(user_id);
    await service.rows('update login_attempts set failures = 99 where account = $1', [user_id]);
    await age(user_id);
    await expect(open(user_id)).rejects.toMatchObject({ code: 'auth.too_many_attempts' });
    await attempts.release(late);
    const [row] = await service.rows<{ failures: number; minutes: number }>(
      `select failures, extract(epoch from locked_until - now())::float8 / 60 as minutes
      from login_attempts where account = $1`,
      [user_id],
    );
    expect(row?.failures).toBe(99);
    expect(row?.minutes).toBeGreaterThan(0);
    expect(row?.minutes).toBeLessThan(61);
  });

  it('counts every wrong password, even if the database fails after the verification (L18, L23)', async () => {
    const { name, user_id } = await service.createUser();
    const user = await hold(`select 1 from users where user_id = '${user_id}' for update`);
    const answers = await Promise.all(Array.from({ length: 4 }, () => attempt(name, wrong)));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    await user.query('rollback');
    await age(user_id);
    expect((await attempt(name, wrong)).status).toBe(401);
    expect((await attempt(name)).status).toBe(429);
  });

  it('counts no password of a logged-in user that the service could not verify (L17, L23)', async () => {
    const login = await service.loginAs();
    const pass = await hold('lock table credentials in access exclusive mode');
    const requests = [
      ['/auth/reauthenticate', { password }],
      ['/auth/password', { current_password: password, new_password: 'a quite different phrase' }],
      ['/auth/email', { current_password: password, email: 'new@example.com' }],
    ] as const;
    const answers = await Promise.all(requests.map(([path, body]) => send(path, body, login.token)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    await pass.query('rollback');
    expect(await counter(login.user_id)).toMatchObject({ failures: 0, pending: {} });
  });

  it('rejects locked logins without reading a user, for existing and missing users alike (L22)', async () => {
    const { name, user_id } = await service.createUser();
    for (const login of [name, 'no-such-user'])
      for (let failures = 0; failures < 5; failures++) await attempt(login, wrong);
    for (const table of ['credentials', 'user_logins', 'user_seen', 'second_factors'])
      await hold(`lock table ${table} in access exclusive mode`);
    for (const login of [name, 'no-such-user']) expect([login, (await attempt(login)).status]).toEqual([login, 429]);
    expect(await counter(user_id)).toMatchObject({ failures: 5 });
  });
});
