import { randomUUID } from 'node:crypto';
import { addManyUsers } from '../support/many-users';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';

describe('bulk changes', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('deputy', '{system}', '{user:read,user:update,user:delete}', '{administrator,deputy}'),
        ('reader', '{system}', '{user:read}', '{}')`);
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const send = (
    method: string,
    query: string,
    body?: unknown,
    by: { token: string } = admin,
    headers: Record<string, string> = {},
  ) => service.send(method, `/user/all?${query}`, { token: by.token, body, headers });
  const undo = (operation_id: string, by = admin) => service.post(`/user/operation/${operation_id}/undo`, by);
  const system = (roles: string[], more: Record<string, unknown> = {}) =>
    service.loginAs({ user_type: 'system', roles, ...more });

  it.each([
    ['a deletion', 'DELETE', undefined],
    ['disabling', 'PATCH', { status: 'disabled' }],
  ])('changes no row, session or event when one row of %s fails (B14)', async (_title, method, body) => {
    const logins = await Promise.all(Array.from({ length: 4 }, () => service.loginAs({ carrier_id: 'c14' })));
    const ids = logins.map(({ user_id }) => user_id);
    const all = async () => [
      await state(),
      await service.rows('select * from sessions order by session_id'),
      await service.rows('select count(*) from events'),
    ];
    // The third row cannot be written, or its event, after all rows.
    for (const write of ['users update user_id', 'events insert target_id']) {
      const [table, verb, column] = write.split(' ');
      await service.rows(`create function refuse() returns trigger language plpgsql as $$ begin
        if new.${column} = '${ids[2]}' then raise exception 'no' using errcode = '40001'; end if; return new; end $$`);
      await service.rows(`create trigger refuse before ${verb} on ${table} for each row execute function refuse()`);
      const before = await all();
      const failed = await send(method, 'carrier_id=c14', body);
      expect([table, failed.status, failed.body.code]).toEqual([table, 503, 'service.database_unavailable']);
      expect(await all()).toEqual(before);
      expect((await service.get('/user', logins[0])).status).toBe(200);
      await service.rows(`drop trigger refuse on ${table}; drop function refuse()`);
    }
    expect((await send(method, 'carrier_id=c14', body)).body.changed).toBe(4);
    await service.rows(`update users set carrier_id = 'c0' where carrier_id = 'c14'`);
  });

  it('rejects the second change of the same version with If-Match, and applies it without (B16)', async () => {
    const { user_id } = await service.createUser();
    const path = `/user/${user_id}`;
    const etag = String((await service.get(path, admin)).headers['etag']);
    const patch = (first_name: string, headers: Record<string, string> = {}) =>
      service.patch(path, { token: admin.token, body: { first_name }, headers });
    const both = await Promise.all(['Ada', 'Eve', 'Bob', 'Joe'].map((name) => patch(name, { 'if-match': etag })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    const winner = both.find(({ status }) => status === 200) as TestAnswer;
    expect((await service.get(path, admin)).body.first_name).toBe(winner.body.first_name);
    const deletion = await service.delete(path, { token: admin.token, headers: { 'if-match': etag } });
    expect(deletion.body.code).toBe('user.version_mismatch');
    for (const tag of ['"0"', 'W/"2"', '2', '"x"', '', '"', ','])
      expect([tag, (await patch('Max', { 'if-match': tag })).status]).toEqual([tag, 412]);
    expect((await patch('Max', { 'if-match': `"99", ${String(winner.headers['etag'])}` })).status).toBe(200);
    expect((await patch('Eva', { 'if-match': '*' })).status).toBe(200);
    expect((await patch('Leo')).body).toMatchObject({ first_name: 'Leo', version: 5 });
    expect((await service.get(path, admin)).headers['etag']).toBe('"5"');
  });

  it('ends the sessions of all disabled users in the transaction of the change (B17)', async () => {
    await addManyUsers(service, 100, 'c17');
    await service.rows(`
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at
      )
      select
        gen_random_uuid(), user_id, user_type, carrier_id, '', now(), now() + interval '1 hour',
        now() + interval '1 hour'
      from users, generate_series(1, 2)
      where carrier_id = 'c17'`);
    const login = await service.loginAs({ carrier_id: 'c17' });
    const answer = await send('PATCH', 'carrier_id=c17', { status: 'disabled' });
    expect(answer.body).toMatchObject({ matched: 101, changed: 101 });
    expect((await service.get('/user', login)).body.code).toBe('auth.token_invalid');
    const refresh = await service.post('/auth/check-token', { body: { refresh_token: login.refresh_token } });
    expect(refresh.status).toBe(401);
    const ends = await service.rows(`
      select count(*)::integer as sessions, bool_and(ended_at = users.updated_at) as together
      from sessions
      join users using (user_id)
      where sessions.carrier_id = 'c17'`);
    expect(ends).toEqual([{ sessions: 201, together: true }]);
  });

  it('hides other operations from a limited caller, who can neither cancel nor undo them (B19)', async () => {
    await addManyUsers(service, 3, 'c19');
    const { body } = await send('PATCH', 'carrier_id=c19', { locale: 'fr' });
    const { operation_id } = body;
    for (const by of [
      await service.loginAs({ carrier_id: 'c19', roles: ['carrier_administrator'] }),
      await system(['operator'], { carrier_scope: ['c19'] }),
    ]) {
      for (const [verb, path] of [
        ['GET', ''],
        ['POST', '/undo'],
        ['POST', '/cancel'],
      ] as const) {
        const answer = await service.send(verb, `/user/operation/${operation_id}${path}`, by);
        expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'operation.not_found']);
      }
      for (const query of ['count=exact', `operation_id=${operation_id}`, `actor_id=${admin.user_id}`])
        expect((await service.get(`/user/operation/list?${query}`, by)).body.items).toEqual([]);
    }
    // Control: a System User without scope can.
    const operator = await system(['operator']);
    expect((await service.get(`/user/operation/${operation_id}`, operator)).body.actor_id).toBe(admin.user_id);
    const undone = await undo(operation_id, operator);
    expect([undone.status, undone.body.changed]).toEqual([202, 3]);
  });

  it.each([
    ['PATCH', { locale: 'fr' }],
    ['DELETE', undefined],
  ])('applies 20 parallel %s requests with one key once, and replays the response (B22, F12)', async (method, body) => {
    const carrier = `keys-${method}`;
    await addManyUsers(service, 3, carrier);
    const headers = { 'idempotency-key': randomUUID() };
    const again = (query = `carrier_id=${carrier}`, other: unknown = body) =>
      send(method, query, other, admin, headers);
    const answers = await Promise.all(Array.from({ length: 20 }, () => again()));
    const first = answers.find(({ status }) => status === 200) as TestAnswer;
    expect(first.body).toMatchObject({ matched: 3, changed: 3 });
    for (const answer of answers)
      expect([first.text, 'idempotency.in_progress']).toContain(answer.status === 409 ? answer.body.code : answer.text);
    const operations = `select 1 from operations where request #>> '{filters,carrier_id}' = $1`;
    expect(await service.rows(operations, [carrier])).toHaveLength(1);
    expect((await again('carrier_id=c1')).body.code).toBe('idempotency.key_reused');
    if (method === 'PATCH') expect((await again(undefined, { locale: 'de' })).body.code).toBe('idempotency.key_reused');
    expect((await again(`carrier_id=${carrier}&dry_run=true`)).body.kind).toBe('preview');
    expect((await again()).text).toBe(first.text);
  });

  it('skips the caller in changes of the own rights (Z13)', async () => {
    const one = await system(['administrator']);
    const query = `user_id=${one.user_id}`;
    const before = await rowOf(one.user_id);
    for (const [method, body] of [
      ['PATCH', { status: 'disabled' }],
      ['PATCH', { roles: ['reader'] }],
      ['PATCH', { roles_add: ['reader'] }],
      ['PATCH', { roles_remove: ['administrator'] }],
      ['PATCH', { carrier_scope: ['c1'] }],
      ['DELETE', undefined],
    ] as const)
      expect((await send(method, query, body, one)).body).toMatchObject({
        changed: 0,
        skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
      });
    expect(await rowOf(one.user_id)).toEqual(before);
    const { operation_id } = (await send('PATCH', query, { roles: ['administrator', 'reader'] })).body;
    expect((await undo(operation_id, one)).body).toMatchObject({
      changed: 0,
      skipped: [{ user_id: one.user_id, reason: 'user.self_protected' }],
    });
    // Control: a change without permissions is allowed.
    const harmless = (await send('PATCH', query, { locale: 'fr' }, one)).body;
    expect((await undo(harmless.operation_id, one)).body).toMatchObject({ changed: 1 });
  });

  it('skips the caller if allowed_ips would lock the caller out (Z13)', async () => {
    const caller = await system(['operator']);
    const other = await service.createUser({ carrier_id: 'ips' });
    const query = `user_id_in=${caller.user_id},${other.user_id}`;
    const patch = async (allowed_ips: string[]) => (await send('PATCH', query, { allowed_ips }, caller)).body;
    const self = [{ user_id: caller.user_id, reason: 'user.self_protected' }];
    expect(await patch(['192.0.2.0/24'])).toMatchObject({ changed: 1, skipped: self });
    expect(await patch(['192.0.2.0/24', '127.0.0.0/8'])).toMatchObject({ changed: 2, skipped_count: 0 });
    expect((await service.get('/user', caller)).status).toBe(200);
    // Lifts the address limit, then undoes from an address that the limit excludes.
    const { operation_id, changed } = await patch([]);
    expect(changed).toBe(2);
    const from = { token: caller.token, ip: '198.51.100.7' };
    const undone = (await service.post(`/user/operation/${operation_id}/undo`, from)).body;
    expect(undone).toMatchObject({ changed: 1, skipped: self });
    expect((await service.get('/user', caller)).status).toBe(200);
  });

  it('keeps the last administrator in a change of all administrators, a deletion and an undo (Z14)', async () => {
    const deputy = await system(['deputy']);
    const next = await system(['reader']);
    const { operation_id } = (await send('PATCH', `user_id=${next.user_id}`, { roles: ['administrator'] }, deputy))
      .body;
    await service.rows(`update users set status = 'disabled' where roles && '{administrator}' and user_id <> $1`, [
      next.user_id,
    ]);
    const last = { changed: 0, skipped: [{ user_id: next.user_id, reason: 'user.last_administrator' }] };
    expect((await undo(operation_id, deputy)).body).toMatchObject(last);
    for (const [method, body] of [
      ['PATCH', { status: 'disabled' }],
      ['PATCH', { roles: [] }],
      ['PATCH', { carrier_scope: [] }],
      ['DELETE', undefined],
    ] as const)
      expect((await send(method, 'role=administrator&status=active', body, deputy)).body).toMatchObject(last);
    const kept = { status: 'active', roles: ['administrator'], deleted_at: null, carrier_scope: null };
    expect(await rowOf(next.user_id)).toMatchObject(kept);
    await service.rows(`update users set status = 'active' where roles && '{administrator}'`);
  });

  it('causes no 5xx and keeps an administrator in parallel bulk and single changes (B15, F26)', async () => {
    const administrators = [await system(['administrator']), await system(['administrator'])];
    const users: TestLogin[] = [];
    for (const carrier_id of ['odd', 'even', 'odd', 'even'])
      users.push(await service.loginAs({ carrier_id, roles: ['carrier_user'] }));
    const nth = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
    const filters = ['carrier_id=odd', 'carrier_id=even', 'carrier_id_in=odd,even', 'user_type=carrier'];
    const changes = [
      ...[{ status: 'disabled' }, { locale: 'de' }, { attributes: { a: '1' } }, { roles_add: ['carrier_user'] }],
      ...[{ status: 'active' }, { locale: 'fr' }, { attributes: { a: null } }, { roles: [] }, { allowed_ips: [] }],
    ];
    const demotions = [{ status: 'disabled' }, { roles_remove: ['administrator'] }, { locale: 'de' }];
    const requests: ((index: number, by: TestLogin) => Promise<TestAnswer>)[] = [
      (index, by) => send('PATCH', nth(filters, index), nth(changes, index), by),
      (index, by) => send('PATCH', nth(filters, index + 1), nth(changes, index + 4), by),
      (index, by) => send('PATCH', 'role=administrator', nth(demotions, index), by),
      (index, by) => send('DELETE', nth(filters.slice(0, 2), index), undefined, by),
      (index, { token }) =>
        service.patch(`/user/${nth(users, index).user_id}`, { token, body: nth(changes.slice(0, 2), index) }),
      (index, by) => service.delete(`/user/${nth(users, index).user_id}`, by),
      (index, by) => service.post(`/user/${nth(users, index).user_id}/restore`, by),
      (index, { token }) =>
        service.patch(`/user/${nth(administrators, index).user_id}`, { token, body: { status: 'disabled' } }),
      (index, by) => service.delete(`/auth/session/all?carrier_id=${nth(['odd', 'even'], index)}`, by),
      (index) => service.post('/auth/check-token', { body: { refresh_token: nth(users, index).refresh_token } }),
    ];
    const answers: TestAnswer[] = [];
    for (let round = 0; round < 4; round++) {
      // Restores the users who were disabled, demoted or logged out in the previous round.
      await service.rows(
        `update users set status = 'active', roles = '{administrator}', deleted_at = null where user_id = any($1)`,
        [administrators.map(({ user_id }) => user_id)],
      );
      await service.rows(`update users set status = 'active' where carrier_id in ('odd', 'even')`);
      await service.rows('update sessions set ended_at = null');
      const both = [...requests, ...requests];
      const sent = both.map((request, index) => request(index + round, nth(administrators, index + round)));
      answers.push(...(await Promise.all(sent)));
    }
    const results = answers.map(({ status, body }) => `${status} ${body?.code ?? ''}`);
    expect(results.filter((result) => result.startsWith('5'))).toEqual([]);
    expect(results.filter((result) => result.startsWith('2')).length).toBeGreaterThan(4);
    // Each version of a user has one event.
    const steps = await service.rows<{ version: number; events: number; twice: boolean }>(`
      select
        version, count(event_id)::integer as events,
        count(target_version) <> count(distinct target_version) or max(target_version) > version as twice
      from users
      left join events on target_id = user_id
        and event_type in ('user.changed', 'user.deleted', 'user.restored')
      where users.carrier_id in ('odd', 'even')
      group by user_id`);
    expect(steps.filter(({ version, events, twice }) => twice || events !== version - 1)).toEqual([]);
    expect(steps.some(({ version }) => version > 1)).toBe(true);
    const left = `
      select 1
      from users
      where roles && '{administrator}' and status = 'active' and deleted_at is null and carrier_scope is null`;
    expect((await service.rows(left)).length).toBeGreaterThan(0);
  });
});
