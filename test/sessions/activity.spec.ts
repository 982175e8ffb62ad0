import { LoginsRepository } from '../../src/auth/login/logins.repository';
import { SessionsRepository } from '../../src/auth/sessions/sessions.repository';
import type { ActivityNotes } from '../../src/auth/tokens/activity-notes.service';
import { LiveLoginsRepository } from '../../src/auth/tokens/live-logins.repository';
import type { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import type { Database } from '../../src/platform/database/database';
import { inTransaction } from '../support/locks';
import {
  explaining,
  FilledDatabase,
  filterQueries,
  plansOfLists,
  sorting,
  sortQueries,
  wholeTables,
} from '../support/contract/plans';
import { type TestLogin, TestService, appSecret } from '../support/service';
import { changeSession, sessionRow } from '../support/data/session-rows';
import type { Client } from 'pg';
import type { Actor } from '../../src/access/actor';
import { parseConditions, type RawQuery } from '../../src/http/lists/filter';
import type { Operator } from '../../src/http/lists/filter-value';
import { type Config, loadConfig } from '../../src/platform/config/config';
import { LoginAttemptsRepository } from '../../src/auth/passwords/login-attempts.repository';
import type { JobsService } from '../../src/platform/jobs/jobs.service';
import type { RolesService } from '../../src/access/roles/roles.service';
import { sessionList } from '../../src/auth/sessions/session-list';
import { RefreshTokens } from '../../src/auth/sessions/refresh-token';
import { SessionEndsRepository } from '../../src/auth/sessions/session-ends.repository';
import { SessionsService } from '../../src/auth/sessions/sessions.service';
import { listQuery } from '../support/contract/list-queries';
import { fillSessions } from '../support/data/many-sessions';

/** Longer than any session lives here, so that nothing is written early because a session ends. */
const farMs = 3_600_000;
const idle_seconds = { system: 1_800, carrier: 1_800 };

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
      expect(await isNoted(login, () => use(login))).toBe(false);
      await age(login, '40 s');
      for (const noted of [true, false, false]) expect(await isNoted(login, () => use(login))).toBe(noted);
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
        expect(user).toMatchObject({ online: false, last_login_ip: '192.0.2.9', locked_until: null });
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
      const { note } = service.inside<LiveLoginsRepository>('LiveLoginsRepository');
      await note(noteOf(login), idle_seconds);
      const noted = await rowOf(login);
      await note(noteOf(login), idle_seconds);
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
          expect(await shown(`${query}&per_page=1`)).toEqual([row]);
      }
      await service.rows(
        `insert into users (user_id, user_type, name, email, carrier_id, status, last_seen_at)
        values (gen_random_uuid(), 'carrier', 'imported', 'imported@example.com', 'old', 'active', $1)`,
        [later],
      );
      expect(await shown('carrier_id=old&online=false&order_by=name')).toEqual([row, ['imported', later, null]]);
    });

    it('makes a user online only in a live session in which the user was seen within 5 minutes', async () => {
      const first = await service.loginAs();
      const { user_id } = first;
      const second = await service.login(first.name);
      const isOnline = async () => {
        const members = [(await service.get(`/user/${user_id}`, service.admin)).body];
        for (const online of [true, false])
          members.push(
            ...(await service.get(`/user/list?user_id=${user_id}&online=${online}`, service.admin)).body.items,
          );
        expect(members).toEqual([members[0], members[0]]);
        return members[0].online as boolean;
      };
      expect(await isOnline()).toBe(true);
      await changeSession(service, second, `last_seen_at = now() - interval '301 s'`);
      expect(await isOnline()).toBe(true);
      await service.delete(`/auth/session/${first.session_id}`, service.admin);
      expect(await isOnline()).toBe(false);
      await changeSession(service, second, 'last_seen_at = now()');
      expect(await isOnline()).toBe(true);
      await changeSession(service, second, `expires_at = now()`);
      expect(await isOnline()).toBe(false);
    });

    it('makes a disabled user offline in the response of the change', async () => {
      const { user_id } = await service.loginAs();
      const { body } = await service.patch(`/user/${user_id}`, { ...service.admin, body: { status: 'disabled' } });
      expect(body).toMatchObject({ status: 'disabled', online: false });
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

    it('is kept no longer than its session, or than until a second factor becomes required', async () => {
      const expiring = await service.loginAs();
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const user = await service.loginAs();
      await changeSession(service, expiring, `expires_at = now() + interval '50 s'`);
      const soon = `second_factor_required_from = now() + interval '50 s'`;
      await service.rows(`update roles set ${soon} where name = 'operator'`);
      await service.rows(`update users set ${soon} where user_id = $1`, [user.user_id]);
      await expectKnown(25_000, 50_000, expiring, operator, user);
    });
  });
});

/** Plans of the embedded PostgreSQL; other versions may choose other indexes. */
const snapshotVersion = 18;

const missing = '018f0000-0000-7000-8000-000000000001';
const reader = ['session:read', 'session:revoke'];
const actor = (fields: Partial<Actor>) =>
  ({
    ...{ actor_type: 'user', user_id: missing, session_id: missing, user_type: 'system' },
    ...{ carrier_id: null, carrier_scope: null, ...fields },
  }) as Actor;

/** A rare value of each field, for which a sequential scan is always wrong. */
const rare: Record<string, string> = {
  ...{ session_id: missing, user_id: missing, user_type: 'system', carrier_id: 'carrier-199', ip: '198.51.100.0/24' },
  ...{ user_agent: 'RareTool/1.0', active: 'true', mfa: 'true', ended_reason: 'token_reuse' },
  ...{ name: 'ada.zuse.400', email: 'ada@example.com' },
};
const like: Record<string, string> = {
  ...{ carrier_id: 'r-199', user_agent: 'raretool', name: 'zuse.1234', email: '1234@' },
};
/** Conditions that most sessions meet, so that PostgreSQL follows the index of the order. */
const common = /^(session_id|user_id|name|email|carrier_id|ip|user_agent|ended_reason|\w+_at)_ne$|^(active|mfa)_ne$/;

function valueOf(field: string, operator: Operator): string {
  if (operator === 'isnull') return 'true';
  if (operator === 'like') return like[field] ?? 'missing';
  if (field.endsWith('_at'))
    return operator === 'lt' || operator === 'lte' ? '2000-01-01T00:00:00Z' : '2099-01-01T00:00:00Z';
  if (field === 'user_type' && operator === 'ne') return 'carrier';
  if (['active', 'mfa'].includes(field) && operator === 'ne') return 'false';
  return rare[field] ?? '';
}

const filters = filterQueries(sessionList, valueOf);
const sorts = sortQueries(sessionList);
const others = [
  ...['active=false', 'ended_reason=expired', 'ended_reason_in=expired,logout', 'ended_reason_isnull=false'],
  'user_agent_like=---',
];
const filter = (query: RawQuery) => parseConditions(query, sessionList.filter);

describe('query plans of 120,000 sessions', () => {
  let database: FilledDatabase;
  let client: Client;
  let version: number;
  let callers: Record<'member' | 'everything' | 'carrier' | 'scope', Actor>;

  beforeAll(async () => {
    database = await FilledDatabase.create(10_000);
    ({ client } = database);
    const number = `select current_setting('server_version_num')::integer / 10000 as version`;
    version = (await client.query<{ version: number }>(number)).rows[0]?.version ?? 0;
    await fillSessions(client, 120_000);
    const { rows } = await client.query<{ user_id: string }>(
      `select user_id from users where deleted_at is null and carrier_id is not null and status = 'active' limit 1`,
    );
    callers = {
      member: actor({ user_id: rows[0]?.user_id ?? '', permissions: [] }),
      everything: actor({ permissions: reader }),
      carrier: actor({ user_type: 'carrier', carrier_id: 'carrier-180', permissions: reader }),
      scope: actor({ carrier_scope: ['carrier-180', 'carrier-190'], permissions: reader }),
    };
  });
  afterAll(() => database.drop());

  /** Returns a service that adds the plan of each query to a list. */
  function serviceOf(plans: string[]): SessionsService {
    const config = {
      ...{ APP_SECRET: appSecret, SESSIONS_PER_USER_MAX: 2, REFRESH_GRACE_SECONDS: 10 },
      ...{ SYSTEM_USER_SESSION_IDLE_SECONDS: 60, CARRIER_USER_SESSION_IDLE_SECONDS: 60 },
      ...{ SYSTEM_USER_SESSION_ABSOLUTE_SECONDS: 60, CARRIER_USER_SESSION_ABSOLUTE_SECONDS: 60 },
    } as Config;
    const roles = { grantsOf: async () => ({ forbidden: ['administrator'] }) } as unknown as RolesService;
    const database = explaining(client, plans);
    const [sessions, ends] = [new SessionsRepository(database), new SessionEndsRepository(database)];
    return new SessionsService(config, sessions, ends, roles, {} as JobsService);
  }

  const table = (caller: Actor, queries: string[]) =>
    plansOfLists(queries, (parameters, plans) => serviceOf(plans).list(caller, listQuery(sessionList, parameters)));
  const whole = (plans: Record<string, string[]>, except?: RegExp) => wholeTables(plans, 'sessions', except);

  function expectIndexes(plans: Record<string, string[]>, except?: RegExp): void {
    expect(plans).not.toEqual({});
    expect(whole(plans, except)).toEqual([]);
    if (version === snapshotVersion) expect(plans).toMatchSnapshot();
  }

  type Work = (service: SessionsService, plans: string[]) => Promise<unknown>;
  /** Returns the plans of a transaction that is rolled back. */
  async function plansOfTransaction(work: Work): Promise<string[]> {
    const plans: string[] = [];
    await client.query('begin');
    await work(serviceOf(plans), plans).finally(() => client.query('rollback'));
    return plans;
  }

  it('uses an index for each selective value', async () => {
    expectIndexes(await table(callers.everything, [...filters, ...others]), common);
  });

  it('uses an index for each sort in both directions, including the next page', async () => {
    const plans = await table(callers.everything, sorts);
    expect(sorting(plans)).toEqual([]);
    expectIndexes(plans);
  });

  it.each(['member', 'carrier', 'scope'] as const)('uses an index for %s', async (caller) => {
    expectIndexes(await table(callers[caller], [...sorts, ...filters, ...others]));
  });

  it('finds the last rows of an order as fast as the first', async () => {
    const [early, late] = [88 * 24, 20].map((hours) => new Date(Date.now() - hours * 3_600_000).toISOString());
    const far = {
      [`last_seen_at_lt=${early}`]: 'last_seen_at',
      [`expires_at_lt=${early}`]: 'expires_at',
      [`last_seen_at_gt=${late}&order_dir=asc`]: 'last_seen_at',
      'active=true&order_dir=asc': 'expires_at',
      'active=true&order_by=last_seen_at&order_dir=asc': 'expires_at',
    };
    const plans = await table(callers.everything, Object.keys(far));
    for (const [query, index] of Object.entries(far)) expect(plans[query]?.[0]).toContain(`sessions_${index}_idx`);
  });

  it('uses an index for logging in, refreshing, ending and removing', async () => {
    const { member, everything, scope } = callers;
    const caller = { ip: null, user_agent: null, request_id: null };
    const live = 'select session_id from sessions where ended_at is null and expires_at > now() limit 1';
    const session_id = (await client.query<{ session_id: string }>(live)).rows[0]?.session_id ?? '';
    const logIn: Work = async (service, plans) => {
      const database = explaining(client, plans);
      const lockout = loadConfig({ DATABASE_URL: 'postgres://nowhere/nothing', APP_SECRET: appSecret });
      const [logins, attempts] = [new LoginsRepository(database), new LoginAttemptsRepository(database, lockout)];
      const { user_id } = member;
      const found = await logins.find(user_id);
      const attempt = await attempts.begin(missing, { account: user_id, user_id, address: '' });
      const lock = await logins.lockForLogin(user_id, found?.password_changed_at ?? null, null);
      expect(lock).toMatchObject({ rejection: null, second_factors: [] });
      await attempts.pass(attempt, null);
      const user = await logins.noteLogin({ user_id, ip: null, unlocks: true });
      expect(await service.endSurplus(member)).toEqual(expect.any(Number));
      const authentication = { amr: ['pwd'], auth_time: attempt.began_at };
      await service.open({ session_id: missing, user, caller, authentication });
    };
    const transactions: Record<string, Work> = {
      'log in': logIn,
      refresh: (service) => service.rotate(new RefreshTokens(appSecret).mint(session_id)),
      'end reused': (service) => service.endReused(session_id),
      'log out': (service) => service.endCurrent(caller, session_id),
      'see one': (service) => service.find(everything, session_id),
      'end the others': (service) => service.endFound(member, []),
      'end those of an address': (service) => service.endFound(scope, filter({ ip: '198.51.100.0/24' })),
      'end those of a user': (service) => service.endFound(everything, filter({ user_id: member.user_id })),
      'end all of a batch': (service) => service.endOf(everything, [member.user_id, missing], 'revoked'),
      'end the forbidden': (service) => service.endForbidden(everything, [member.user_id, missing], null),
      'remove old ones': (_, own) => new SessionsRepository(explaining(client, own)).removeOld(89, 100),
    };
    const plans: Record<string, string[]> = {};
    for (const [name, work] of Object.entries(transactions)) plans[name] = await plansOfTransaction(work);
    expectIndexes(plans);
  });
});
