import { addManyUsers, ended } from '../support/many-users';
import { type TestAnswer, TestService } from '../support/service';
import { until } from '../support/until';

/** Three batches, the last one of few users. */
const many = 10_500;

describe('bulk changes of users: preview, change, undo', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    await addManyUsers(service, many, 'big');
    await addManyUsers(service, 30, 'small');
  });
  afterAll(() => service.close());

  const state = (carrier: string) =>
    service.rows(
      `
        select
          user_id, roles, status, locale, timezone, attributes, allowed_ips, must_change_password, deleted_at
        from users
        where carrier_id = $1
        order by user_id`,
      [carrier],
    );
  const analyzed = async () =>
    (
      await service.rows<{ n: number }>(
        `select sum(analyze_count)::integer as n from pg_stat_user_tables where relname in ('users', 'user_search')`,
      )
    )[0]?.n ?? 0;
  const patch = (query: string, body: unknown) => service.patch(`/user/all?${query}`, { token, body });
  const undo = (operation_id: string) => service.post(`/user/operation/${operation_id}/undo`, { token });

  it('changes exactly the previewed users with the confirm token, once', async () => {
    const change = { locale: 'fr' };
    const preview = await patch('carrier_id=small&dry_run=true', change);
    expect(preview.body).toMatchObject({
      matched: 30,
      would_change: 30,
      unchanged: 0,
      skipped_count: 0,
      skipped_reasons: {},
    });
    expect(preview.body.sample).toHaveLength(20);
    const { confirm_token } = preview.body;
    const confirm = (query: string, body: unknown = change) => patch(`${query}&confirm_token=${confirm_token}`, body);
    expect((await confirm('carrier_id=small', { locale: 'de' })).body.errors[0].parameter).toBe('confirm_token');
    expect((await confirm('carrier_id=small&status=active')).status).toBe(400);
    expect((await service.delete(`/user/all?carrier_id=small&confirm_token=${confirm_token}`, { token })).status).toBe(
      400,
    );
    const other = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    expect(
      (
        await service.patch(`/user/all?carrier_id=small&confirm_token=${confirm_token}`, {
          token: other.token,
          body: change,
        })
      ).status,
    ).toBe(400);
    await addManyUsers(service, 1, 'small', 'late');
    const refused = await confirm('carrier_id=small');
    expect([refused.status, refused.body.code]).toEqual([409, 'bulk.set_changed']);
    expect(await service.rows(`select 1 from users where locale = 'fr'`)).toEqual([]);
    await service.rows(`delete from users where name = 'late-1'`);
    const done = await confirm('carrier_id=small');
    expect(done.body).toMatchObject({ matched: 30, changed: 30 });
    const again = await confirm('carrier_id=small');
    expect([again.status, again.body.code]).toEqual([409, 'bulk.set_changed']);
    expect((await undo(done.body.operation_id)).status).toBe(202);
  });

  it('rejects the confirm token of a different set with the same number of users', async () => {
    const preview = await patch('carrier_id=small&dry_run=true', { locale: 'it' });
    const [first] = await service.rows<{ user_id: string }>(
      `select user_id from users where carrier_id = 'small' limit 1`,
    );
    await service.rows(`update users set carrier_id = 'elsewhere' where user_id = $1`, [first?.user_id]);
    await addManyUsers(service, 1, 'small', 'swapped');
    const refused = await patch(`carrier_id=small&confirm_token=${preview.body.confirm_token}`, { locale: 'it' });
    expect([refused.status, refused.body.code]).toEqual([409, 'bulk.set_changed']);
    await service.rows(`delete from users where name = 'swapped-1'`);
    await service.rows(`update users set carrier_id = 'small' where user_id = $1`, [first?.user_id]);
  });

  it('changes more than 10,000 users in an operation, updates planner statistics at once, and undoes it', async () => {
    const before = await state('big');
    const analyzedBefore = await analyzed();
    const preview = await patch('carrier_id=big&dry_run=true', {
      status: 'disabled',
      attributes: { tier: 'gold', number: null },
    });
    expect(preview.body).toMatchObject({ matched: many, would_change: many });
    const answer = await patch(`carrier_id=big&confirm_token=${preview.body.confirm_token}`, {
      status: 'disabled',
      attributes: { tier: 'gold', number: null },
    });
    expect([answer.status, answer.headers['location']]).toEqual([202, `/user/operation/${answer.body.operation_id}`]);
    expect(answer.body).toMatchObject({ kind: 'change', matched: many, finished_at: null });
    const operation = await ended(service, answer.body.operation_id);
    // With outdated statistics, the totals of lists would be wrong.
    await until(async () => (await analyzed()) >= analyzedBefore + 2);
    expect(await analyzed()).toBe(analyzedBefore + 2);
    expect(operation).toMatchObject({ status: 'done', processed: many, changed: many, unchanged: 0, skipped_count: 0 });
    expect(await service.rows(`select distinct status, attributes from users where carrier_id = 'big'`)).toEqual([
      { status: 'disabled', attributes: { tier: 'gold' } },
    ]);
    const undone = await ended(service, (await undo(operation.operation_id)).body.operation_id);
    expect(undone).toMatchObject({
      kind: 'undo',
      status: 'done',
      changed: many,
      skipped_count: 0,
      undo_of: operation.operation_id,
    });
    expect(await state('big')).toEqual(before);
    const twice = await undo(operation.operation_id);
    expect([twice.status, twice.body.code]).toEqual([409, 'operation.not_undoable']);
    expect((await undo(undone.operation_id)).body.code).toBe('operation.not_undoable');
  });

  it('undoes a large deletion, except for users whose name was taken or who changed since', async () => {
    const before = await state('big');
    const answer = await service.delete('/user/all?carrier_id=big', { token });
    const operation = await ended(service, answer.body.operation_id);
    expect(operation).toMatchObject({ kind: 'delete', changed: many });
    await service.createUser({ name: 'big-1', email: 'someone@example.com' });
    await service.createUser({ name: 'someone-else', email: 'BIG-2@example.com' });
    const [third] = await service.rows<{ user_id: string }>(`select user_id from users where name = 'big-3'`);
    await service.post(`/user/${third?.user_id}/restore`, { token });
    const undone = await ended(service, (await undo(operation.operation_id)).body.operation_id);
    expect(undone).toMatchObject({
      changed: many - 3,
      skipped_count: 3,
      skipped_reasons: { 'user.name_taken': 1, 'user.email_taken': 1, 'user.version_mismatch': 1 },
    });
    await service.rows(`delete from users where name in ('someone-else') or email = 'someone@example.com'`);
    await service.rows(`update users set deleted_at = null where carrier_id = 'big'`);
    expect(await state('big')).toEqual(before);
  });

  /**
   * Starts an operation and cancels it while its second batch waits for the row of a user.
   * The cancellation waits for that batch, so the operation ends after it.
   */
  async function cancelInSecondBatch(
    start: () => Promise<TestAnswer>,
    meanwhile: (operation_id: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<TestAnswer['body']> {
    const holder = await service.sql.connect();
    const lockWaits = async () =>
      (
        await holder.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount;
    try {
      await holder.query('begin');
      await holder.query(`select 1 from users where name = (
        select name from users where carrier_id = 'big' order by user_id offset 7000 limit 1
      ) for update`);
      const { operation_id } = (await start()).body;
      await until(async () => (await lockWaits()) === 1);
      await meanwhile(operation_id);
      const canceled = service.post(`/user/operation/${operation_id}/cancel`, { token });
      await until(async () => (await lockWaits()) === 2);
      await holder.query('rollback');
      expect((await canceled).status).toBe(202);
      return await ended(service, operation_id);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  }

  it('cancels an operation between two batches and undoes the finished batches', async () => {
    const before = await state('big');
    const operation = await cancelInSecondBatch(() => patch('carrier_id=big', { locale: 'nl' }));
    expect(operation).toMatchObject({ status: 'canceled', changed: 10_000 });
    const undone = await ended(service, (await undo(operation.operation_id)).body.operation_id);
    expect(undone.changed).toBe(10_000);
    expect(await state('big')).toEqual(before);
  });

  it('keeps the rest undoable after a canceled undo, and says so', async () => {
    const before = await state('big');
    const { operation_id } = (await patch('carrier_id=big', { locale: 'da' })).body;
    const undo_until = (await ended(service, operation_id)).undo_until as string;
    const shown = async () => (await service.get(`/user/operation/${operation_id}`, { token })).body;
    const canceled = await cancelInSecondBatch(
      () => undo(operation_id),
      async (undone_by) => expect(await shown()).toMatchObject({ undone_by, undo_until: null }),
    );
    expect(canceled).toMatchObject({ status: 'canceled', changed: 10_000 });
    expect(await shown()).toMatchObject({ undone_by: null, undo_until });
    const rest = await ended(service, (await undo(operation_id)).body.operation_id);
    expect(rest).toMatchObject({ changed: many - 10_000, skipped_reasons: {} });
    expect([await state('big'), (await undo(operation_id)).status]).toEqual([before, 409]);
  });

  it('rejects a short operation on users that a longer one still has to process, and accepts others', async () => {
    const holder = await service.sql.connect();
    await holder.query('begin');
    await holder.query(`select 1 from users where carrier_id = 'big' order by user_id limit 1 for update`);
    const { body } = await patch('carrier_id=big', { timezone: 'Europe/Vienna' });
    const refused = await patch('name=big-7', { locale: 'sv' });
    expect([refused.status, refused.body.code]).toEqual([409, 'operation.overlaps']);
    expect((await patch('carrier_id=small', { locale: 'sv' })).body.changed).toBe(30);
    const waiting = await patch('carrier_id=big', { timezone: 'Europe/Paris' });
    expect(waiting.body).toMatchObject({ status: 'waiting', processed: 0 });
    await holder.query('rollback');
    holder.release();
    await ended(service, body.operation_id);
    expect(await ended(service, waiting.body.operation_id)).toMatchObject({ status: 'done', changed: many });
    const list = await service.get('/user/operation/list?kind=change&order_dir=asc&finished_at_isnull=false', {
      token,
    });
    expect(list.body.items.map(({ operation_id }: { operation_id: string }) => operation_id)).toContain(
      waiting.body.operation_id,
    );
  });

  it('runs no further batch after the caller lost the permission', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const holder = await service.sql.connect();
    await holder.query('begin');
    await holder.query(`select 1 from users where carrier_id = 'big' order by user_id limit 1 for update`);
    const { body } = await service.patch('/user/all?carrier_id=big', { token: operator.token, body: { locale: 'pl' } });
    await service.patch(`/user/${operator.user_id}`, { token, body: { roles: ['auditor'] } });
    await holder.query('rollback');
    holder.release();
    const operation = await ended(service, body.operation_id);
    expect(operation).toMatchObject({ status: 'failed', error_code: 'access.denied', actor_id: operator.user_id });
    expect(operation.changed).toBeLessThan(many);
  });
});
