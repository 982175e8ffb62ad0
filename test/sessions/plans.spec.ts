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
import { SessionsRepository } from '../../src/auth/sessions/sessions.repository';
import { SessionsService } from '../../src/auth/sessions/sessions.service';
import { LoginsRepository } from '../../src/auth/login/logins.repository';
import { listQuery } from '../support/list-queries';
import { fillSessions } from '../support/many-sessions';
import {
  explaining,
  FilledDatabase,
  filterQueries,
  plansOfLists,
  sorting,
  sortQueries,
  wholeTables,
} from '../support/plans';
import { appSecret } from '../support/service';

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
};
const like: Record<string, string> = { carrier_id: 'r-199', user_agent: 'raretool' };
/** Conditions that most sessions meet, so that PostgreSQL follows the index of the order. */
const common = /^(session_id|user_id|carrier_id|ip|user_agent|ended_reason|\w+_at)_ne$|^(active|mfa)_ne$/;

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

  it('detects a sequential scan', async () => {
    await client.query('begin; set local enable_indexscan = off; set local enable_bitmapscan = off');
    const plans = await table(callers.everything, ['ip=198.51.100.0/24']);
    await client.query('rollback');
    expect(whole(plans)).toHaveLength(1);
  });
});
