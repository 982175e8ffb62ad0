import { randomUUID } from 'node:crypto';
import type { LoginsRepository } from '../../src/auth/login/logins.repository';
import { SessionsRepository } from '../../src/auth/sessions/sessions.repository';
import type { ActivityNotes } from '../../src/auth/tokens/activity-notes.service';
import { LiveLoginsRepository } from '../../src/auth/tokens/live-logins.repository';
import type { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import type { Database } from '../../src/platform/database/database';
import { inTransaction } from '../support/locks';
import { explaining } from '../support/plans';
import { type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { changeSession, sessionRow } from '../support/session-rows';

/** Longer than any session lives here, so that nothing is written early because a session ends. */
const farMs = 3_600_000;
const idle_seconds = { system: 1_800, carrier: 1_800 };
const loginsMax = 20_000;

type Session = Pick<TestLogin, 'session_id' | 'user_id'>;

describe('the activity of sessions', () => {
  let service: TestService;
  beforeAll(async () => (service = await TestService.start()));
  afterAll(() => service.close());

  const rowOf = (session: Session) => sessionRow(service, session, 'xmin::text, last_seen_at, expires_at');
  /** Moves the last use of a session into the past and drops it from memory. */
  const age = async (session: Session, interval: string) => {
    await changeSession(service, session, `last_seen_at = last_seen_at - interval '${interval}'`);
    await service.rows(`select pg_notify('user_changed', $1)`, [session.user_id]);
  };

  describe('in memory', () => {
    const notes = () => service.inside<ActivityNotes>('ActivityNotes');
    /** Writes the collected activity immediately instead of a second later. */
    const flush = () => notes().onModuleDestroy();
    /** Returns whether work writes to a session. */
    const isNoted = async (login: Session, work: () => Promise<unknown>) => {
      const before = JSON.stringify(await rowOf(login));
      await work();
      return JSON.stringify(await rowOf(login)) !== before;
    };
    const use = async ({ token }: TestLogin) => {
      expect((await service.get('/user', { token })).status).toBe(200);
      await flush();
    };
    const note = async (...sessions: Session[]) => {
      for (const { session_id, user_id } of sessions) await notes().add(session_id, user_id, farMs);
      await flush();
    };

    it('is recorded once a minute, however often a session is used', async () => {
      const login = await service.loginAs();
      await age(login, '30 s');
      for (let time = 0; time < 3; time++) expect(await isNoted(login, () => use(login))).toBe(false);
      await age(login, '40 s');
      expect(await isNoted(login, () => use(login))).toBe(true);
      for (let time = 0; time < 3; time++) expect(await isNoted(login, () => use(login))).toBe(false);
    });

    it('is not recorded for a session that has ended or expired, so that nothing revives it', async () => {
      const [ended, expired, live] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
      for (const login of [ended, expired, live]) await age(login, '1 hour');
      await changeSession(service, ended, `ended_at = now(), ended_reason = 'revoked'`);
      await changeSession(service, expired, `expires_at = now() - interval '1 ms'`);
      const before = [await rowOf(ended), await rowOf(expired)];
      expect(await isNoted(live, () => note(ended, expired, live))).toBe(true);
      expect([await rowOf(ended), await rowOf(expired)]).toEqual(before);
    });

    it.each(['user_seen', 'sessions'])('skips a locked row of %s, and is recorded for all others', async (table) => {
      const [changed, free] = [await service.loginAs(), await service.loginAs()];
      for (const login of [changed, free]) await age(login, '1 hour');
      await inTransaction(service, async (holder) => {
        await holder.query(`select 1 from ${table} where user_id = $1 for update`, [changed.user_id]);
        const before = await rowOf(changed);
        expect(await isNoted(free, () => note(changed, free))).toBe(true);
        expect(await rowOf(changed)).toEqual(before);
      });
      expect(await isNoted(changed, () => note(changed))).toBe(true);
    });

    it('is recorded before the service stops', async () => {
      const login = await service.loginAs();
      const other = await ServiceProcess.beside(service);
      await age(login, '1 hour');
      const stop = async () => {
        expect((await other.get('/user', { token: login.token })).status).toBe(200);
        expect(await other.stop()).toBe(0);
      };
      expect(await isNoted(login, stop)).toBe(true);
    });
  });

  describe('in the tables', () => {
    const noteOf = ({ session_id, user_id }: Session) => [{ session_id, user_id, ago_ms: 0 }];

    it('adds four index entries for a refresh, and two more for the user of a note', async () => {
      const login = await service.loginAs();
      await age(login, '5 min');
      const written = `
        select
          n_tup_upd::integer as rows,
          (n_tup_upd - n_tup_hot_upd)::integer * (
            select count(*)::integer
            from pg_index
            where indrelid = relid and (indpred is null or pg_get_expr(indpred, indrelid) not like '%ended_reason%')
          ) as entries
        from pg_stat_xact_user_tables
        where relname in ('sessions', 'user_seen') and schemaname = current_schema()
        order by relname`;
      /** Returns the numbers of updated rows and of added index entries of both tables. */
      const writtenBy = (work: (database: Database) => Promise<unknown>) =>
        inTransaction(service, async (client) => {
          const read = async () =>
            (await client.query<{ rows: number; entries: number }>(written)).rows.flatMap(Object.values) as number[];
          // Includes updates that the connection has not reported yet.
          const before = await read();
          await work(explaining(client));
          return (await read()).map((count, index) => count - (before[index] ?? NaN));
        });
      const { hash } = await sessionRow(service, login, 'refresh_token_hash as hash');
      const refresh = (database: Database) =>
        new SessionsRepository(database).rotate(login.session_id, hash as Buffer, Buffer.alloc(32), idle_seconds);
      expect(await writtenBy(refresh)).toEqual([1, 4, 0, 0]);
      const note = (database: Database) => new LiveLoginsRepository(database).note(noteOf(login), idle_seconds);
      expect(await writtenBy(note)).toEqual([1, 4, 1, 2]);
    });

    it('writes to users during a login only to end an account lockout', async () => {
      const { user_id } = await service.createUser();
      const isWritten = async () => {
        const version = 'select xmin::text from users where user_id = $1';
        const before = await service.rows(version, [user_id]);
        const login = { user_id, ip: '192.0.2.9', unlocks: true };
        const user = await service.inside<LoginsRepository>('LoginsRepository').noteLogin(login);
        expect(user).toMatchObject({ online: true, last_login_ip: '192.0.2.9', locked_until: null });
        return (await service.rows<{ xmin: string }>(version, [user_id]))[0]?.xmin !== before[0]?.['xmin'];
      };
      expect(await isWritten()).toBe(false);
      await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [user_id]);
      expect(await isWritten()).toBe(true);
    });

    it('is noted once when two instances note it', async () => {
      const login = await service.loginAs();
      await age(login, '5 min');
      const before = await rowOf(login);
      const note = () => service.inside<LiveLoginsRepository>('LiveLoginsRepository').note(noteOf(login), idle_seconds);
      await note();
      const noted = await rowOf(login);
      await note();
      expect(noted).not.toEqual(before);
      expect(await rowOf(login)).toEqual(noted);
    });

    it('shows what an instance of the previous release writes to users, and keeps later times', async () => {
      const { user_id, name } = await service.createUser({ carrier_id: 'old' });
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
      const row = [name, later, '198.51.100.9'];
      for (const time of [later, '2020-01-01T00:00:00Z']) {
        await write(time);
        for (const query of ['order_by=last_seen_at', 'order_by=last_login_at', 'last_login_ip=198.51.100.0/24'])
          expect(await shown(`${query}&online=true&per_page=1`)).toEqual([row]);
      }
      await service.rows(
        `insert into users (user_id, user_type, name, email, carrier_id, status, last_seen_at)
        values (gen_random_uuid(), 'carrier', 'imported', 'imported@example.com', 'old', 'active', $1)`,
        [later],
      );
      expect(await shown('carrier_id=old&online=true&order_by=name')).toEqual([row, ['imported', later, null]]);
    });

    it('keeps one row for each user and session, and none of a deleted user', async () => {
      const { user_id } = await service.loginAs();
      const tables = ['users', 'user_logins', 'user_seen', 'sessions', 'session_search'];
      const counts = async (condition: string) => {
        const selected = tables.map((table) => `(select count(*)::integer from ${table} where ${condition}) ${table}`);
        return Object.values((await service.rows<Record<string, number>>(`select ${selected.join()}`))[0] ?? {});
      };
      const [users, logins, seen, sessions, search] = await counts('true');
      expect([logins, seen, search]).toEqual([users, users, sessions]);
      expect(await counts(`user_id = '${user_id}'`)).toEqual([1, 1, 1, 1, 1]);
      await service.rows('delete from users where user_id = $1', [user_id]);
      expect(await counts(`user_id = '${user_id}'`)).toEqual([0, 0, 0, 0, 0]);
    });
  });

  describe('as a login in memory', () => {
    // The time that a busy machine needs between two steps must not count.
    beforeAll(() => clock().stop());
    afterAll(() => clock().start());

    const logins = () => service.inside<LiveLoginsService>('LiveLoginsService');
    const isKnown = async ({ session_id, user_id }: Session) => (await logins().cached(session_id, user_id)) !== null;
    /** Reads logins into memory. */
    const read = async (...sessions: Session[]) => {
      for (const { session_id, user_id } of sessions) await logins().read(session_id, user_id);
    };
    const clock = () => service.inside<{ pass: (ms: number) => void; stop: () => void; start: () => void }>('Clock');
    /** Advances the clock of the service, and waits until it trusts its memory again. */
    const pass = async (ms: number) => {
      await clock().pass(ms);
      await service.until(async () => {
        await read(service.admin);
        return isKnown(service.admin);
      });
    };
    /** Checks that logins read now are in memory after `knownMs`, but not after `unknownMs`. */
    const expectKnown = async (knownMs: number, unknownMs: number, ...sessions: Session[]) => {
      await service.rows(`select pg_notify('roles_changed', '')`);
      await service.until(async () => {
        await read(...sessions);
        return (await Promise.all(sessions.map(isKnown))).every(Boolean);
      });
      await pass(knownMs);
      expect(await Promise.all(sessions.map(isKnown))).toEqual(sessions.map(() => true));
      await pass(unknownMs - knownMs);
      expect(await Promise.all(sessions.map(isKnown))).toEqual(sessions.map(() => false));
    };

    it('is read again after a minute, so that a change without notification takes effect', async () => {
      const login = await service.loginAs();
      await expectKnown(59_999, 60_000, login);
      expect((await service.get('/user', login)).status).toBe(200);
      expect(await isKnown(login)).toBe(true);
    });

    it('is not kept beyond the end of its session', async () => {
      const login = await service.loginAs();
      await changeSession(service, login, `expires_at = now() + interval '50 s'`);
      await expectKnown(25_000, 50_000, login);
    });

    it('is not kept beyond the next time from which a role or the user needs a second factor', async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const user = await service.loginAs();
      const soon = `second_factor_required_from = now() + interval '50 s'`;
      await service.rows(`update roles set ${soon} where name = 'operator'`);
      await service.rows(`update users set ${soon} where user_id = $1`, [user.user_id]);
      await expectKnown(25_000, 50_000, operator, user);
    });

    it('is kept for the 20,000 most recent logins, and dropped after a notification', async () => {
      const login = await service.loginAs();
      await read(login);
      const kept = await logins().cached(login.session_id, login.user_id);
      const cache = service.inside<{ keep: (session_id: string, login: unknown) => void }>('LiveLoginsService');
      const made = Array.from({ length: loginsMax + 1 }, () => ({ ...login, session_id: randomUUID() }));
      await Promise.all(made.map(({ session_id }) => cache.keep(session_id, kept)));
      const some = [made[0], made[1], made.at(-1)] as Session[];
      expect(await Promise.all(some.map(isKnown))).toEqual([false, true, true]);
      await service.rows(`select pg_notify('user_changed', $1)`, [login.user_id]);
      expect(await Promise.all(some.map(isKnown))).toEqual([false, false, false]);
    });
  });
});
