import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { password, TestService } from '../support/service';

jest.setTimeout(60_000);

const max = 2;
const statementsMax = 12;
/** Transaction control, and the polling of the background worker. */
const others = /^(start transaction|commit)|from operations/i;

describe('a login', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: String(max) });
  });
  afterAll(() => service.close());

  /** Logs in, and returns the texts of the statements that the service sent. */
  async function statementsOf(login: string, secret: string, status: number): Promise<string[]> {
    const query = jest.spyOn(PostgresQueryRunner.prototype, 'query');
    try {
      expect((await service.post('/auth/login', { body: { login, password: secret } })).status).toBe(status);
      const texts = query.mock.calls.map(([sent]) => textOf(sent));
      return texts.filter((text) => !others.test(text));
    } finally {
      query.mockRestore();
    }
  }

  it('takes at most twelve statements, and locks the user first in its transaction', async () => {
    const { name } = await service.createUser();
    await service.login(name);
    const statements = await statementsOf(name, password, 200);
    expect(statements.map(tableOf)).toEqual([
      'users',
      'login_attempts',
      'users',
      'users',
      'login_attempts',
      ...['users', 'sessions', 'sessions', 'events'],
    ]);
    expect(statements[3]).toContain('for no key update');
  });

  it('takes at most twelve statements if it renews the hash, expires the password and ends a session', async () => {
    const { name, user_id } = await service.createUser();
    for (let i = 0; i < max; i++) await service.login(name);
    const weak = 'rosebud';
    await service.rows('update credentials set password_hash = $2, policy_checked = false where user_id = $1', [
      user_id,
      await hashBcrypt(weak, { cost: 4 }),
    ]);
    const statements = await statementsOf(name, weak, 200);
    expect(statements.length).toBeLessThanOrEqual(statementsMax);
    expect(statements.map(tableOf)).toEqual([
      'users',
      'login_attempts',
      'users',
      'users',
      'login_attempts',
      'credentials',
      ...['users', 'users', 'sessions', 'sessions', 'events'],
    ]);
  });

  it('takes two more statements from a new address, and none more for the first login', async () => {
    const { name } = await service.createUser();
    const first = await statementsOf(name, password, 200);
    expect(first.map(tableOf)).toEqual([
      ...['users', 'login_attempts', 'users', 'users', 'login_attempts', 'credentials'],
      ...['users', 'sessions', 'sessions', 'events'],
    ]);
    await service.rows(`update login_attempts set known_until = now() where address <> ''`);
    const statements = await statementsOf(name, password, 200);
    expect(statements.map(tableOf)).toEqual([
      ...['users', 'login_attempts', 'users', 'users', 'login_attempts', 'rate_limits'],
      ...[expect.stringMatching(/./), 'users', 'sessions', 'sessions', 'events'],
    ]);
    expect(statements[6]).toContain('graphile_worker.add_jobs');
  });

  it('stores how and when the user authenticated with the session', async () => {
    const { name } = await service.createUser();
    const { session_id } = await service.login(name);
    const columns = `amr, auth_time <= created_at and auth_time > created_at - interval '1 minute' as authenticated`;
    const rows = await service.rows(`select ${columns} from sessions where session_id = $1`, [session_id]);
    expect(rows).toEqual([{ amr: ['pwd'], authenticated: true }]);
  });

  it('sends the same statements for a wrong password and for a missing user (L19)', async () => {
    const { name } = await service.createUser();
    const known = await statementsOf(name, 'a wrong password', 401);
    expect(await statementsOf('a-missing-user', 'a wrong password', 401)).toEqual(known);
    expect(known.map(tableOf)).toEqual(['users', 'login_attempts', 'users', 'users', 'login_attempts', 'events']);
  });
});

function textOf(sent: unknown): string {
  return typeof sent === 'string' ? sent : (sent as { text: string }).text;
}

/** The first table that a statement writes, or else reads, apart from the roles of a user. */
function tableOf(text: string): string | undefined {
  return (/(?:insert into|update(?! of)|delete from) (\w+)/.exec(text) ?? /from (?!roles)(\w+)/.exec(text))?.[1];
}
