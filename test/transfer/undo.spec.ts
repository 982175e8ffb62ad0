import { createHash } from 'node:crypto';
import { importRow as row, importRows } from '../support/data/imports';
import { inTransaction } from '../support/locks';
import { ended } from '../support/data/many-users';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';

const md5Password = 'the old password';
const md5 = createHash('md5').update(md5Password).digest('hex');

describe('the undo of an import', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('importer', '{system,carrier}', '{user:import,user:read}'),
      ('remover', '{system,carrier}', '{user:import,user:delete,user:read}')`);
  });
  afterAll(() => service.close());

  const send = async (rows: object[], by = admin) => (await importRows(service, rows, by)).body;
  const undo = (operation_id: string, by = admin): Promise<TestAnswer> =>
    service.post(`/user/operation/${operation_id}/undo`, by);
  const left = async (prefix: string) =>
    (
      await service.rows<{ name: string }>(
        `select name from users where name like $1 and deleted_at is null order by name`,
        [`${prefix}%`],
      )
    ).map(({ name }) => name);
  const idOf = async (name: string) =>
    (await service.rows<{ user_id: string }>('select user_id from users where name = $1', [name]))[0]!.user_id;

  it('deletes the users that it created, and skips those who changed, logged in or were deleted', async () => {
    const names = ['a', 'b', 'changed', 'gone', 'hashed', 'used'].map((name) => `undo-${name}`);
    const rows = names.map((name) => row(name, /hashed|used/.test(name) ? { password_hash: md5 } : {}));
    const { operation_id, undo_until, changed } = await send([...rows, row('undo-a', { email: 'other@example.com' })]);
    expect([changed, Date.parse(undo_until) > Date.now()]).toEqual([6, true]);
    await service.patch(`/user/${await idOf('undo-changed')}`, { token: admin.token, body: { first_name: 'Ada' } });
    await service.delete(`/user/${await idOf('undo-gone')}`, admin);
    expect((await service.post('/auth/login', { body: { login: 'undo-used', password: md5Password } })).status).toBe(
      200,
    );
    const { status, body } = await undo(operation_id);
    expect([status, body.kind, body.matched, body.changed, body.skipped_count]).toEqual([202, 'undo', 6, 3, 3]);
    expect(body.skipped_reasons).toEqual({
      'user.version_mismatch': 1,
      'user.not_found': 1,
      'user.has_logged_in': 1,
    });
    expect(await left('undo-')).toEqual(['undo-changed', 'undo-used']);
    // The names are available again.
    expect(await send([row('undo-a')])).toMatchObject({ changed: 1 });
    expect((await service.get(`/user/operation/${operation_id}`, admin)).body.undone_by).toBeNull();
  });

  it('requires the permissions to import and to delete, as they are at the undo (Z16)', async () => {
    const [importer, remover] = [
      await service.loginAs({ user_type: 'system', roles: ['importer'] }),
      await service.loginAs({ user_type: 'system', roles: ['remover'] }),
    ];
    const own = await send([row('rights-1')], importer);
    const refused = await undo(own.operation_id, importer);
    expect([refused.status, refused.body.code]).toEqual([403, 'access.denied']);
    expect((await undo(own.operation_id, remover)).body).toMatchObject({ changed: 1 });
    expect(await left('rights-')).toEqual([]);
  });

  it('skips protected users and users outside the scope of the caller (Z10, B19)', async () => {
    const scoped = await service.loginAs({ user_type: 'system', roles: ['remover'] });
    const administrator = { user_type: 'system', carrier_id: undefined, roles: ['administrator'] };
    const { operation_id } = await send([
      ...[row('scope-1', { carrier_id: 'c1' }), row('scope-2', { carrier_id: 'c2' })],
      row('scope-3', administrator),
    ]);
    const first = (await undo(operation_id, scoped)).body;
    expect(first).toMatchObject({ changed: 2, skipped_reasons: { 'access.protected_user': 1 } });
    expect(await left('scope-')).toEqual(['scope-3']);
    // A caller who may delete the user undoes the rest.
    expect((await undo(operation_id)).body).toMatchObject({ matched: 1, changed: 1, skipped_count: 0 });

    const own = await send([row('narrow-1', { carrier_id: 'c1' }), row('narrow-2', { carrier_id: 'c2' })], scoped);
    await service.patch(`/user/${scoped.user_id}`, { token: admin.token, body: { carrier_scope: ['c1'] } });
    expect((await undo(own.operation_id, scoped)).body).toMatchObject({
      ...{ changed: 1, skipped_reasons: { 'user.not_found': 1 } },
    });
    expect(await left('narrow-')).toEqual(['narrow-2']);
  });

  it('stops in the background when its actor loses a permission (Z16)', async () => {
    const remover = await service.loginAs({ user_type: 'system', roles: ['remover'] });
    const rows = Array.from({ length: 10_001 }, (_, i) => row(`many-${i}`));
    const { operation_id } = await send(rows, remover);
    await ended(service, operation_id);
    await inTransaction(service, async (holder) => {
      // Holds the first batch until the permission is gone.
      await holder.query(`select from users where name like 'many-%' order by user_id limit 1 for update`);
      const { status, body } = await undo(operation_id, remover);
      expect([status, body.status, body.matched]).toEqual([202, 'waiting', 10_001]);
      await service.rows(`update roles set permissions = '{user:delete,user:read}' where name = 'remover'`);
      await holder.query('commit');
      const stopped = await ended(service, body.operation_id);
      expect([stopped.status, stopped.error_code, stopped.changed < 10_001]).toEqual(['failed', 'access.denied', true]);
    });
    const rest = (await undo(operation_id)).body;
    expect(await ended(service, rest.operation_id)).toMatchObject({ status: 'done', skipped_count: 0 });
    expect(await left('many-')).toEqual([]);
  });
});
