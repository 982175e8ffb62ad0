import { randomUUID } from 'node:crypto';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

type Login = TestLogin & { name: string; email: string };

describe('one carrier against another', () => {
  let service: TestService;
  let own: Login;
  let user: Login;
  let foreign: Login;
  let scoped: Login;
  let scopedToNone: Login;
  beforeAll(async () => {
    service = await TestService.start();
    own = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
    user = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_user'] });
    foreign = await service.loginAs({
      carrier_id: 'c2',
      roles: ['carrier_user'],
      first_name: 'Ada',
      attributes: { carrier_id: 'c1', n: 1 },
    });
    await service.createUser({ carrier_id: 'C1', roles: ['carrier_user'], first_name: 'Ada' });
    scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] });
    scopedToNone = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: [] });
  });
  afterAll(() => service.close());

  /** Returns an error response without the parts that differ between requests. */
  const refusal = ({ status, body }: TestAnswer) => ({ ...body, status, instance: undefined, request_id: undefined });
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

  describe('with the id of a user of another carrier', () => {
    it.each([
      ['GET', '/user/:id', undefined],
      ['PATCH', '/user/:id', { first_name: 'Eve' }],
      ['PATCH', '/user/:id', { email: 'eve@example.com' }],
      ['DELETE', '/user/:id', undefined],
      ['POST', '/user/:id/restore', undefined],
      ['POST', '/user/:id/invite', undefined],
    ])('responds to %s %s as to a missing user, without effect (Z3)', async (method, path, body) => {
      for (const { token } of [own, scoped, scopedToNone]) {
        const before = await rowOf(foreign.user_id);
        const there = await service.send(method, path.replace(':id', foreign.user_id), { token, body });
        const nowhere = await service.send(method, path.replace(':id', randomUUID()), { token, body });
        expect(there.status).toBe(404);
        expect(refusal(there)).toEqual(refusal(nowhere));
        expect(await rowOf(foreign.user_id)).toEqual(before);
      }
    });

    it('responds as to a missing session, and leaves the session alive (Z3, S5)', async () => {
      for (const { token } of [own, user, scoped]) {
        const there = await service.delete(`/auth/session/${foreign.session_id}`, { token });
        expect(there.status).toBe(404);
        expect(refusal(there)).toEqual(refusal(await service.delete(`/auth/session/${randomUUID()}`, { token })));
      }
      expect((await service.get('/user', foreign)).status).toBe(200);
    });

    it('reveals nothing about the version by If-Match (Z3)', async () => {
      for (const version of ['"1"', '"999"', '*']) {
        const there = await service.patch(`/user/${foreign.user_id}`, {
          token: own.token,
          body: {},
          headers: { 'if-match': version },
        });
        expect([there.status, there.body.code]).toEqual([404, 'user.not_found']);
      }
    });

    it('takes as long as with an id that does not exist (Z3)', async () => {
      const [there, nowhere]: [number[], number[]] = [[], []];
      for (let round = 0; round < 60; round++) {
        for (const [times, id] of [[there, foreign.user_id] as const, [nowhere, randomUUID()] as const]) {
          const began = performance.now();
          await service.get(`/user/${id}`, own);
          times.push(performance.now() - began);
        }
      }
      const later =
        there.flatMap((time) => nowhere.filter((other) => time > other)).length / there.length / nowhere.length;
      expect(Math.abs(later - 0.5)).toBeLessThan(0.25);
      expect(median(there)).toBeLessThan(median(nowhere) * 2);
    });
  });

  describe('with ids of another carrier in a bulk change', () => {
    it.each([
      ['PATCH', { attributes: { seen: true } }],
      ['DELETE', undefined],
    ])('%s changes own users only, and reports the others like missing ids (Z4)', async (method, body) => {
      const victim = await service.createUser({ carrier_id: 'c1' });
      const ask = (strangers: string[], query = '') =>
        service.send(method, `/user/all?user_id_in=${[victim.user_id, ...strangers].join()}${query}`, {
          token: own.token,
          body,
        });
      const before = await rowOf(foreign.user_id);
      const preview = await ask([foreign.user_id, service.admin.user_id], '&dry_run=true');
      const missing = await ask([randomUUID(), randomUUID()], '&dry_run=true');
      // Each preview has a different token and expiry.
      const own_to_each = { confirm_token: expect.any(String), expires_at: expect.any(String) };
      expect(preview.body).toEqual({ ...missing.body, ...own_to_each });
      expect((await ask([foreign.user_id], '&expected=2')).body.code).toBe('bulk.expected_mismatch');
      const answer = await ask([foreign.user_id, service.admin.user_id]);
      expect(answer.body).toMatchObject({ matched: 1, changed: 1, skipped_count: 0, skipped: [] });
      expect(await rowOf(foreign.user_id)).toEqual(before);
      expect((await service.get('/user', foreign)).status).toBe(200);
    });

    it('ends no sessions of another carrier by a filter (Z4)', async () => {
      const { session_id, user_id } = foreign;
      for (const filter of [
        `session_id=${session_id}`,
        `user_id=${user_id}`,
        'carrier_id=c2',
        'carrier_id_ne=c1',
        'user_type=system',
      ]) {
        const answer = await service.delete(`/auth/session/all?${filter}`, own);
        expect([filter, answer.body.ended]).toEqual([filter, 0]);
      }
    });
  });

  it('takes the identity only from the token, not from headers or bodies (Z9)', async () => {
    const { user_id } = service.admin;
    const names = [
      'x-user-id',
      'x-userid',
      'x-remote-user',
      'x-forwarded-user',
      'x-authenticated-userid',
      'x-original-user',
      'remote-user',
      'from',
    ];
    const headers = {
      ...Object.fromEntries(names.map((name) => [name, user_id])),
      ...{
        'x-role': 'administrator',
        'x-roles': 'administrator',
        'x-permissions': '*',
        'x-carrier-id': 'c2',
        'x-user-type': 'system',
        'x-admin': 'true',
      },
      ...{
        'x-original-url': '/health/live',
        'x-rewrite-url': '/health/live',
        cookie: `user_id=${user_id}; role=administrator; token=x`,
      },
    };
    const { token } = user;
    expect((await service.get('/user', { token, headers })).body.user_id).toBe(user.user_id);
    expect((await service.get('/user', { headers })).body.code).toBe('auth.token_missing');
    expect((await service.delete(`/user/${foreign.user_id}`, { token, headers })).body.code).toBe('access.denied');
    expect(
      (await service.get('/user/list', { token: own.token, headers })).body.items.every(
        (item: Login & { carrier_id: string }) => item.carrier_id === 'c1',
      ),
    ).toBe(true);
    for (const field of ['user_id', 'userId', 'actor_id', 'carrier_id', 'user_type']) {
      const answer = await service.patch(`/user/${user.user_id}`, {
        token,
        body: { first_name: 'Eve', [field]: user_id },
        headers,
      });
      expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
    }
    expect((await service.get(`/user?user_id=${user_id}`, { token })).status).toBe(400);
  });

  describe('with a user type and a carrier that contradict each other', () => {
    it.each([
      ['a System User of a carrier', { user_type: 'system', carrier_id: 'c1' }],
      ['a Carrier User without a carrier', { user_type: 'carrier', carrier_id: undefined }],
      ['a Carrier User whose carrier is null', { user_type: 'carrier', carrier_id: null }],
      ['a Carrier User whose carrier is empty', { user_type: 'carrier', carrier_id: '' }],
      ['a Carrier User of two carriers', { user_type: 'carrier', carrier_id: ['c1', 'c2'] }],
      ['a Carrier User with a scope', { user_type: 'carrier', carrier_id: 'c1', carrier_scope: ['c1'] }],
      ['a kind that does not exist', { user_type: 'root', carrier_id: 'c1' }],
      ['a Carrier User with the role of a System User', { user_type: 'carrier', carrier_id: 'c1', roles: ['auditor'] }],
      ['a System User with the role of a Carrier User', { user_type: 'system', roles: ['carrier_user'] }],
    ])('creates no %s (Z12)', async (_title, fields) => {
      const name = `z12-${randomUUID().slice(0, 8)}`;
      const answer = await service.post('/user/create', {
        token: service.admin.token,
        body: { name, email: `${name}@example.com`, ...fields },
      });
      expect([answer.status, answer.body.code]).toEqual([400, 'request.invalid']);
      expect(await service.rows('select 1 from users where name = $1', [name])).toEqual([]);
    });

    it('moves no user to another carrier or type, not even for an administrator (Z12)', async () => {
      for (const body of [
        { carrier_id: 'c2' },
        { carrier_id: null },
        { user_type: 'system' },
        { carrier_scope: ['c1'] },
        { roles: ['auditor'] },
      ]) {
        const before = await rowOf(user.user_id);
        expect([
          body,
          (await service.patch(`/user/${user.user_id}`, { token: service.admin.token, body })).status,
        ]).toEqual([body, 400]);
        const bulk = await service.patch(`/user/all?user_id=${user.user_id}`, { token: service.admin.token, body });
        expect([body, bulk.body.changed ?? 0]).toEqual([body, 0]);
        expect(await rowOf(user.user_id)).toEqual(before);
      }
    });

    it.each([
      [`update users set carrier_id = 'c1' where user_type = 'system'`],
      [`update users set carrier_id = null where user_type = 'carrier'`],
      [`update users set carrier_scope = '{c1}' where user_type = 'carrier'`],
      [`update users set user_type = 'system' where user_type = 'carrier'`],
    ])('rejects in the database itself: %s (Z12)', async (statement) => {
      await expect(service.rows(statement)).rejects.toMatchObject({ constraint: 'users_carrier_check' });
    });
  });

  it('counts only users of the own carrier in totals (B19)', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status)
      select gen_random_uuid(), 'carrier', 'crowd' || n, 'crowd' || n || '@example.com', 'c9', 'active'
      from generate_series(1, 10050) n`);
    await service.rows('analyze users');
    const [{ count } = { count: 0 }] = await service.rows<{ count: number }>(
      `select count(*)::int as count from users where carrier_id = 'c1' and deleted_at is null`,
    );
    for (const mode of ['estimated', 'exact']) {
      expect((await service.get(`/user/list?count=${mode}`, own)).body.total).toEqual({ value: count, relation: 'eq' });
      expect((await service.get(`/user/list?count=${mode}&carrier_id=c9`, own)).body.total).toEqual({
        value: 0,
        relation: 'eq',
      });
      expect((await service.get(`/user/list?count=${mode}`, scoped)).body.total).toEqual({
        value: count + 1,
        relation: 'eq',
      });
      expect((await service.get(`/user/list?count=${mode}`, scopedToNone)).body.total).toEqual({
        value: 1,
        relation: 'eq',
      });
      expect((await service.get(`/auth/session/list?count=${mode}&carrier_id_ne=c1`, own)).body.total.value).toBe(0);
    }
    expect((await service.delete('/user/all?everyone=true&dry_run=true', own)).body.matched).toBe(count);
    const mismatch = await service.delete('/user/all?carrier_id_ne=zz&expected=10050', own);
    expect([mismatch.body.code, mismatch.body.detail]).toEqual([
      'bulk.expected_mismatch',
      expect.stringContaining(` ${count} `),
    ]);
    expect((await service.get('/user/list?count=exact&carrier_id=c9', service.admin)).body.total.value).toBe(10_050);
  });
});
