import { Propagation, TransactionHost } from '@nestjs-cls/transactional';
import { sql } from '../../src/http/lists/sql';
import { Database } from '../../src/platform/database/database';
import { LiveLoginsRepository } from '../../src/auth/tokens/live-logins.repository';
import { LoginsRepository } from '../../src/auth/login/logins.repository';
import { SessionsRepository } from '../../src/auth/sessions/sessions.repository';
import { type TestLogin, TestService } from '../support/in-process';

const idle_seconds = { system: 1_800, carrier: 1_800 };

describe('the tables of activity', () => {
  let service: TestService;
  beforeAll(async () => (service = await TestService.start()));
  afterAll(() => service.close());

  const repository = <T>(type: new (...args: never[]) => T) => service.app.get<T>(type, { strict: false });
  /** Runs work in a separate transaction, also within another transaction. */
  const inTransaction = <T>(work: () => Promise<T>) =>
    service.app.get(TransactionHost).withTransaction(Propagation.RequiresNew, work);
  const note = ({ session_id, user_id }: TestLogin) =>
    repository(LiveLoginsRepository).note([{ session_id, user_id, ago_ms: 0 }], idle_seconds);
  const age = ({ session_id }: TestLogin) =>
    service.rows(`update sessions set last_seen_at = now() - interval '5 minutes' where session_id = $1`, [session_id]);

  /** Counts of updates since the connection last reported its statistics. */
  const updates = () =>
    service.app.get(Database).run<{ name: string; rows: number; entries: number }>(sql`
      select
        relname as name,
        n_tup_upd::integer as rows,
        (n_tup_upd - n_tup_hot_upd)::integer * (
          select count(*)::integer
          from pg_index
          where indrelid = relid and (indpred is null or pg_get_expr(indpred, indrelid) not like '%ended_reason%')
        ) as entries
      from pg_stat_xact_user_tables
      where schemaname = current_schema()
      order by relname`);

  /** Returns the rows that work updates in each table, and the index entries that this adds. */
  const writtenBy = (work: () => Promise<unknown>): Promise<Record<string, [rows: number, entries: number]>> =>
    inTransaction(async () => {
      const before = new Map((await updates()).map((table) => [table.name, table]));
      await work();
      const changes = (await updates()).map(({ name, rows, entries }): [string, [number, number]] => [
        name,
        [rows - (before.get(name)?.rows ?? 0), entries - (before.get(name)?.entries ?? 0)],
      ]);
      return Object.fromEntries(changes.filter(([, [rows]]) => rows > 0));
    });

  it('adds four index entries for a refresh, and two more for the user of a note', async () => {
    const login = await service.loginAs();
    await age(login);
    const [before] = await service.rows<{ hash: Buffer }>(
      'select refresh_token_hash as hash from sessions where session_id = $1',
      [login.session_id],
    );
    const hash = before?.hash ?? Buffer.alloc(0);
    const refresh = () => repository(SessionsRepository).rotate(login.session_id, hash, Buffer.alloc(32), idle_seconds);
    expect(await writtenBy(refresh)).toEqual({ sessions: [1, 4] });
    await age(login);
    expect(await writtenBy(() => note(login))).toEqual({ sessions: [1, 4], user_seen: [1, 2] });
  });

  it('writes to users during a login only to end an account lockout', async () => {
    const { user_id } = await service.createUser();
    const logIn = async () => {
      const user = await repository(LoginsRepository).noteLogin({ user_id, ip: '192.0.2.9', unlocks: true });
      expect(user).toMatchObject({ online: true, last_login_ip: '192.0.2.9', locked_until: null });
    };
    expect(Object.keys(await writtenBy(logIn))).toEqual(['user_logins', 'user_seen']);
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [user_id]);
    expect(Object.keys(await writtenBy(logIn))).toEqual(['user_logins', 'user_seen', 'users']);
  });

  it('notes a session once when two instances note it', async () => {
    const login = await service.loginAs();
    await age(login);
    const noted = () => writtenBy(() => note(login));
    await inTransaction(async () => {
      await note(login);
      // Neither waits for this transaction nor writes.
      expect(await noted()).toEqual({});
    });
    expect(await noted()).toEqual({});
    await age(login);
    expect(Object.keys(await noted())).toEqual(['sessions', 'user_seen']);
  });

  it('shows what an instance of the previous release writes to users, and keeps later times', async () => {
    const { user_id, name } = await service.createUser({ carrier_id: 'old', roles: ['carrier_user'] });
    const shown = async (query: string) =>
      ((await service.get(`/user/list?${query}`, service.admin)).body.items as Record<string, unknown>[]).map(
        (user) => [user['name'], user['last_seen_at'], user['last_login_ip']],
      );
    const write = (time: string) =>
      service.rows(
        `update users set last_seen_at = $2, last_login_at = $2, last_login_ip = '198.51.100.9' where user_id = $1`,
        [user_id, time],
      );
    const later = '2099-01-01T00:00:00.000Z';
    await write(later);
    const row = [name, later, '198.51.100.9'];
    expect(await shown('order_by=last_seen_at&per_page=1')).toEqual([row]);
    expect(await shown('last_login_ip=198.51.100.0/24&online=true')).toEqual([row]);
    await write('2020-01-01T00:00:00Z');
    expect(await shown('order_by=last_login_at&per_page=1')).toEqual([row]);
    await service.rows(
      `insert into users (user_id, user_type, name, email, carrier_id, status, last_seen_at)
      values (gen_random_uuid(), 'carrier', 'imported', 'imported@example.com', 'old', 'active', $1)`,
      [later],
    );
    expect(await shown('carrier_id=old&online=true&order_by=name')).toEqual([row, ['imported', later, null]]);
  });

  it('shows a carrier only its own users in lists that are sorted and filtered by activity (Z5)', async () => {
    const own = await service.loginAs({ carrier_id: 'own', roles: ['carrier_administrator'] });
    await service.loginAs({ carrier_id: 'foreign', roles: ['carrier_user'] });
    for (const sort of ['last_seen_at', 'last_login_at'])
      for (const filter of [
        '',
        '&online=true',
        '&last_login_at_isnull=false',
        '&last_seen_at_ne=2000-01-01T00:00:00Z',
      ]) {
        const { body } = await service.get(`/user/list?order_by=${sort}&count=exact${filter}`, own);
        expect([body.items.map((user: TestLogin) => user.user_id), body.total.value]).toEqual([[own.user_id], 1]);
      }
  });

  it('keeps one row for each user and session, and none of a deleted user', async () => {
    const { user_id } = await service.loginAs();
    const tables = ['users', 'user_logins', 'user_seen', 'sessions', 'session_search'];
    const counts = async (condition: string) =>
      Promise.all(
        tables.map(async (table) => {
          const text = `select count(*)::integer as count from ${table} where ${condition}`;
          return (await service.rows<{ count: number }>(text))[0]?.count ?? 0;
        }),
      );
    const [users = 0, logins, seen, sessions = 0, search] = await counts('true');
    expect([users, logins, seen, search]).toEqual([users, users, users, sessions]);
    expect(await counts(`user_id = '${user_id}'`)).toEqual([1, 1, 1, 1, 1]);
    await service.rows('delete from users where user_id = $1', [user_id]);
    expect(await counts(`user_id = '${user_id}'`)).toEqual([0, 0, 0, 0, 0]);
  });
});
