import { errorsIn, importRows } from '../support/imports';
import { createKey } from '../support/keys';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { type TestLogin, TestService } from '../support/service';

describe('the id of an actor', () => {
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

  /** Returns a user, and an API key with the id of the user. */
  async function twins(fields: Record<string, unknown>, permissions: string[], scope: Record<string, unknown> = {}) {
    const user = await service.loginAs(fields);
    const { key_id, key } = await createKey(service, permissions, scope);
    await service.rows('update keys set key_id = $1 where key_id = $2', [user.user_id, key_id]);
    return { user, key: { token: key } };
  }

  it('is not available to an imported user, not even after a revocation or a purge (Z24)', async () => {
    const [{ key_id }, revoked] = [await createKey(service, ['*']), await createKey(service, ['*'])];
    await service.delete(`/auth/key/${revoked.key_id}`, admin);
    const [purged, erased] = [await service.createUser(), await service.createUser()];
    expect((await service.delete(`/user/${purged.user_id}?purge=true`, admin)).status).toBe(204);
    // An instance of an older version purges like this.
    await service.rows('delete from users where user_id = $1', [erased.user_id]);
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    for (const user_id of [key_id, key_id.toUpperCase(), revoked.key_id, purged.user_id, erased.user_id])
      for (const query of ['dry_run=true', '', 'on_conflict=skip']) {
        const row = { user_id, user_type: 'system', name: 'twin', email: 'twin@example.com', roles: [] };
        const { status, body } = await importRows(service, [row], operator, query);
        expect([user_id, query, status, body.changed ?? body.would_create]).toEqual([user_id, query, 200, 0]);
        if (query !== 'on_conflict=skip')
          expect(errorsIn(body)).toMatchObject([{ pointer: '/user_id', code: 'field.not_allowed' }]);
      }
    expect(await service.rows(`select 1 from users where name = 'twin'`)).toEqual([]);
  });

  it('gives a deleted sender of an import no permissions of the API key with the same id (Z24)', async () => {
    const { user } = await twins({ user_type: 'system', roles: ['importer'] }, ['*']);
    const rows = Array.from({ length: 1_100 }, (_, n) =>
      JSON.stringify({ user_type: 'system', name: `gain${n}`, email: `gain${n}@x.example`, roles: ['administrator'] }),
    );
    const upload = await RawConnection.open(service.port);
    const head = requestHead('POST', '/user/import', {
      ...{ authorization: `Bearer ${user.token}`, 'content-type': 'application/x-ndjson' },
      ...{ 'transfer-encoding': 'chunked', connection: 'close' },
    });
    await upload.send(head + chunk(`${rows.slice(0, 1_050).join('\n')}\n`));
    const operations = () =>
      service.rows('select status, error_code, finished_at from operations where actor_id = $1', [user.user_id]);
    await service.until(async () => (await operations())[0]?.['status'] === 'receiving');
    await service.delete(`/user/${user.user_id}`, admin);
    await upload.send(`${chunk(rows.slice(1_050).join('\n'))}0\r\n\r\n`);
    await service.until(async () => (await operations())[0]?.['finished_at'] !== null);
    upload.socket.destroy();
    expect(await operations()).toMatchObject([{ error_code: 'access.denied' }]);
    expect(await service.rows(`select 1 from users where name like 'gain%'`)).toEqual([]);
  });

  it('shows operations, responses, cursors and previews of an API key to no user with the same id (Z24)', async () => {
    const permissions = ['user:read', 'user:create', 'user:update', 'user:import'];
    const { user, key } = await twins({ roles: ['carrier_importer'], carrier_id: 'c9' }, permissions);
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
    expect((await service.get(path, user)).status).toBe(404);
    expect((await service.get('/user/operation/list', user)).body.items).toEqual([]);
    const again = await create(user);
    expect(again.status).toBeGreaterThanOrEqual(400);
    expect(again.text).not.toContain('kept-answer');
    expect((await service.post(`${path}/undo`, user)).status).toBe(404);
    const page = await service.get(`${list}&cursor=${encodeURIComponent(next_cursor as string)}`, user);
    expect(page.body.code).toBe('page.cursor_invalid');
    const confirm = `user_type=carrier&confirm_token=${encodeURIComponent(preview.confirm_token as string)}`;
    expect((await change(user, confirm, { locale: 'de' })).body.code).toBe('request.invalid');
    expect((await service.get(path, key)).body.undone_by).toBeNull();
    expect((await service.post(`${path}/undo`, key)).body.changed).toBe(1);
  });

  it('makes an API key no user with the same id, who is outside its scope (Z24)', async () => {
    const permissions = ['user:read', 'user:update', 'session:read'];
    const administrator = { user_type: 'system', roles: ['administrator'] };
    const { user, key } = await twins(administrator, permissions, { carrier_scope: ['c8'] });
    expect((await service.get(`/user/${user.user_id}`, key)).status).toBe(404);
    for (const path of ['/auth/session/list', '/user/list'])
      expect([path, (await service.get(`${path}?user_id=${user.user_id}`, key)).body.items]).toEqual([path, []]);
    expect((await service.patch(`/user/${user.user_id}`, { ...key, body: { locale: 'de' } })).status).toBe(404);
  });

  it('gives a stored response only to a caller who still has the scope of the first request (Z24)', async () => {
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

  it('has the type of its actor also if an instance of an older version does not store the type (Z24)', async () => {
    const { key_id } = await createKey(service, ['user:read']);
    for (const [actor_id, session_id, actor_type] of [
      [key_id, null, 'key'],
      [key_id, admin.session_id, 'user'],
      [admin.user_id, null, 'user'],
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
    const changed = await service.patch(`/user/all?user_id=${user_id}`, { ...admin, body: { locale: 'de' } });
    const { operation_id } = changed.body;
    const shadow = { user_id: operation_id, user_type: 'system', name: 'shadow', email: 'shadow@example.com' };
    await importRows(service, [shadow], admin);
    expect((await service.delete(`/user/${operation_id}?purge=true`, admin)).status).toBe(204);
    const audit = `
      select changes <> '{}' as kept
      from events
      where event_type = 'operation.accepted' and target_id = $1`;
    expect(await service.rows(audit, [operation_id])).toEqual([{ kept: true }]);
  });
});
