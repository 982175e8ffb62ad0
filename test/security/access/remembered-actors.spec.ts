import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { errorsIn } from '../../support/imports';
import { createKey } from '../../support/keys';
import { until } from '../../support/until';
import { type TestLogin, TestService } from '../../support/service';

describe('operations and responses that are stored for an actor', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('importer', '{system}', '{user:read,user:create,user:update,user:import}'),
      ('carrier_importer', '{carrier}', '{user:read,user:create,user:update,user:import}')`);
  });
  afterAll(() => service.close());

  const importRows = (by: { token: string }, rows: object[], query = '') =>
    service.post(`/user/import${query}`, {
      token: by.token,
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  /** Inserts an active user with the id of an API key, without any check, and logs them in. */
  async function plantUser(
    user_id: string,
    name: string,
    roles: string[],
    carrier_id: string | null = null,
  ): Promise<TestLogin> {
    await service.rows(
      `
        insert into users (user_id, user_type, name, email, carrier_id, roles, status, password_changed_at)
        values (
          $1, case when $4::text is null then 'system' else 'carrier' end, $2, $2 || '@example.com', $4, $3,
          'active', now()
        )`,
      [user_id, name, roles, carrier_id],
    );
    await service.rows(
      'insert into credentials (user_id, password_hash) select $1, password_hash from credentials where user_id = $2',
      [user_id, admin.user_id],
    );
    return service.login(name);
  }
  async function startUpload(token: string, first: string): Promise<ClientRequest> {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/x-ndjson',
      'transfer-encoding': 'chunked',
    };
    const upload = request({ port: service.port, host: '127.0.0.1', method: 'POST', path: '/user/import', headers });
    upload.write(first);
    await until(async () => (await service.rows(`select 1 from operations where status = 'receiving'`)).length > 0);
    return upload;
  }

  it('rejects the import of a user under the id of an API key (Z24)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const { key_id } = await createKey(service, ['*']);
    const row = { user_id: key_id, user_type: 'system', name: 'key-twin', email: 'key-twin@example.com', roles: [] };
    for (const query of ['?dry_run=true', '', '?on_conflict=skip']) {
      const { status, body } = await importRows(operator, [row], query);
      expect([status, body.changed ?? body.would_create]).toEqual([200, 0]);
    }
    const { body } = await importRows(operator, [{ ...row, user_id: key_id.toUpperCase() }]);
    expect(errorsIn(body)).toMatchObject([{ pointer: '/user_id', code: 'field.not_allowed' }]);
    expect(await service.rows('select 1 from users where user_id = $1', [key_id])).toEqual([]);
  });

  it('rejects the import of a user under the id of a revoked API key (Z24)', async () => {
    const { key_id } = await createKey(service, ['*']);
    await service.delete(`/auth/key/${key_id}`, admin);
    const { body } = await importRows(admin, [
      { user_id: key_id, user_type: 'system', name: 'old-key', email: 'old-key@example.com' },
    ]);
    expect([body.changed, errorsIn(body)]).toMatchObject([0, [{ pointer: '/user_id' }]]);
  });

  it('rejects the import of a user under the id of a purged user (Z24)', async () => {
    const { user_id } = await service.createUser();
    expect((await service.delete(`/user/${user_id}?purge=true`, admin)).status).toBe(204);
    const { body } = await importRows(admin, [
      { user_id, user_type: 'system', name: 'revenant', email: 'revenant@example.com' },
    ]);
    expect([body.changed, errorsIn(body)]).toMatchObject([0, [{ pointer: '/user_id', code: 'field.not_allowed' }]]);
  });

  it('checks the rest of an import as the deleted sender, not as the API key with the same id (Z24)', async () => {
    const { key_id } = await createKey(service, ['*']);
    const twin = await plantUser(key_id, 'importing-twin', ['importer']);
    const row = (index: number) =>
      JSON.stringify({
        user_type: 'system',
        name: `gain${index}`,
        email: `gain${index}@example.com`,
        roles: ['administrator'],
      });
    const rows = Array.from({ length: 1_100 }, (_, index) => row(index));
    const sent = await startUpload(twin.token, `${rows.slice(0, 1_050).join('\n')}\n`);
    await service.delete(`/user/${key_id}`, admin);
    sent.end(rows.slice(1_050).join('\n'));
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    await until(async () => (await service.rows(`select 1 from operations where finished_at is null`)).length === 0);
    expect(
      await service.rows(`select name from users where 'administrator' = any(roles) and name like 'gain%'`),
    ).toEqual([]);
    expect(
      await service.rows(`select error_code from operations where kind = 'import' order by operation_id desc limit 1`),
    ).toEqual([{ error_code: 'access.denied' }]);
  });

  it('hides operations, stored responses and cursors of an API key from the user with the same id (Z24)', async () => {
    const { key_id, key } = await createKey(service, ['user:read', 'user:create', 'user:update', 'user:import']);
    const target = await service.createUser({ user_type: 'system' });
    const done = await service.patch(`/user/all?user_id=${target.user_id}`, {
      token: key,
      body: { timezone: 'Europe/Oslo' },
    });
    const body = { user_type: 'system', name: 'kept-answer', email: 'kept-answer@example.com' };
    const create = (token: string) =>
      service.post('/user/create', { token, body, headers: { 'idempotency-key': 'shared' } });
    expect((await create(key)).status).toBe(201);
    const { next_cursor } = (await service.get('/user/list?per_page=1&user_type=carrier&count=none', { token: key }))
      .body;
    const preview = await service.patch('/user/all?user_type=carrier&dry_run=true', {
      token: key,
      body: { locale: 'de' },
    });

    const twin = await plantUser(key_id, 'reading-twin', ['carrier_importer'], 'c9');
    expect((await service.get(`/user/operation/${done.body.operation_id}`, twin)).status).toBe(404);
    expect((await service.get('/user/operation/list', twin)).body.items).toEqual([]);
    const again = await create(twin.token);
    expect(again.status).toBeGreaterThanOrEqual(400);
    expect(again.text).not.toContain('kept-answer');
    expect((await service.post(`/user/operation/${done.body.operation_id}/undo`, twin)).status).toBe(404);
    const cursor = encodeURIComponent(String(next_cursor));
    const page = await service.get(`/user/list?per_page=1&user_type=carrier&count=none&cursor=${cursor}`, twin);
    expect(page.body.code).toBe('page.cursor_invalid');
    const confirm = encodeURIComponent(String(preview.body.confirm_token));
    const confirmed = await service.patch(`/user/all?user_type=carrier&confirm_token=${confirm}`, {
      ...twin,
      body: { locale: 'de' },
    });
    expect(confirmed.body.code).toBe('request.invalid');
    expect((await service.get(`/user/operation/${done.body.operation_id}`, { token: key })).body.undone_by).toBeNull();
    expect((await service.post(`/user/operation/${done.body.operation_id}/undo`, { token: key })).body.changed).toBe(1);
  });

  it('never treats an API key as the user with the same id (Z24)', async () => {
    const { key_id, key } = await createKey(service, ['user:read', 'user:update', 'session:read'], {
      carrier_scope: ['c8'],
    });
    await plantUser(key_id, 'own-twin', ['administrator']);
    for (const path of [`/user/${key_id}`, `/auth/session/list?user_id=${key_id}`, `/user/list?user_id=${key_id}`]) {
      const { status, body } = await service.get(path, { token: key });
      expect([path, status === 404 ? [] : body.items]).toEqual([path, []]);
    }
    expect((await service.patch(`/user/${key_id}`, { token: key, body: { locale: 'de' } })).status).toBe(404);
  });

  it('returns a stored response only while the caller has the scope of the first request (Z24)', async () => {
    const clerk = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const body = { user_type: 'carrier', carrier_id: 'c5', name: 'scoped-answer', email: 'scoped-answer@example.com' };
    const create = () =>
      service.post('/user/create', { token: clerk.token, body, headers: { 'idempotency-key': 'scoped' } });
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(201);
    await service.patch(`/user/${clerk.user_id}`, { ...admin, body: { carrier_scope: ['c6'] } });
    const narrowed = await create();
    expect([narrowed.status, narrowed.body.code]).toEqual([422, 'idempotency.key_reused']);
    expect(narrowed.text).not.toContain('scoped-answer');
  });

  it('keeps the id of a user that an instance of an older version purges (Z24)', async () => {
    const { user_id } = await service.createUser();
    await service.rows('delete from users where user_id = $1', [user_id]);
    const { body } = await importRows(admin, [
      { user_id, user_type: 'system', name: 'heir', email: 'heir@example.com' },
    ]);
    expect([body.changed, errorsIn(body)]).toMatchObject([0, [{ pointer: '/user_id', code: 'field.not_allowed' }]]);
  });

  it('derives the actor type that an instance of an older version does not store (Z24)', async () => {
    const { key_id } = await createKey(service, ['user:read']);
    const insert = `
      insert into operations (
        operation_id, kind, permission, status, actor_id, session_id, request, finished_at
      )
      values (uuid_v7(), 'change', 'user:update', 'done', $1, $2, '{}', now())
      returning actor_type`;
    expect(await service.rows(insert, [key_id, null])).toEqual([{ actor_type: 'key' }]);
    expect(await service.rows(insert, [key_id, admin.session_id])).toEqual([{ actor_type: 'user' }]);
    expect(await service.rows(insert, [admin.user_id, null])).toEqual([{ actor_type: 'user' }]);
    const claim = `insert into idempotency_keys (user_id, method, path, key_hash, claim_id, claimed_until)
      values ($1, 'POST', '/x', 'x', uuid_v7(), now()) returning actor_type`;
    expect(await service.rows(claim, [key_id])).toEqual([{ actor_type: 'key' }]);
    expect(await service.rows(claim, [admin.user_id])).toEqual([{ actor_type: 'user' }]);
  });

  it('keeps the audit of an operation when a user who has its id is purged (Z24)', async () => {
    const target = await service.createUser();
    const { body } = await service.patch(`/user/all?user_id=${target.user_id}`, {
      token: admin.token,
      body: { locale: 'de' },
    });
    const { operation_id } = body;
    await importRows(admin, [
      { user_id: operation_id, user_type: 'system', name: 'shadow', email: 'shadow@example.com' },
    ]);
    expect((await service.delete(`/user/${operation_id}?purge=true`, admin)).status).toBe(204);
    const audit = `
      select changes <> '{}' as kept
      from events
      where event_type = 'operation.accepted' and target_id = $1`;
    expect(await service.rows(audit, [operation_id])).toEqual([{ kept: true }]);
  });
});
