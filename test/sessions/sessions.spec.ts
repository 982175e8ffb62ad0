import type { SessionsService } from '../../src/auth/sessions/sessions.service';
import { inTransaction, lockWaits } from '../support/locks';
import { addSessions } from '../support/data/many-sessions';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { changeSession, sessionRow } from '../support/data/session-rows';
import { tableContents } from '../support/contract/tables';
import { decode, forge, ownKey } from '../support/logins/tokens';
import { until } from '../support/until';

const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

type ShownSession = Record<'session_id' | 'user_id', string> &
  Record<'ended_at' | 'ended_reason' | 'user_agent', string | null> & { active: boolean };

const max = 5;
const [idleSeconds, absoluteSeconds] = [1_000, 5_000];

describe('sessions', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({
      SESSIONS_PER_USER_MAX: String(max),
      CARRIER_USER_SESSION_IDLE_SECONDS: String(idleSeconds),
      CARRIER_USER_SESSION_ABSOLUTE_SECONDS: String(absoluteSeconds),
    });
  });
  afterAll(() => service.close());

  const works = async ({ token }: { token: string }) => (await service.get('/user', { token })).status;
  const refresh = ({ refresh_token }: { refresh_token: string }) =>
    service.post('/auth/check-token', { body: { refresh_token } });
  const list = async (query: string): Promise<ShownSession[]> =>
    (await service.get(`/auth/session/list?per_page=500&order_dir=asc&${query}`, service.admin)).body.items;
  const end = (query: string, { token }: { token: string }) => service.delete(`/auth/session/all?${query}`, { token });
  const idsOf = (sessions: { session_id: string }[]) => sessions.map(({ session_id }) => session_id).sort();
  const move = async (change: string, ...sessions: TestLogin[]) => {
    for (const session of sessions) await changeSession(service, session, change);
  };
  /** Creates a user with several sessions. */
  const loginsOf = async (count: number) => {
    const { name } = await service.createUser();
    const logins: TestLogin[] = [];
    while (logins.length < count) logins.push(await service.login(name));
    return logins as [TestLogin, TestLogin, TestLogin, ...TestLogin[]];
  };
  const statuses = (...logins: { token: string }[]) => Promise.all(logins.map(works));

  it('ends only the current session at logout, and only the others of the user with /all (S3)', async () => {
    const [first, second, third] = await loginsOf(3);
    const stranger = await service.loginAs();
    expect((await service.post('/auth/logout', { token: first.token, body: {} })).status).toBe(204);
    expect(await statuses(first, second, third)).toEqual([401, 200, 200]);
    expect((await service.delete('/auth/session/all', { token: second.token })).body).toEqual({ ended: 1 });
    expect(await statuses(second, third, stranger, service.admin)).toEqual([200, 401, 200, 200]);
  });

  it('ends an own session once, and keeps the time and reason of the first end (S5)', async () => {
    const [victim, ended, expired] = await loginsOf(3);
    for (let time = 0; time < 2; time++)
      expect((await service.delete(`/auth/session/${ended.session_id}`, victim)).status).toBe(204);
    expect(await statuses(ended, victim)).toEqual([401, 200]);
    await move(`expires_at = now() - interval '1 ms'`, expired);
    const ends = `ended_at, ended_reason, ended_by,
      (select count(*)::integer from events where target_id = sessions.session_id) as events`;
    const rows = async () => [await sessionRow(service, ended, ends), await sessionRow(service, expired, ends)];
    const before = await rows();
    expect(before).toMatchObject([
      { ended_reason: 'revoked', ended_by: victim.user_id, events: 1 },
      { ended_at: null, ended_reason: null, ended_by: null, events: 0 },
    ]);
    for (const { session_id } of [ended, expired])
      expect((await service.delete(`/auth/session/${session_id}`, service.admin)).status).toBe(204);
    for (const filter of [`session_id_in=${idsOf([ended, expired]).join()}`, `user_id=${victim.user_id}&active=false`])
      expect((await end(filter, service.admin)).body).toEqual({ ended: 0 });
    for (const { refresh_token } of [ended, expired]) await service.post('/auth/logout', { body: { refresh_token } });
    await service.patch(`/user/${victim.user_id}`, { ...service.admin, body: { status: 'disabled' } });
    expect(await rows()).toEqual(before);
    expect(await works(victim)).toBe(401);
  });

  const timesOf = (login: TestLogin) =>
    sessionRow(
      service,
      login,
      `
        extract(epoch from expires_at - last_seen_at)::float as idle,
        extract(epoch from absolute_expires_at - created_at)::float as absolute,
        expires_at = absolute_expires_at as is_last`,
    );
  const expired = [{ active: false, ended_reason: 'expired', ended_by: null }];

  it('ends a session after its idle time, which activity extends up to the absolute limit (S4)', async () => {
    const [busy, silent] = await loginsOf(2);
    expect(await timesOf(busy)).toEqual({ idle: idleSeconds, absolute: absoluteSeconds, is_last: false });
    await move(`last_seen_at = now() - interval '990 s', expires_at = now() + interval '60 s'`, busy, silent);
    expect(await works(busy)).toBe(200);
    await until(async () => (await timesOf(busy))['idle'] === idleSeconds);
    await move(`expires_at = expires_at - interval '61 s'`, silent);
    expect([await works(silent), (await refresh(silent)).status, await works(busy)]).toEqual([401, 401, 200]);
    expect(await list(`session_id=${silent.session_id}`)).toMatchObject(expired);
    const late = `last_seen_at = now() - interval '1 h', expires_at = now() + interval '50 s'`;
    await move(`${late}, absolute_expires_at = now() + interval '60 s'`, busy);
    expect(await works(busy)).toBe(200);
    await until(async () => (await timesOf(busy))['is_last'] === true);
  });

  it('ends a session at its absolute limit despite refreshes (S6)', async () => {
    const [login] = await loginsOf(1);
    await move(`absolute_expires_at = now() + interval '100 s'`, login);
    let previous = login.refresh_token;
    for (let round = 0; round < 3; round++) {
      previous = login.refresh_token;
      login.refresh_token = (await refresh(login)).body.refresh_token;
      expect(await timesOf(login)).toMatchObject({ is_last: true });
    }
    await move(`absolute_expires_at = now() - interval '1 ms', expires_at = now() - interval '1 ms'`, login);
    // Also the predecessor within its grace period.
    const late = [await refresh({ refresh_token: previous }), await refresh(login)];
    expect([await works(login), ...late.map(({ status }) => status)]).toEqual([401, 401, 401]);
    expect(await list(`session_id=${login.session_id}`)).toMatchObject(expired);
  });

  it('ends the least recently used live sessions above the limit, with an event each (S13)', async () => {
    const { name, user_id } = await service.createUser();
    const logins: TestLogin[] = [];
    while (logins.length < max) logins.push(await service.login(name));
    const [, idle, expired, ...kept] = logins as [TestLogin, TestLogin, TestLogin, ...TestLogin[]];
    await move(`last_seen_at = now() - interval '1 hour'`, idle);
    await move(`last_seen_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'`, expired);
    // The limit ignores the expired session.
    const sixth = await service.login(name);
    expect(await list(`user_id=${user_id}&ended_reason=replaced`)).toEqual([]);
    const seventh = await service.login(name);
    const live = [logins[0] as TestLogin, ...kept, sixth, seventh];
    expect(idsOf(await list(`user_id=${user_id}&active=true`))).toEqual(idsOf(live));
    const replaced = await list(`user_id=${user_id}&ended_reason=replaced`);
    expect(replaced).toMatchObject([{ session_id: idle.session_id, active: false, ended_by: null }]);
    expect([await works(idle), (await refresh(idle)).status]).toEqual([401, 401]);
    expect(await statuses(...live)).toEqual(live.map(() => 200));

    // More sessions than the limit, as after it was lowered.
    await addSessions(service, user_id, 10);
    const last = await service.login(name);
    const left = await list(`user_id=${user_id}&active=true`);
    expect(left).toHaveLength(max);
    expect(idsOf(left)).toContain(last.session_id);
    const filter = `event_type=session.ended&actor_id=${user_id}&per_page=500`;
    const events = (await service.get(`/audit/list?${filter}`, service.admin)).body.items;
    expect(events).toHaveLength(1 + 11);
    for (const event of events) {
      const changes = { user_id: { before: user_id }, ended_reason: { after: 'replaced' } };
      expect(event).toMatchObject({ actor_id: user_id, changes });
      expect([seventh.session_id, last.session_id]).toContain(event.session_id);
    }
  });

  it('finds sessions by the name and e-mail address of their users, within the scope of the caller', async () => {
    const one = await service.loginAs({ carrier_id: 'n1', name: 'Nora.Found', email: 'nora@found.example' });
    const two = await service.loginAs({ carrier_id: 'n2', name: 'Nils_Found', email: 'nils@found.example' });
    const manager = await service.loginAs({ carrier_id: 'n1', roles: ['carrier_administrator'] });
    const names = async (query: string, login: TestLogin = service.admin) =>
      (await service.get(`/auth/session/list?${query}&order_dir=asc`, login)).body.items.map(
        ({ name }: { name: string }) => name,
      );
    for (const query of ['name=nora.found', 'email=NORA@found.example', 'name_like=NORA.f', 'email_like=nora@FOUND'])
      expect([query, await names(query)]).toEqual([query, [one.name]]);
    for (const query of [
      'email_like=@found.example',
      'name_in=nora.found,nils_found',
      'name_like=_found&carrier_id=n2',
    ])
      expect([query, await names(query)]).toEqual([query, query.includes('n2') ? [two.name] : [one.name, two.name]]);
    expect(await names('email_like=@found.example', manager)).toEqual([one.name]);
    expect(await names('email_like=@found.example', one)).toEqual([one.name]);
    expect(await names('name_ne=nora.found&carrier_id=n1')).toEqual([manager.name]);
    expect((await end('email=nils@found.example', service.admin)).body).toEqual({ ended: 1 });
    expect(await names('email_like=@found.example&active=true')).toEqual([one.name]);
  });

  it('lets administrators end the sessions of a user, a carrier, or all but their own (S19)', async () => {
    const one = await service.loginAs({ carrier_id: 's1' });
    const two = await service.loginAs({ carrier_id: 's1' });
    const foreign = await service.loginAs({ carrier_id: 's2' });
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const alive = () => statuses(one, two, foreign, operator, service.admin);
    expect((await end(`user_id=${one.user_id}`, operator)).body).toEqual({ ended: 1 });
    expect(await alive()).toEqual([401, 200, 200, 200, 200]);
    expect((await end('carrier_id=s1', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 200, 200, 200]);
    // Users with a role that the operator may not grant keep their sessions.
    expect((await end('active=true', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 200, 200]);
    expect((await end('active=true', service.admin)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 401, 200]);
    // A filter that matches the current session spares it.
    expect((await end(`session_id=${service.admin.session_id}`, service.admin)).body).toEqual({ ended: 0 });
    expect(await works(service.admin)).toBe(200);
    expect(await list(`session_id=${one.session_id}`)).toMatchObject([{ ended_by: operator.user_id }]);
  });

  it('ends thousands of sessions with one event each, and spares the current session', async () => {
    const own = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { user_id } = own;
    // More than one batch.
    await addSessions(service, user_id, 5_100);
    expect((await end(`user_id=${user_id}`, own)).body).toEqual({ ended: 5_100 });
    expect(idsOf(await list(`user_id=${user_id}&active=true`))).toEqual([own.session_id]);
    const events = `
      select count(distinct target_id)::integer as sessions, count(*)::integer as events
      from events
      where event_type = 'session.ended' and actor_id = $1`;
    expect(await service.rows(events, [user_id])).toEqual([{ sessions: 5_100, events: 5_100 }]);
    expect((await service.delete('/auth/session/all', own)).body).toEqual({ ended: 0 });
  });

  it('serializes two requests by filter and a bulk change of the users, and rejects none (B15, F26)', async () => {
    const { token } = service.admin;
    const ids: string[] = [];
    while (ids.length < 3) ids.push((await service.createUser({ carrier_id: 'crowd' })).user_id);
    for (const order of ['asc', 'desc']) {
      await service.rows(`update users set status = 'active' where user_id = any($1)`, [ids]);
      for (const user_id of ids) await addSessions(service, user_id, 20);
      const live = 'from sessions where user_id = any($1) and ended_at is null';
      const answers: Promise<TestAnswer>[] = [];
      await inTransaction(service, async (holder) => {
        await holder.query(`select 1 ${live} order by session_id ${order} limit 1 for update`, [ids]);
        answers.push(
          service.delete('/auth/session/all?carrier_id=crowd', { token }),
          service.patch('/user/all?carrier_id=crowd', { token, body: { status: 'disabled' } }),
          service.delete('/auth/session/all?carrier_id=crowd&active=true', { token }),
        );
        await lockWaits(service, 3);
      });
      for (const answer of answers) expect((await answer).status).toBe(200);
      expect(await service.rows(`select 1 ${live}`, [ids])).toEqual([]);
    }
  });

  it('derives no id or token of a session from another session (S21)', async () => {
    const { name } = await service.createUser();
    const logins = await Promise.all(Array.from({ length: 10 }, () => service.login(name)));
    const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const { session_id } of logins) expect(session_id).toMatch(id);
    expect(new Set(logins.map(({ session_id }) => session_id.replaceAll('-', '').slice(13))).size).toBe(10);
    const secrets = logins.map(({ refresh_token }) => Buffer.from(refresh_token, 'base64url').subarray(16, 48));
    const onesOf = (byte: number) => byte.toString(2).replaceAll('0', '').length;
    for (const [index, secret] of secrets.entries())
      for (const other of secrets.slice(index + 1)) {
        // Half of 256 independent bits differ; 64 or fewer by chance only once in 10^15.
        const differing = secret.reduce((sum, byte, at) => sum + onesOf(byte ^ (other[at] ?? 0)), 0);
        expect(differing).toBeGreaterThan(64);
      }
  });

  it('stores no token in any table, in any encoding (S22)', async () => {
    const login = await service.loginAs();
    const refreshed = (await refresh(login)).body.refresh_token as string;
    await service.post('/auth/reset_email', { body: { email: login.email } });
    const { token: reset } = await service.mailbox.take(login.email, /\/auth\/reset\//);
    const { key } = await ownKey(service);
    const opaque = [login.refresh_token, refreshed, String(reset)];
    const parts = [login.token.split('.')[2] ?? '', forge({}, decode(login.token), key).split('.')[1] ?? ''];
    const pem = key.export({ type: 'pkcs8', format: 'der' });
    const bytes = [...opaque.map((text) => Buffer.from(text, 'base64url').subarray(16)), pem];
    const spellings = bytes.flatMap((raw) => (['hex', 'base64', 'base64url'] as const).map((to) => raw.toString(to)));
    const dump = (await tableContents(service)).toLowerCase();
    for (const spelling of [...opaque, login.token, password, ...parts, ...spellings])
      expect(dump).not.toContain(spelling.toLowerCase());
    expect(dump).toContain(login.session_id);
    expect(dump).toContain('argon2id');
  });

  describe('in the list', () => {
    it('show browser, operating system, device and the address of the client, also in check-token (S18)', async () => {
      const { name, user_id } = await service.createUser();
      const logIn = async (agent: string) => {
        const spoofed = ['x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'forwarded'];
        const headers = { ...Object.fromEntries(spoofed.map((field) => [field, '203.0.113.66'])), 'user-agent': agent };
        const { body } = await service.post('/auth/login', {
          body: { login: name, password },
          headers,
          ip: '192.0.2.7',
        });
        const checked = await service.post('/auth/check-token', { body: { token: body.access_token } });
        const [item] = await list(`session_id=${body.session_id}`);
        expect(item).toMatchObject({ ip: '192.0.2.7', user_agent: checked.body.session.user_agent });
        return [item, checked.body.session];
      };
      for (const shown of await logIn(chrome))
        expect(shown).toMatchObject({ browser: 'Chrome 130', os: 'Windows 10 or 11', device: 'desktop' });
      // Node.js rejects the control characters below U+0020 itself.
      for (const { user_agent } of await logIn(
        `Evil\u009b[31m <script>alert(1)</script> \u009b${'x'.repeat(10_000)}`,
      )) {
        expect(user_agent).toHaveLength(512);
        // eslint-disable-next-line no-control-regex -- looks for control characters
        expect(user_agent).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      }
      const stored = 'select host(last_login_ip) as ip from user_logins where user_id = $1';
      expect(await service.rows(stored, [user_id])).toEqual([{ ip: '192.0.2.7' }]);
    });

    it('show no tokens or hashes, but ids that are not accepted as tokens (S17)', async () => {
      const user = await service.loginAs();
      const all = await list(`user_id_in=${user.user_id},${service.admin.user_id}`);
      expect(idsOf(all)).toContain(user.session_id);
      for (const item of all) expect(Object.keys(item).filter((name) => /token|hash|secret/.test(name))).toEqual([]);
      expect(JSON.stringify(all)).not.toContain(user.refresh_token.slice(30));
      for (const text of [user.session_id, user.session_id.replaceAll('-', '')]) {
        expect(await works({ token: text })).toBe(401);
        expect((await refresh({ refresh_token: text })).status).toBe(401);
      }
    });

    it('are filtered by state and reason of the end with every operator', async () => {
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

    it('are found by parts of a user agent regardless of case, without wildcards', async () => {
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
      for (const made of [600, 5_000]) {
        const columns = { user_agent: `'oddity ' || i`, ended_at: 'now()', ended_reason: `'logout'` };
        const { length } = await addSessions(service, (await service.createUser()).user_id, made, columns);
        expect(await find()).toEqual(expected);
        expect((await service.get(oddities, service.admin)).body.total.value).toBeGreaterThanOrEqual(length);
      }
    });

    it('are sorted by each sort field, each on one page, and found by parts of the carrier', async () => {
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

    it('disappear 90 days after their end, not earlier, in an hourly job that keeps their events', async () => {
      const { user_id } = await service.createUser();
      const add = (count: number, columns: object) => addSessions(service, user_id, count, { ...columns });
      const long = (days: number) => `now() - interval '${days} days'`;
      const times = (days: number) => ({ created_at: long(days), last_seen_at: long(days), expires_at: long(days) });
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
        idsOf(await service.rows<ShownSession>('select session_id from sessions where user_id = $1', [user_id]));
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
});
