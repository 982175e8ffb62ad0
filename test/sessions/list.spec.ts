import type { SessionsService } from '../../src/auth/sessions/sessions.service';
import { inTransaction } from '../support/locks';
import { addSessions } from '../support/many-sessions';
import { password, type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
const safari =
  'Mozilla/5.0 (iPad; CPU OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
  'Version/17.1 Mobile/15E148 Safari/604.1';

type ShownSession = Record<'session_id' | 'user_id', string> &
  Record<'carrier_id' | 'ended_at' | 'ended_reason', string | null> & { active: boolean };

describe('the list of sessions', () => {
  let service: TestService;
  let user: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const list = async (query: string, { token }: { token: string } = service.admin): Promise<ShownSession[]> =>
    (await service.get(`/auth/session/list?per_page=500&order_dir=asc&${query}`, { token })).body.items;
  const idsOf = (sessions: { session_id: string }[]) => sessions.map(({ session_id }) => session_id);
  const logIn = async (agent: string, headers = {}, ip = '192.0.2.7') => {
    const body = { login: user.name, password };
    const answer = await service.post('/auth/login', { body, headers: { 'user-agent': agent, ...headers }, ip });
    expect(answer.status).toBe(200);
    const [item] = await list(`session_id=${answer.body.session_id}`);
    const { session } = (await service.post('/auth/check-token', { body: { token: answer.body.access_token } })).body;
    return { item, session };
  };

  it('shows browser, operating system and device, also in check-token', async () => {
    const agents: [agent: string, browser: string | null, os: string | null, device: string | null][] = [
      [chrome, 'Chrome 130', 'Windows 10 or 11', 'desktop'],
      [safari, 'Safari 17', 'iOS 17', 'tablet'],
      ['curl/8.10.1', 'curl 8', null, null],
      ['billing-module/2.0 (node)', 'billing-module 2', null, null],
      ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot 2', null, 'bot'],
      ['Mozilla/5.0 something', null, null, null],
    ];
    for (const [user_agent, browser, os, device] of agents) {
      const { item, session } = await logIn(user_agent);
      for (const shown of [item, session]) expect(shown).toMatchObject({ user_agent, browser, os, device });
    }
  });

  it('shows hostile user agents as text within their limit, and the address of the client (S18)', async () => {
    const spoofed = ['x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'forwarded'];
    const headers = Object.fromEntries(spoofed.map((name) => [name, '203.0.113.66']));
    const agents = [
      // Node.js rejects the control characters below U+0020 itself.
      `Evil\u009b[31m <script>alert(1)</script> \u009b${'x'.repeat(10_000)}`,
      'Mozilla/5.0 (1.'.padEnd(10_000, '1.'),
      '<script>alert(1)</script>'.repeat(400),
      'Mozilla/5.0 (Linux; '.padEnd(10_000, 'Android '),
      ...['(/'.repeat(5_000), '\u00ff'.repeat(512), '__proto__/1.0', 'constructor/1 toString'],
    ];
    for (const [index, agent] of agents.entries()) {
      const { item, session } = await logIn(agent, headers, `192.0.2.${index + 1}`);
      expect(item).toMatchObject({ ip: `192.0.2.${index + 1}`, user_agent: session.user_agent });
      const { browser, os, device, user_agent } = session;
      // eslint-disable-next-line no-control-regex -- looks for control characters
      expect(user_agent).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      expect(user_agent).toHaveLength(Math.min(512, agent.length));
      for (const part of [browser, os, device]) if (part !== null) expect(part.length).toBeLessThanOrEqual(81);
      expect(`${browser}${os}${device}`).not.toContain('<');
    }
    const stored = 'select host(last_login_ip) as ip from user_logins where user_id = $1';
    expect(await service.rows(stored, [user.user_id])).toEqual([{ ip: `192.0.2.${agents.length}` }]);
  });

  it('shows sessions in the scope of the caller by any filter, without tokens (S17)', async () => {
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    const scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] });
    const filters = ['', 'carrier_id=c2', 'carrier_id_like=c2_', 'user_type=system', 'active=true', 'ip_isnull=false'];
    const ids = [`session_id=${foreign.session_id}`, `user_id=${foreign.user_id}`];
    for (const query of [...filters, ...ids, 'ended_reason_isnull=true'])
      for (const caller of [manager, user, scoped]) {
        const { body } = await service.get(`/auth/session/list?per_page=500&count=exact&${query}`, caller);
        const seen = (body.items as ShownSession[]).filter(({ user_id }) => user_id !== caller.user_id);
        expect([query, seen.filter(({ carrier_id }) => caller === user || carrier_id !== 'c1')]).toEqual([query, []]);
        expect(body.total.value).toBe(body.items.length);
      }
    expect(idsOf(await list('', manager))).toContain(user.session_id);
    const all = await list('');
    expect(idsOf(all)).toEqual(expect.arrayContaining(idsOf([user, manager, foreign, service.admin])));
    for (const item of all) expect(Object.keys(item).filter((name) => /token|hash|secret/.test(name))).toEqual([]);
    expect(JSON.stringify(all)).not.toContain(user.refresh_token.slice(30));
    for (const text of [user.session_id, user.session_id.replaceAll('-', '')]) {
      expect((await service.get('/user', { token: text })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { refresh_token: text } })).status).toBe(401);
    }
  });

  it('filters by state and reason of the end with every operator', async () => {
    const { user_id } = await service.createUser();
    const add = (count: number, columns = {}) => addSessions(service, user_id, count, columns);
    const past = `now() - interval '1 minute'`;
    await add(2);
    await add(3, { expires_at: past });
    await add(4, { ended_at: past, ended_reason: `'logout'` });
    await add(5, { ended_at: past, ended_reason: `'revoked'`, expires_at: past });
    const all = await list(`user_id=${user_id}`);
    expect(all).toHaveLength(14);
    type Matches = (session: ShownSession) => boolean;
    const queries = Object.entries<Matches>({
      'ended_reason=logout': ({ ended_reason }) => ended_reason === 'logout',
      'ended_reason=expired': ({ ended_reason }) => ended_reason === 'expired',
      'ended_reason=replaced': () => false,
      'ended_reason_ne=revoked': ({ ended_reason }) => ended_reason !== 'revoked',
      'ended_reason_ne=expired': ({ ended_reason }) => ended_reason !== 'expired',
      'ended_reason_in=expired,logout': ({ ended_reason }) => ['expired', 'logout'].includes(String(ended_reason)),
      'ended_reason=expired&active=false': ({ ended_reason }) => ended_reason === 'expired',
      'ended_reason_isnull=true': ({ ended_reason }) => ended_reason === null,
      'ended_reason_isnull=false': ({ ended_reason }) => ended_reason !== null,
      ...{ 'active=true': ({ active }) => active, 'active_ne=false': ({ active }) => active },
      ...{ 'active=false': ({ active }) => !active, 'active_ne=true': ({ active }) => !active },
      ...{ 'active_in=true': ({ active }) => active, 'active_in=true,false': () => true },
    });
    for (const [query, matches] of queries)
      expect([query, idsOf(await list(`user_id=${user_id}&${query}`))]).toEqual([query, idsOf(all.filter(matches))]);
    for (const { active, ended_at, ended_reason } of all)
      expect([ended_at === null, ended_reason === null]).toEqual([active, active]);
  });

  it('matches parts of a user agent regardless of case, without wildcards', async () => {
    const { user_id } = await service.createUser();
    await addSessions(service, user_id, 1, { user_agent: `'Odd%Tool_1'` });
    await addSessions(service, user_id, 2, { user_agent: `'OddXTool/2'` });
    await addSessions(service, user_id, 3, { user_agent: 'null' });
    const expected = {
      ...{ '_like=oddxtool': 2, '_like=d%25T': 1, '_like=ool_1': 1, '_like=odd': 3, '_like=nowhere': 0 },
      ...{ '_isnull=true': 3, '_ne=OddXTool/2': 4, '_in=OddXTool/2,Odd%25Tool_1': 3 },
    };
    const find = async () => {
      const found: Record<string, number> = {};
      for (const query of Object.keys(expected))
        found[query] = (await list(`user_id=${user_id}&user_agent${query}`)).length;
      return found;
    };
    expect(await find()).toEqual(expected);
    const oddities = '/auth/session/list?user_agent_like=ODDITY&count=exact';
    // More made-up browsers than can be requested by name, and then more than are parsed.
    for (const [made, total] of [
      [600, 600],
      [5_000, 5_600],
    ] as const) {
      const ended = { ended_at: 'now()', ended_reason: `'logout'` };
      await addSessions(service, user.user_id, made, { user_agent: `'oddity ' || i`, ...ended });
      expect(await find()).toEqual(expected);
      expect((await service.get(oddities, service.admin)).body.total.value).toBe(total);
    }
  });

  it('sorts by each sort field, returns each session on one page, and finds carriers by parts', async () => {
    const { user_id } = await service.createUser({ carrier_id: 'walk.of-carriers' });
    await addSessions(service, user_id, 23, {
      created_at: `now() - i % 4 * interval '1 s'`,
      last_seen_at: `now() - i % 5 * interval '1 s'`,
      expires_at: `now() + i % 3 * interval '1 h'`,
    });
    for (const sort of ['created_at', 'last_seen_at', 'expires_at'])
      for (const direction of ['asc', 'desc']) {
        const url = `/auth/session/list?carrier_id_like=OF-carr&per_page=5&order_by=${sort}&order_dir=${direction}`;
        const seen: Record<string, string>[] = [];
        for (let next: string | null = url; next !== null;) {
          const { body } = await service.get(next, service.admin);
          seen.push(...body.items);
          next = body.next_cursor === null ? null : `${url}&cursor=${body.next_cursor}`;
        }
        expect([seen.length, new Set(seen.map(({ session_id }) => session_id)).size]).toEqual([23, 23]);
        const values = seen.map((session) => session[sort] ?? '');
        expect(values).toEqual(direction === 'asc' ? values.toSorted() : values.toSorted().reverse());
      }
  });

  it('loses sessions 90 days after their end, not earlier, in an hourly job that keeps their events', async () => {
    const { user_id } = await service.createUser();
    const add = (count: number, columns: object) => addSessions(service, user_id, count, { ...columns });
    const long = (days: number) => `now() - interval '${days} days'`;
    const times = (days: number) => ({ created_at: long(days + 1), last_seen_at: long(days), expires_at: long(days) });
    const ended = (days: number, reason: string) => ({ ended_at: long(days), ended_reason: `'${reason}'` });
    const kept = [
      ...(await add(1, {})),
      ...(await add(2, { ...times(89), ...ended(89, 'logout') })),
      ...(await add(2, times(89))),
      // Last seen long ago, but ended or expired recently.
      ...(await add(1, { ...times(100), expires_at: long(80), ...ended(85, 'revoked') })),
      ...(await add(1, { ...times(100), expires_at: long(80) })),
    ];
    await add(2, { ...times(91), ...ended(91, 'logout'), expires_at: long(80) });
    // More than one batch.
    await add(5_100, times(91));
    const events = 'select count(*) from events';
    const before = await service.rows(events);
    const [locked = ''] = await add(1, times(200));
    const left = async () =>
      idsOf(await service.rows<ShownSession>('select session_id from sessions where user_id = $1', [user_id])).sort();
    await inTransaction(service, async (client) => {
      await client.query('select from sessions where session_id = $1 for update', [locked]);
      await service.inside<SessionsService>('SessionsService').removeOld();
      expect(await left()).toEqual([...kept, locked].sort());
    });
    const job = `identifier = 'remove-old-sessions'`;
    const known = `select 1 as known from graphile_worker._private_known_crontabs where ${job}`;
    expect(await service.rows(known)).toEqual([{ known: 1 }]);
    await service.rows(`select graphile_worker.add_job('remove-old-sessions')`);
    await until(async () => !(await left()).includes(locked));
    expect(await left()).toEqual(kept.sort());
    expect(await service.rows(events)).toEqual(before);
  });
});
