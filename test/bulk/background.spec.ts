import { Client } from 'pg';
import { advisoryLocks } from '../../src/platform/advisory-locks';
import { addManyUsers, ended } from '../support/many-users';
import { inTransaction, lockWaits } from '../support/locks';
import { acceptWork } from '../support/operations';
import { type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

/** Just enough users for an operation in the background: three batches. */
const many = 10_001;

describe('bulk changes of more than 10,000 users', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    await addManyUsers(service, many, 'big');
  });
  afterAll(() => service.close());

  const state = () =>
    service.rows(`
      select
        user_id, roles, status, locale, timezone, attributes, allowed_ips, must_change_password, deleted_at
      from users
      where carrier_id = 'big'
      order by user_id`);
  const undo = async (operation_id: string) => service.post(`/user/operation/${operation_id}/undo`, service.admin);
  const count = async (condition: string) =>
    (await service.rows<{ n: number }>(`select count(*)::integer as n from ${condition}`))[0]?.n;

  it('change in an operation that ends the sessions with each batch, and can be undone (B17)', async () => {
    await service.rows(`
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at
      )
      select
        gen_random_uuid(), user_id, user_type, carrier_id, '', now(), now() + interval '1 hour',
        now() + interval '1 hour'
      from users
      where carrier_id = 'big'`);
    const before = await state();
    const analyzed = async () =>
      (
        await service.rows<{ n: number }>(
          `select sum(analyze_count)::integer as n from pg_stat_user_tables where relname in ('users', 'user_search')`,
        )
      )[0]?.n ?? 0;
    const analyzedBefore = await analyzed();
    const body = { status: 'disabled', attributes: { tier: 'gold', number: null } };
    const patch = (query: string) => service.patch(`/user/all?carrier_id=big&${query}`, { token, body });
    const { matched, confirm_token } = (await patch('dry_run=true')).body;
    expect(matched).toBe(many);
    const answer = await patch(`confirm_token=${confirm_token}`);
    const { operation_id } = answer.body;
    expect([answer.status, answer.headers['location']]).toEqual([202, `/user/operation/${operation_id}`]);
    expect(answer.body).toMatchObject({ kind: 'change', matched: many, finished_at: null });
    expect(await ended(service, operation_id)).toMatchObject({
      ...{ status: 'done', processed: many, changed: many, unchanged: 0, skipped_count: 0 },
    });
    // With outdated statistics, the totals of lists would be wrong.
    await until(async () => (await analyzed()) > analyzedBefore);
    expect(await service.rows(`select distinct status, attributes from users where carrier_id = 'big'`)).toEqual([
      { status: 'disabled', attributes: { tier: 'gold' } },
    ]);
    const together = `sessions join users using (user_id) where users.carrier_id = 'big' and ended_at = updated_at`;
    expect(await count(together)).toBe(many);
    const list = await service.get('/user/operation/list?kind=change&finished_at_isnull=false', service.admin);
    expect(list.body.items).toMatchObject([{ operation_id }]);
    const undone = await ended(service, (await undo(operation_id)).body.operation_id);
    const undo_of = operation_id as string;
    expect(undone).toMatchObject({ kind: 'undo', status: 'done', changed: many, skipped_count: 0, undo_of });
    expect(await state()).toEqual(before);
    expect(await count('sessions where ended_at is null')).toBe(1);
    for (const id of [undo_of, undone.operation_id as string]) {
      const twice = await undo(id);
      expect([twice.status, twice.body.code]).toEqual([409, 'operation.not_undoable']);
    }
  });

  it('delete and restore in the undo all users who can be restored, and their invitations (R41)', async () => {
    await service.rows(`
      update users set status = 'invited' where carrier_id = 'big' and (attributes ->> 'number')::integer > 9_000`);
    await service.rows(`delete from credentials where user_id in (select user_id from users where status = 'invited')`);
    await service.rows(`
      insert into one_time_tokens (user_id, purpose, requested_at, expires_at)
      select user_id, 'invite', now(), now() + case when name like '%7' then interval '1 day' else '0' end
      from users
      where status = 'invited'`);
    const live = await count('one_time_tokens where expires_at > now()');
    const before = await state();
    const answer = await service.delete('/user/all?carrier_id=big', { token });
    const { operation_id } = answer.body;
    expect(await ended(service, operation_id)).toMatchObject({ kind: 'delete', changed: many });
    await service.createUser({ name: 'big-1', email: 'someone@example.com' });
    await service.createUser({ name: 'someone-else', email: 'BIG-2@example.com' });
    const [third] = await service.rows<{ user_id: string }>(`select user_id from users where name = 'big-3'`);
    await service.post(`/user/${third?.user_id}/restore`, { token });
    const { user_id } = await service.createUser();
    const undone = await inTransaction(service, async (other) => {
      await other.query(`update users set name = 'big-4' where user_id = $1`, [user_id]);
      const { body } = await undo(operation_id);
      await lockWaits(service);
      await other.query('commit');
      return body.operation_id;
    });
    expect(await ended(service, undone)).toMatchObject({
      ...{ changed: many - 4, skipped_count: 4, links_restored: live, links_expired: many - 9_000 - (live ?? 0) },
      skipped_reasons: { 'user.name_taken': 2, 'user.email_taken': 1, 'user.version_mismatch': 1 },
    });
    await service.rows(`delete from users where name = 'someone-else' or email = 'someone@example.com'`);
    await service.rows('delete from users where user_id = $1', [user_id]);
    await service.rows(`update users set deleted_at = null where carrier_id = 'big'`);
    expect(await state()).toEqual(before);
  });
});

/** These operations have few users per batch, so that each test can hold one of three batches. */
describe('an operation in the background', () => {
  let service: TestService;
  let token: string;
  let ids: string[];
  let batches: string[][];
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    await service.rows(`
      insert into roles (name, user_types, permissions)
      values ('tester', '{carrier}', '{}'), ('carrier_auditor', '{carrier}', '{audit:read}')`);
  });
  beforeEach(async () => {
    await service.rows(`delete from users where carrier_id = 'big'`);
    await addManyUsers(service, 6, 'big');
    const users = await service.rows<{ user_id: string }>(
      `select user_id from users where carrier_id = 'big' order by user_id`,
    );
    ids = users.map(({ user_id }) => user_id);
    batches = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)];
  });
  afterAll(() => service.close());

  const get = async (operation_id: string) =>
    (await service.get(`/user/operation/${operation_id}`, service.admin)).body;
  const undo = async (operation_id: string, by: { token: string } = service.admin) =>
    (await service.post(`/user/operation/${operation_id}/undo`, by)).body;
  const localesOf = async () =>
    (await service.rows<{ locale: string }>(`select locale from users where carrier_id = 'big' order by user_id`)).map(
      ({ locale }) => locale,
    );

  /** Accepts an operation, and runs `work` while the batch of the n-th user waits for that user. */
  async function meanwhile(
    nth: number,
    actor_id: string,
    change: object | null,
    work: (operation_id: string, release: () => Promise<unknown>) => Promise<unknown>,
  ) {
    const holder = await service.sql.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from users where user_id = $1 for update', [ids[nth]]);
      const operation_id = await acceptWork(service, { actor_id, change, batches });
      await lockWaits(service);
      await work(operation_id, () => holder.query('rollback'));
      await holder.query('rollback');
      return await ended(service, operation_id);
    } finally {
      holder.release(true);
    }
  }

  /** Cancels an operation while its second batch waits. The cancellation waits for that batch. */
  const cancelInSecondBatch = async (operation_id: string, release: () => Promise<unknown>) => {
    expect(await get(operation_id)).toMatchObject({ status: 'running', processed: 2, matched: 6 });
    expect((await undo(operation_id)).code).toBe('operation.not_undoable');
    const canceled = service.post(`/user/operation/${operation_id}/cancel`, service.admin);
    await lockWaits(service, 2);
    await release();
    expect((await canceled).status).toBe(202);
  };

  it('can be canceled between two batches, of which the finished ones can be undone', async () => {
    const operation = await meanwhile(2, service.admin.user_id, { locale: 'nl' }, cancelInSecondBatch);
    expect(operation).toMatchObject({ status: 'canceled', changed: 4 });
    expect(await localesOf()).toEqual(['nl', 'nl', 'nl', 'nl', null, null]);
    const again = await service.post(`/user/operation/${operation.operation_id}/cancel`, service.admin);
    expect(again.body).toMatchObject({ status: 'canceled', changed: 4 });
    expect(await undo(operation.operation_id)).toMatchObject({ status: 'done', changed: 4 });
    expect(new Set(await localesOf())).toEqual(new Set([null]));
  });

  it.each<[string, string, (path: string) => Promise<{ status: number }>]>([
    ['is disabled', 'access.denied', (path) => service.patch(path, { token, body: { status: 'disabled' } })],
    ['is deleted', 'access.denied', (path) => service.delete(path, { token })],
    ['loses the permission', 'access.denied', (path) => service.patch(path, { token, body: { roles: ['auditor'] } })],
    [
      'must change the password',
      'access.denied',
      (path) => service.patch(path, { token, body: { must_change_password: true } }),
    ],
  ])(
    'starts no further batch after the caller %s, and leaves the rest unchanged (Z16)',
    async (_title, code, change) => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const operation = await meanwhile(0, operator.user_id, { locale: 'pl' }, async () =>
        expect((await change(`/user/${operator.user_id}`)).status).toBeLessThan(300),
      );
      expect(operation).toMatchObject({ status: 'failed', error_code: code, processed: 2, changed: 2 });
      expect(await localesOf()).toEqual(['pl', 'pl', null, null, null, null]);
    },
  );

  it('skips users outside the scope once the caller is limited to other carriers, also in its undo (Z16)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const operation = await meanwhile(0, operator.user_id, { timezone: 'Europe/Kyiv' }, () =>
      service.patch(`/user/${operator.user_id}`, { token, body: { carrier_scope: ['c1'] } }),
    );
    expect(operation).toMatchObject({ status: 'done', changed: 2, skipped_reasons: { 'user.not_found': 4 } });
    expect(await undo(operation.operation_id, operator)).toMatchObject({
      ...{ changed: 0, skipped_reasons: { 'user.not_found': 2 } },
    });
  });

  it('skips users who gain more permissions than the caller during the operation (Z10)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const user_id = ids.at(-1) as string;
    const operation = await meanwhile(0, operator.user_id, null, () =>
      service.patch(`/user/${user_id}`, { token, body: { roles: ['carrier_auditor'] } }),
    );
    expect(operation).toMatchObject({
      ...{ status: 'done', changed: 5, skipped: [{ user_id, reason: 'access.protected_user' }] },
    });
    const [spared] = await service.rows('select deleted_at from users where user_id = $1', [user_id]);
    expect(spared).toEqual({ deleted_at: null });
    expect(await undo(operation.operation_id, operator)).toMatchObject({ changed: 5, skipped_count: 0 });
  });

  it('starts no further batch after its role was deleted, and restores no deleted role in an undo (Z10)', async () => {
    const operation = await meanwhile(0, service.admin.user_id, { roles_add: ['tester'] }, () =>
      service.rows(`delete from roles where name = 'tester'`),
    );
    expect(operation).toMatchObject({ status: 'failed', error_code: 'request.invalid', changed: 2 });
    const taken = await service.patch('/user/all?role=tester', { token, body: { roles: ['carrier_user'] } });
    expect(taken.body).toMatchObject({ matched: 2, changed: 2 });
    const undone = await undo(taken.body.operation_id);
    expect(undone).toMatchObject({ status: 'done', changed: 0, skipped_reasons: { 'request.invalid': 2 } });
    expect(undone.skipped[0]).toMatchObject({ pointer: '/roles', reason: 'request.invalid' });
  });

  it('rejects a short operation on users who wait for it, and accepts one on other users (B15)', async () => {
    await addManyUsers(service, 1, 'small');
    const patch = (query: string) => service.patch(`/user/all?${query}`, { token, body: { locale: 'sv' } });
    await meanwhile(2, service.admin.user_id, { timezone: 'Europe/Vienna' }, async () => {
      const refused = await patch(`user_id_in=${ids[0]},${ids[5]}`);
      expect([refused.status, refused.body.code]).toEqual([409, 'operation.overlaps']);
      expect((await patch('carrier_id=small')).body.changed).toBe(1);
      // The first batch is done.
      expect((await patch(`user_id=${ids[0]}`)).body.changed).toBe(1);
    });
  });

  it('changes users after each operation on them that was accepted earlier (B15)', async () => {
    const second: TestLogin = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    let next = '';
    const first = await meanwhile(0, service.admin.user_id, { locale: 'fr' }, async () => {
      next = await acceptWork(service, { actor_id: second.user_id, change: { locale: 'de' }, batches });
      const jobs = `select 1 from graphile_worker.jobs where task_identifier = 'run-operations' and locked_at is null`;
      await until(async () => (await service.rows(jobs)).length === 0);
      expect(await get(next)).toMatchObject({ status: 'waiting', processed: 0 });
    });
    expect(first).toMatchObject({ status: 'done', changed: 6 });
    expect(await ended(service, next)).toMatchObject({ status: 'done', changed: 6 });
    const versions = await service.rows(`select distinct locale, version from users where carrier_id = 'big'`);
    expect(versions).toEqual([{ locale: 'de', version: 3 }]);
  });

  it('rejects a short change that waited for other administrators until it was accepted (B15, Z15)', async () => {
    const { user_id } = await service.createUser({ user_type: 'system' });
    const administrators = new Client(service.config.DATABASE_URL);
    try {
      await administrators.connect();
      await administrators.query(`begin; select pg_advisory_xact_lock(${advisoryLocks.administrators})`);
      const body = { status: 'disabled', timezone: 'Europe/Rome' };
      const short = service.patch(`/user/all?user_id_in=${[user_id, ids[0], ids[5]].join()}`, { token, body });
      await lockWaits(service);
      const operation = await meanwhile(2, service.admin.user_id, { timezone: 'Europe/Paris' }, async () => {
        await lockWaits(service, 2);
        await administrators.query('commit');
        const { status, body: problem } = await short;
        expect([status, problem.code]).toEqual([409, 'operation.overlaps']);
      });
      expect(operation).toMatchObject({ status: 'done', changed: 6 });
    } finally {
      await administrators.end();
    }
    expect(await service.rows(`select distinct timezone, status from users where carrier_id = 'big'`)).toEqual([
      { timezone: 'Europe/Paris', status: 'active' },
    ]);
  });
});
