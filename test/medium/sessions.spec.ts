import { password, type TestLogin, TestService } from '../support/in-process';
import { until } from '../support/until';
import { SessionsService } from '../../src/auth/sessions/sessions.service';

const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
const safari =
  'Mozilla/5.0 (iPad; CPU OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
  'Version/17.1 Mobile/15E148 Safari/604.1';

interface ShownSession {
  session_id: string;
  active: boolean;
  ended_at: string | null;
  ended_reason: string | null;
}

describe('sessions', () => {
  let service: TestService;
  let user: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: '3' });
    user = await service.loginAs();
  });
  afterAll(() => service.close());

  const list = async (query: string, token = service.admin.token): Promise<ShownSession[]> =>
    (await service.get(`/auth/session/list?per_page=500&order_dir=asc&${query}`, { token })).body.items;
  const move = (columns: string, ...ids: string[]) =>
    service.rows(`update sessions set ${columns} where session_id = any($1::uuid[])`, [ids]);

  /** Inserts sessions of a user and returns their ids in order. */
  async function addSessions(user_id: string, count: number, columns: Record<string, string> = {}): Promise<string[]> {
    const all = { created_at: 'now()', last_seen_at: 'now()', expires_at: `now() + interval '1 hour'`, ...columns };
    const rows = await service.rows<{ session_id: string }>(
      `
        insert into sessions (
          session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, absolute_expires_at,
          ${Object.keys(all).join()}
        )
        select
          uuid_v7(), user_id, user_type, carrier_id, '', now(), now() + interval '1 day',
          ${Object.values(all).join()}
        from users, generate_series(1, $2::integer) i
        where user_id = $1
        returning session_id`,
      [user_id, count],
    );
    return rows.map(({ session_id }) => session_id);
  }

  it('ends the least recently used session above the limit, not the oldest', async () => {
    const { name, user_id } = await service.createUser();
    const [first, second, third] = [await service.login(name), await service.login(name), await service.login(name)];
    await move(`last_seen_at = now() - interval '1 hour'`, second.session_id);
    await move(`last_seen_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'`, third.session_id);
    // Two of the three are live: an expired session does not count.
    const fourth = await service.login(name);
    expect(await list(`user_id=${user_id}&ended_reason=replaced`)).toEqual([]);
    const fifth = await service.login(name);
    expect((await list(`user_id=${user_id}&active=true`)).map(({ session_id }) => session_id).sort()).toEqual(
      [first, fourth, fifth].map(({ session_id }) => session_id).sort(),
    );
    expect(await list(`user_id=${user_id}&ended_reason=replaced`)).toMatchObject([
      { session_id: second.session_id, active: false, ended_by: null },
    ]);
  });

  it('ends all sessions above a lowered limit, and none of other users', async () => {
    const { name, user_id } = await service.createUser();
    await addSessions(user_id, 50);
    const own = await service.login(name);
    expect(await list(`user_id=${user_id}&active=true`)).toHaveLength(3);
    expect((await list(`user_id=${user_id}&active=true`)).map(({ session_id }) => session_id)).toContain(
      own.session_id,
    );
    const [{ count } = { count: 0 }] = await service.rows<{ count: number }>(
      `
        select count(*)::integer as count
        from events
        where event_type = 'session.ended'
          and actor_id = $1
          and session_id = $2`,
      [user_id, own.session_id],
    );
    expect(count).toBe(48);
    expect((await service.get('/user', { token: user.token })).status).toBe(200);
  });

  it.each([
    [chrome, { browser: 'Chrome 130', os: 'Windows 10 or 11', device: 'desktop' }],
    [safari, { browser: 'Safari 17', os: 'iOS 17', device: 'tablet' }],
    ['curl/8.10.1', { browser: 'curl 8', os: null, device: null }],
    ['billing-module/2.0 (node)', { browser: 'billing-module 2', os: null, device: null }],
    [
      'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      { browser: 'Googlebot 2', os: null, device: 'bot' },
    ],
    ['Mozilla/5.0 something', { browser: null, os: null, device: null }],
  ])('returns browser, operating system and device of %s', async (agent, parts) => {
    const { name } = await service.createUser();
    const headers = { 'user-agent': agent };
    const { body } = await service.post('/auth/login', { body: { login: name, password }, headers });
    const token = body.access_token as string;
    expect(
      (await service.get(`/auth/session/list?session_id=${body.session_id}`, { token })).body.items[0],
    ).toMatchObject(parts);
    expect((await service.post('/auth/check-token', { body: { token } })).body.session).toMatchObject({
      user_agent: agent,
      ...parts,
    });
  });

  it('filters by each shown field with every operator', async () => {
    const { user_id } = await service.createUser();
    const ended = `now() - interval '1 minute'`;
    await addSessions(user_id, 2);
    await addSessions(user_id, 3, { expires_at: ended });
    await addSessions(user_id, 4, { ended_at: ended, ended_reason: `'logout'` });
    await addSessions(user_id, 5, { ended_at: ended, ended_reason: `'revoked'`, expires_at: ended });
    const all = await list(`user_id=${user_id}`);
    expect(all).toHaveLength(14);
    const ids = (sessions: ShownSession[]) => sessions.map(({ session_id }) => session_id);
    const reasons = ['logout', 'revoked', 'expired', 'replaced'];
    const queries: [string, (session: ShownSession) => boolean][] = [
      ...reasons.flatMap((reason): [string, (session: ShownSession) => boolean][] => [
        [`ended_reason=${reason}`, ({ ended_reason }) => ended_reason === reason],
        [`ended_reason_ne=${reason}`, ({ ended_reason }) => ended_reason !== reason],
        [
          `ended_reason_in=${reason},logout`,
          ({ ended_reason }) => ended_reason === reason || ended_reason === 'logout',
        ],
        [`ended_reason=${reason}&active=false`, ({ ended_reason }) => ended_reason === reason],
      ]),
      ['ended_reason_isnull=true', ({ ended_reason }) => ended_reason === null],
      ['ended_reason_isnull=false', ({ ended_reason }) => ended_reason !== null],
      ...['active=true', 'active_ne=false', 'active_in=true'].map(
        (query): [string, (session: ShownSession) => boolean] => [query, ({ active }) => active],
      ),
      ...['active=false', 'active_ne=true'].map((query): [string, (session: ShownSession) => boolean] => [
        query,
        ({ active }) => !active,
      ]),
      ['active_in=true,false', () => true],
    ];
    for (const [query, matches] of queries)
      expect([query, ids(await list(`user_id=${user_id}&${query}`))]).toEqual([query, ids(all.filter(matches))]);
    for (const { active, ended_at, ended_reason } of all)
      expect([ended_at === null, ended_reason === null]).toEqual([active, active]);
  });

  it('matches parts of a user agent regardless of case, without wildcards', async () => {
    const { user_id } = await service.createUser();
    await addSessions(user_id, 1, { user_agent: `'Odd%Tool_1'` });
    await addSessions(user_id, 2, { user_agent: `'OddXTool/2'` });
    await addSessions(user_id, 3, { user_agent: 'null' });
    const count = async (query: string) => (await list(`user_id=${user_id}&${query}`)).length;
    const find = async () => [
      ...[
        await count('user_agent_like=oddxtool'),
        await count('user_agent_like=d%25T'),
        await count('user_agent_like=ool_1'),
      ],
      ...[
        await count('user_agent_like=odd'),
        await count('user_agent_like=nowhere'),
        await count('user_agent_isnull=true'),
      ],
      ...[await count('user_agent_ne=OddXTool/2'), await count('user_agent_in=OddXTool/2,Odd%25Tool_1')],
    ];
    const found = [2, 1, 1, 3, 0, 3, 4, 3];
    expect(await find()).toEqual(found);
    // More made-up browsers than can be requested by name, and then more than are parsed.
    for (const made of [600, 5_000]) {
      await addSessions(user.user_id, made, {
        user_agent: `'oddity ' || i`,
        ended_at: 'now()',
        ended_reason: `'logout'`,
      });
      expect(await find()).toEqual(found);
      expect(
        (await service.get('/auth/session/list?user_agent_like=ODDITY&count=exact', service.admin)).body.total.value,
      ).toBe(made === 600 ? 600 : 5_600);
    }
  });

  it('sorts by each sort, walks each page once, and finds carriers by parts', async () => {
    const { user_id } = await service.createUser({ carrier_id: 'walk.of-carriers' });
    await addSessions(user_id, 23, {
      created_at: `now() - i % 4 * interval '1 s'`,
      last_seen_at: `now() - i % 5 * interval '1 s'`,
      expires_at: `now() + i % 3 * interval '1 h'`,
    });
    for (const sort of ['created_at', 'last_seen_at', 'expires_at'] as const)
      for (const direction of ['asc', 'desc']) {
        const seen: Record<string, string>[] = [];
        for (let cursor: string | null = ''; cursor !== null;) {
          const query = `carrier_id_like=OF-carr&per_page=5&order_by=${sort}&order_dir=${direction}`;
          const page = cursor === '' ? '' : `&cursor=${cursor}`;
          const { body } = await service.get(`/auth/session/list?${query}${page}`, service.admin);
          seen.push(...body.items);
          cursor = body.next_cursor;
        }
        expect(new Set(seen.map(({ session_id }) => session_id)).size).toBe(23);
        const values = seen.map((session) => session[sort] ?? '');
        expect(values).toEqual(direction === 'asc' ? values.toSorted() : values.toSorted().reverse());
      }
  });

  it('ends a thousand sessions with one event each, and spares the current one', async () => {
    const { user_id, name } = await service.createUser({ user_type: 'system', roles: ['administrator'] });
    const own = await service.login(name);
    await addSessions(user_id, 12_000);
    const { status, body } = await service.delete(`/auth/session/all?user_id=${user_id}`, { token: own.token });
    expect([status, body.ended]).toEqual([200, 12_000]);
    expect(await list(`user_id=${user_id}&active=true`)).toMatchObject([{ session_id: own.session_id }]);
    const [events] = await service.rows(
      `
        select count(distinct target_id)::integer as sessions, count(*)::integer as events
        from events
        where event_type = 'session.ended' and actor_id = $1`,
      [user_id],
    );
    expect(events).toEqual({ sessions: 12_000, events: 12_000 });
    expect((await service.delete('/auth/session/all', { token: own.token })).body).toEqual({ ended: 0 });
  });

  it('removes sessions 90 days after their end and not earlier, and keeps their events', async () => {
    const { user_id } = await service.createUser();
    const long = (days: number) => `now() - interval '${days} days'`;
    const times = (days: number) => ({ created_at: long(days + 1), last_seen_at: long(days), expires_at: long(days) });
    const kept = [
      ...(await addSessions(user_id, 1)),
      ...(await addSessions(user_id, 2, { ...times(89), ended_at: long(89), ended_reason: `'logout'` })),
      ...(await addSessions(user_id, 2, times(89))),
      // Last seen long ago, but ended or expired recently.
      ...(await addSessions(user_id, 1, {
        ...times(100),
        expires_at: long(80),
        ended_at: long(85),
        ended_reason: `'revoked'`,
      })),
      ...(await addSessions(user_id, 1, { ...times(100), expires_at: long(80) })),
    ];
    await addSessions(user_id, 2, { ...times(91), ended_at: long(91), ended_reason: `'logout'`, expires_at: long(80) });
    await addSessions(user_id, 12_000, times(91));
    const events = 'select count(*) from events';
    const before = await service.rows(events);
    const [locked] = await addSessions(user_id, 1, times(200));
    const client = await service.sql.connect();
    const left = async () =>
      (await service.rows<{ session_id: string }>('select session_id from sessions where user_id = $1', [user_id]))
        .map(({ session_id }) => session_id)
        .sort();
    try {
      await client.query('begin');
      await client.query('select from sessions where session_id = $1 for update', [locked]);
      await service.app.get(SessionsService, { strict: false }).removeOld();
      expect(await left()).toEqual([...kept, locked].sort());
    } finally {
      await client.query('rollback');
      client.release();
    }
    await service.app.get(SessionsService, { strict: false }).removeOld();
    expect(await left()).toEqual(kept.sort());
    expect(await service.rows(events)).toEqual(before);
  });

  it('removes sessions in an hourly job, one at a time', async () => {
    const [known] = await service.rows(
      `select identifier from graphile_worker._private_known_crontabs where identifier = 'remove-old-sessions'`,
    );
    expect(known).toEqual({ identifier: 'remove-old-sessions' });
    const { user_id } = await service.createUser();
    const old = `now() - interval '100 days'`;
    await addSessions(user_id, 5, { created_at: old, last_seen_at: old, expires_at: old });
    await service.rows(`select graphile_worker.add_job('remove-old-sessions')`);
    await until(async () => (await list(`user_id=${user_id}`)).length === 0);
    expect(await list(`user_id=${user_id}`)).toEqual([]);
  });
});
