import { randomUUID } from 'node:crypto';
import { enrolApp } from '../support/logins/factors';
import { errorsIn, importRow, importRows } from '../support/data/imports';
import { createKey } from '../support/data/keys';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';

type Login = TestLogin & { name: string; email: string };

describe('the scope and the identity of a caller', () => {
  let service: TestService;
  let own: Login;
  let user: Login;
  let foreign: Login;
  let scoped: Login;
  let scopedToNone: Login;
  beforeAll(async () => {
    service = await TestService.start();
    own = await service.loginAs({ roles: ['carrier_administrator'] });
    user = await service.loginAs({ roles: ['carrier_user'] });
    const attributes = { carrier_id: 'c1', n: 1 };
    foreign = await service.loginAs({ carrier_id: 'c2', roles: ['carrier_user'], first_name: 'Ada', attributes });
    await service.createUser({ carrier_id: 'C1', roles: ['carrier_user'], first_name: 'Ada' });
    scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] });
    scopedToNone = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: [] });
  });
  afterAll(() => service.close());

  /** Returns an error response without the parts that differ between requests. */
  const refusal = ({ status, body }: TestAnswer) => ({ ...body, status, instance: undefined, request_id: undefined });
  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const patch = (by: Pick<TestLogin, 'token'>, url: string, body: object, headers: Record<string, string> = {}) =>
    service.patch(url, { token: by.token, body, headers });

  describe('with the id of a user of another carrier', () => {
    it('responds to every operation on a user as to a missing user, without effect (Z3)', async () => {
      const before = await rowOf(foreign.user_id);
      for (const { token } of [own, scoped, scopedToNone])
        for (const [method, suffix, body, headers] of [
          ['GET', '', undefined, {}],
          ['PATCH', '', { first_name: 'Eve' }, {}],
          ['PATCH', '', { email: 'eve@example.com' }, { 'if-match': '"1"' }],
          ['PATCH', '', {}, { 'if-match': '"999"' }],
          ['DELETE', '', undefined, {}],
          ['POST', '/restore', undefined, {}],
          ['POST', '/invite', undefined, {}],
        ] satisfies [string, string, object | undefined, Record<string, string>][]) {
          const ask = (id: string) => service.send(method, `/user/${id}${suffix}`, { token, body, headers });
          const there = await ask(foreign.user_id);
          expect([method, suffix, there.status]).toEqual([method, suffix, 404]);
          expect(refusal(there)).toEqual(refusal(await ask(randomUUID())));
        }
      expect(await rowOf(foreign.user_id)).toEqual(before);
    });

    it('ends no session by id or filter, and responds as for a missing session (Z3, Z4, S5)', async () => {
      const there = await service.delete(`/auth/session/${foreign.session_id}`, own);
      expect(there.status).toBe(404);
      expect(refusal(there)).toEqual(refusal(await service.delete(`/auth/session/${randomUUID()}`, own)));
      for (const filter of [
        ...[`session_id=${foreign.session_id}`, `user_id=${foreign.user_id}`],
        ...['carrier_id=c2', 'carrier_id_ne=c1', 'user_type=system'],
      ])
        expect([filter, (await service.delete(`/auth/session/all?${filter}`, own)).body.ended]).toEqual([filter, 0]);
      expect((await service.get('/user', foreign)).status).toBe(200);
    });

    it.each([
      ['PATCH', { attributes: { seen: true } }],
      ['DELETE', undefined],
    ])('limits %s of many users to the own carrier, and reports others as missing (Z4)', async (method, body) => {
      const victim = await service.createUser();
      const ask = (strangers: string[], query = '') =>
        service.send(method, `/user/all?user_id_in=${[victim.user_id, ...strangers].join()}${query}`, {
          token: own.token,
          body,
        });
      const before = await rowOf(foreign.user_id);
      const preview = await ask([foreign.user_id, service.admin.user_id], '&dry_run=true');
      const missing = await ask([randomUUID(), randomUUID()], '&dry_run=true');
      // Each preview has a different token and expiry.
      const different = { confirm_token: expect.any(String), expires_at: expect.any(String) };
      expect(preview.body).toEqual({ ...missing.body, ...different });
      expect((await ask([foreign.user_id], '&expected=2')).body.code).toBe('bulk.expected_mismatch');
      const answer = await ask([foreign.user_id, service.admin.user_id]);
      expect(answer.body).toMatchObject({ matched: 1, changed: 1, skipped_count: 0, skipped: [] });
      expect(await rowOf(foreign.user_id)).toEqual(before);
      expect((await service.get('/user', foreign)).status).toBe(200);
    });
  });

  it('shows no user or session of another carrier in lists and previews, with any filter (Z5)', async () => {
    const filters = `
      carrier_id=c2 carrier_id=C1 carrier_id_ne=c1 carrier_id_in=c1,c2 carrier_id_in=c2 carrier_id_isnull=true
      carrier_id_isnull=false user_type=system user_type_ne=carrier user_type_in=system,carrier status_ne=invited
      user_id=${foreign.user_id} user_id_ne=${own.user_id} user_id_in=${foreign.user_id},${service.admin.user_id}
      name=${foreign.name} name_ne=${own.name} name_like=${foreign.name.slice(0, 4)} email=${foreign.email} q=ada q=a
      role=administrator role_in=administrator,carrier_user attributes.carrier_id=c1 attributes.n=1 online=true
      online_ne=false created_at_gt=2000-01-01T00:00:00Z last_login_at_isnull=false last_login_ip=0.0.0.0/0
      carrier_id_ne=zz carrier_id=c1&carrier_id=c2 carrier_id[]=c1&carrier_id[]=c2 carrier_id[$ne]=c1 carrier_id!=c1
      carrier_id[not]=c1 or[carrier_id]=c2 $or=carrier_id.eq.c2 filter=carrier_id:c2 where={"carrier_id":"c2"}
      not=carrier_id carrier_id= carrier_id=null carrier_id=* carrier_id=%25 carrier_id_like=%25%25%25
      carrier_id=c1'or'1'='1 carrier.id=c2 scope=all carrier_scope=null carrier_scope_isnull=true as=administrator
      user.carrier_id=c2 everyone=true`;
    type Item = { carrier_id: string | null; user_id: string };
    const strangersIn = (items: Item[] = [], login: Login = own) =>
      items.filter(
        ({ carrier_id, user_id }) => carrier_id !== 'c1' && !(login === scoped && user_id === login.user_id),
      );
    let foundByAdministrator = 0;
    for (const filter of filters.trim().split(/\s+/)) {
      for (const [path, login] of [
        ['/user/list', own],
        ['/user/list', scoped],
        ['/auth/session/list', scoped],
      ] as const) {
        const { status, body } = await service.get(`${path}?${filter}&per_page=500`, login);
        expect([filter, status === 200 || status === 400]).toEqual([filter, true]);
        expect([filter, strangersIn(body.items, login)]).toEqual([filter, []]);
      }
      const preview = await service.delete(`/user/all?${filter}&dry_run=true`, own);
      expect([filter, strangersIn(preview.body.sample)]).toEqual([filter, []]);
      const all = await service.get(`/user/list?${filter}&per_page=500`, service.admin);
      foundByAdministrator += strangersIn(all.body.items).length > 0 ? 1 : 0;
    }
    // Control: without the scope, the same filters match other users.
    expect(foundByAdministrator).toBeGreaterThan(20);
  });

  it('counts only users of the own carrier in totals, estimated or exact (B19)', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status)
      select gen_random_uuid(), 'carrier', 'crowd' || n, 'crowd' || n || '@example.com', 'c9', 'active'
      from generate_series(1, 10050) n`);
    await service.rows('analyze users');
    const [{ count } = { count: 0 }] = await service.rows<{ count: number }>(
      `select count(*)::int as count from users where carrier_id = 'c1' and deleted_at is null`,
    );
    for (const mode of ['estimated', 'exact']) {
      const total = async (by: TestLogin, filter = '') =>
        (await service.get(`/user/list?count=${mode}${filter}`, by)).body.total;
      expect(await total(own)).toEqual({ value: count, relation: 'eq' });
      expect(await total(own, '&carrier_id=c9')).toEqual({ value: 0, relation: 'eq' });
      expect(await total(scoped)).toEqual({ value: count + 1, relation: 'eq' });
      expect(await total(scopedToNone)).toEqual({ value: 1, relation: 'eq' });
      expect((await service.get(`/auth/session/list?count=${mode}&carrier_id_ne=c1`, own)).body.total.value).toBe(0);
    }
    const all = await service.get('/user/list?count=exact&carrier_id=c9', service.admin);
    expect(all.body.total.value).toBe(10_050);
  });

  it('is taken only from the token, not from headers, bodies or queries (Z9)', async () => {
    const { user_id } = service.admin;
    const ids = 'x-user-id x-userid x-remote-user x-forwarded-user x-authenticated-userid x-original-user remote-user';
    const headers = {
      ...Object.fromEntries([...ids.split(' '), 'from'].map((name) => [name, user_id])),
      ...{ 'x-role': 'administrator', 'x-roles': 'administrator', 'x-permissions': '*', 'x-carrier-id': 'c2' },
      ...{ 'x-user-type': 'system', 'x-admin': 'true', 'x-original-url': '/health/live' },
      ...{ 'x-rewrite-url': '/health/live', cookie: `user_id=${user_id}; role=administrator; token=x` },
    };
    const { token } = user;
    expect((await service.get('/user', { token, headers })).body.user_id).toBe(user.user_id);
    expect((await service.get('/user', { headers })).body.code).toBe('auth.token_missing');
    expect((await service.delete(`/user/${foreign.user_id}`, { token, headers })).body.code).toBe('access.denied');
    const { items } = (await service.get('/user/list', { token: own.token, headers })).body;
    expect(new Set(items.map(({ carrier_id }: { carrier_id: string }) => carrier_id))).toEqual(new Set(['c1']));
    for (const field of ['user_id', 'userId', 'actor_id', 'carrier_id', 'user_type']) {
      const body = { first_name: 'Eve', [field]: user_id };
      const answer = await patch(user, `/user/${user.user_id}`, body, headers);
      expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
    }
    expect((await service.get(`/user?user_id=${user_id}`, { token })).status).toBe(400);
  });

  describe('with a user type and a carrier that contradict each other', () => {
    it('creates no user (Z12)', async () => {
      for (const fields of [
        { user_type: 'system', carrier_id: 'c1' },
        ...[undefined, null, '', ['c1', 'c2']].map((carrier_id) => ({ user_type: 'carrier', carrier_id })),
        { user_type: 'carrier', carrier_id: 'c1', carrier_scope: ['c1'] },
        { user_type: 'root', carrier_id: 'c1' },
        { user_type: 'carrier', carrier_id: 'c1', roles: ['auditor'] },
        { user_type: 'system', roles: ['carrier_user'] },
      ]) {
        const body = { name: 'contradiction', email: 'contradiction@example.com', ...fields };
        const answer = await service.post('/user/create', { token: service.admin.token, body });
        expect([fields, answer.status, answer.body.code]).toEqual([fields, 400, 'request.invalid']);
      }
      expect(await service.rows(`select 1 from users where name = 'contradiction'`)).toEqual([]);
    });

    it('moves no user to another carrier or type, not even for an administrator (Z12)', async () => {
      const before = await rowOf(user.user_id);
      for (const body of [
        ...[{ carrier_id: 'c2' }, { carrier_id: null }, { user_type: 'system' }],
        ...[{ carrier_scope: ['c1'] }, { roles: ['auditor'] }],
      ]) {
        expect([body, (await patch(service.admin, `/user/${user.user_id}`, body)).status]).toEqual([body, 400]);
        const bulk = await patch(service.admin, `/user/all?user_id=${user.user_id}`, body);
        expect([body, bulk.body.changed ?? 0]).toEqual([body, 0]);
      }
      expect(await rowOf(user.user_id)).toEqual(before);
    });

    it('is rejected by the database itself (Z12)', async () => {
      for (const change of [
        `carrier_id = 'c1' where user_type = 'system'`,
        `carrier_id = null where user_type = 'carrier'`,
        `carrier_scope = '{c1}' where user_type = 'carrier'`,
        `user_type = 'system' where user_type = 'carrier'`,
      ])
        await expect(service.rows(`update users set ${change}`)).rejects.toMatchObject({
          constraint: 'users_carrier_check',
        });
    });
  });

  describe('for callers without user:read', () => {
    let reader: TestLogin;
    let writer: TestLogin;
    beforeAll(async () => {
      await service.rows(`insert into roles (name, user_types, permissions) values
        ('writer', '{system}', '{user:update,user:delete}'),
        ('reader', '{system}', '{user:update,user:delete,user:read}')`);
      reader = await service.loginAs({ user_type: 'system', roles: ['reader'] });
      writer = await service.loginAs({ user_type: 'system', roles: ['writer'] });
    });

    it('shows only ids in the sample of a dry run (Z33)', async () => {
      const fields = { first_name: 'Unmistakable', attributes: { tier: 'x' } };
      const { user_id, name, email } = await service.createUser(fields);
      const { key } = await createKey(service, ['user:update', 'user:delete']);
      const url = `/user/all?user_id=${user_id}&dry_run=true`;
      const tokyo = { timezone: 'Asia/Tokyo' };
      for (const token of [writer.token, key])
        for (const { status, body, text } of [
          await patch({ token }, url, tokyo),
          await service.delete(url, { token }),
        ]) {
          expect([status, body.would_change, body.sample]).toEqual([200, 1, [{ user_id }]]);
          for (const value of [name, email, 'Unmistakable', 'tier']) expect(text).not.toContain(value);
        }
      const { body } = await patch(reader, url, tokyo);
      expect(body.sample).toMatchObject([{ user_id, name, email, first_name: 'Unmistakable' }]);
    });

    it('rejects a change without effect of another user, which would only show the user (Z33)', async () => {
      const { user_id } = await service.createUser();
      const missing = await patch(writer, `/user/${randomUUID()}`, {});
      expect([missing.status, missing.body.code]).toEqual([403, 'access.denied']);
      for (const nothing of [{}, { attributes: {} }, { locale: null }, { status: 'active' }]) {
        const { status, body } = await patch(writer, `/user/${user_id}`, nothing);
        expect([nothing, status, body.code]).toEqual([nothing, 403, 'access.denied']);
      }
      expect((await patch(reader, `/user/${user_id}`, {})).status).toBe(200);
      expect((await patch(writer, `/user/${writer.user_id}`, {})).status).toBe(200);
      expect((await patch(writer, `/user/${user_id}`, { first_name: 'Ada' })).body.first_name).toBe('Ada');
    });
  });

  it('do not depend on the case of an id when users reset own factors or lockouts (L5, M3, M11, Z22)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await enrolApp(service, operator);
    const path = `/user/${operator.user_id.toUpperCase()}`;
    for (const { status, body } of [
      await service.delete(`${path}/factor/all`, operator),
      await service.post(`${path}/unlock`, operator),
    ])
      expect([status, body?.code]).toEqual([403, 'user.self_protected']);
    expect((await service.get('/user', operator)).body.second_factors).toEqual(['totp']);
    // Control: another user unlocks.
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [
      operator.user_id,
    ]);
    expect((await service.post(`${path}/unlock`, service.admin)).status).toBe(204);
    expect((await rowOf(operator.user_id))?.['locked_until']).toBeNull();
  });

  describe('with an id that a user and an API key share', () => {
    beforeAll(() =>
      service.rows(`insert into roles (name, user_types, permissions) values
        ('importer', '{system}', '{user:read,user:create,user:update,user:import}'),
        ('carrier_importer', '{carrier}', '{user:read,user:create,user:update,user:import}')`),
    );

    /** Returns a user, and an API key with the id of the user. */
    async function twins(fields: Record<string, unknown>, permissions: string[], scope: Record<string, unknown> = {}) {
      const person = await service.loginAs(fields);
      const { key_id, key } = await createKey(service, permissions, scope);
      await service.rows('update keys set key_id = $1 where key_id = $2', [person.user_id, key_id]);
      return { person, key: { token: key } };
    }

    it('imports no user with the id of an API key or a purged user, or of a revoked key (Z24)', async () => {
      const [{ key_id }, revoked] = [await createKey(service, ['*']), await createKey(service, ['*'])];
      await service.delete(`/auth/key/${revoked.key_id}`, service.admin);
      const [purged, erased] = [await service.createUser(), await service.createUser()];
      expect((await service.delete(`/user/${purged.user_id}?purge=true`, service.admin)).status).toBe(204);
      // An instance of an older version purges like this.
      await service.rows('delete from users where user_id = $1', [erased.user_id]);
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      for (const user_id of [key_id, key_id.toUpperCase(), revoked.key_id, purged.user_id, erased.user_id])
        for (const query of ['dry_run=true', '', 'on_conflict=skip']) {
          const { status, body } = await importRows(service, [importRow('twin', { user_id })], operator, query);
          expect([user_id, query, status, body.changed ?? body.would_create]).toEqual([user_id, query, 200, 0]);
          if (query !== 'on_conflict=skip')
            expect(errorsIn(body)).toMatchObject([{ pointer: '/user_id', code: 'field.not_allowed' }]);
        }
      expect(await service.rows(`select 1 from users where name = 'twin'`)).toEqual([]);
    });

    it('gives a deleted sender of an import no permissions of the key (Z24)', async () => {
      const { person } = await twins({ user_type: 'system', roles: ['importer'] }, ['*']);
      const rows = Array.from({ length: 1_100 }, (_, n) =>
        JSON.stringify(importRow(`gain${n}`, { user_type: 'system', carrier_id: undefined, roles: ['administrator'] })),
      );
      const upload = await RawConnection.open(service.port);
      const head = requestHead('POST', '/user/import', {
        ...{ authorization: `Bearer ${person.token}`, 'content-type': 'application/x-ndjson' },
        ...{ 'transfer-encoding': 'chunked', connection: 'close' },
      });
      await upload.send(head + chunk(`${rows.slice(0, 1_050).join('\n')}\n`));
      const operations = () =>
        service.rows('select status, error_code, finished_at from operations where actor_id = $1', [person.user_id]);
      await service.until(async () => (await operations())[0]?.['status'] === 'receiving');
      await service.delete(`/user/${person.user_id}`, service.admin);
      await upload.send(`${chunk(rows.slice(1_050).join('\n'))}0\r\n\r\n`);
      await service.until(async () => (await operations())[0]?.['finished_at'] !== null);
      upload.socket.destroy();
      expect(await operations()).toMatchObject([{ error_code: 'access.denied' }]);
      expect(await service.rows(`select 1 from users where name like 'gain%'`)).toEqual([]);
    });

    it('shows operations, responses, cursors and previews of the key only to the key (Z24)', async () => {
      const permissions = ['user:read', 'user:create', 'user:update', 'user:import'];
      const { person, key } = await twins({ roles: ['carrier_importer'], carrier_id: 'c9' }, permissions);
      const target = await service.createUser({ user_type: 'system' });
      const change = ({ token }: { token: string }, query: string, body: object) =>
        service.patch(`/user/all?${query}`, { token, body });
      const done = (await change(key, `user_id=${target.user_id}`, { timezone: 'Europe/Oslo' })).body;
      const create = ({ token }: { token: string }) => {
        const body = { user_type: 'system', name: 'kept-answer', email: 'kept-answer@example.com' };
        return service.post('/user/create', { token, body, headers: { 'idempotency-key': 'shared' } });
      };
      expect((await create(key)).status).toBe(201);
      const list = '/user/list?per_page=1&user_type=carrier&count=none';
      await service.createUser();
      const { next_cursor } = (await service.get(list, key)).body;
      const preview = (await change(key, 'user_type=carrier&dry_run=true', { locale: 'de' })).body;

      const path = `/user/operation/${done.operation_id}`;
      expect((await service.get(path, person)).status).toBe(404);
      expect((await service.get('/user/operation/list', person)).body.items).toEqual([]);
      const again = await create(person);
      expect(again.status).toBeGreaterThanOrEqual(400);
      expect(again.text).not.toContain('kept-answer');
      expect((await service.post(`${path}/undo`, person)).status).toBe(404);
      const page = await service.get(`${list}&cursor=${encodeURIComponent(next_cursor as string)}`, person);
      expect(page.body.code).toBe('page.cursor_invalid');
      const confirm = `user_type=carrier&confirm_token=${encodeURIComponent(preview.confirm_token as string)}`;
      expect((await change(person, confirm, { locale: 'de' })).body.code).toBe('request.invalid');
      expect((await service.get(path, key)).body.undone_by).toBeNull();
      expect((await service.post(`${path}/undo`, key)).body.changed).toBe(1);
    });

    it('gives a stored response only to callers who still have the scope of the first request (Z24)', async () => {
      const clerk = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const body = importRow('scoped-answer', { carrier_id: 'c5' });
      const create = () =>
        service.post('/user/create', { token: clerk.token, body, headers: { 'idempotency-key': 'scoped' } });
      for (let time = 0; time < 2; time++) expect((await create()).status).toBe(201);
      await service.patch(`/user/${clerk.user_id}`, { ...service.admin, body: { carrier_scope: ['c6'] } });
      const narrowed = await create();
      expect([narrowed.status, narrowed.body.code]).toEqual([422, 'idempotency.key_reused']);
      expect(narrowed.text).not.toContain('scoped-answer');
    });

    it('stores the type of the actor even if an instance of an older version sends none (Z24)', async () => {
      const { key_id } = await createKey(service, ['user:read']);
      for (const [actor_id, session_id, actor_type] of [
        [key_id, null, 'key'],
        [key_id, service.admin.session_id, 'user'],
        [service.admin.user_id, null, 'user'],
      ]) {
        const operation = `
          insert into operations (operation_id, kind, permission, status, actor_id, session_id, request, finished_at)
          values (uuid_v7(), 'change', 'user:update', 'done', $1, $2, '{}', now())
          returning actor_type`;
        expect(await service.rows(operation, [actor_id, session_id])).toEqual([{ actor_type }]);
        if (session_id !== null) continue;
        const claim = `
          insert into idempotency_keys (user_id, method, path, key_hash, claim_id, claimed_until)
          values ($1, 'POST', '/x', 'x', uuid_v7(), now())
          returning actor_type`;
        expect(await service.rows(claim, [actor_id])).toEqual([{ actor_type }]);
      }
    });

    it('erases no audit of an operation when a user who has its id is purged (Z24)', async () => {
      const { user_id } = await service.createUser();
      const changed = await service.patch(`/user/all?user_id=${user_id}`, { ...service.admin, body: { locale: 'de' } });
      const { operation_id } = changed.body;
      await importRows(service, [importRow('shadow', { user_id: operation_id })], service.admin);
      expect((await service.delete(`/user/${operation_id}?purge=true`, service.admin)).status).toBe(204);
      const audit = `
        select changes <> '{}' as kept
        from events
        where event_type = 'operation.accepted' and target_id = $1`;
      expect(await service.rows(audit, [operation_id])).toEqual([{ kept: true }]);
    });
  });
});
