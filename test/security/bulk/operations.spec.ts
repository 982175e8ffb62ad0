import { until } from '../../support/until';
import { addManyUsers, ended } from '../../support/many-users';
import { type TestLogin, TestService } from '../../support/service';

/** Users for three batches, the last one small. */
const many = 10_002;
const batch = 5_000;

jest.setTimeout(120_000);

describe('permissions during an operation', () => {
  let service: TestService;
  let token: string;
  let ids: string[];
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    await service.rows(
      `
        insert into roles (name, user_types, permissions)
        values ('tester', '{carrier}', '{}'), ('carrier_auditor', '{carrier}', '{audit:read}')`,
    );
    await addManyUsers(service, many, 'big');
    ids = (
      await service.rows<{ user_id: string }>(`select user_id from users where carrier_id = 'big' order by user_id`)
    ).map(({ user_id }) => user_id);
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const undo = (operation_id: string, by: { token: string } = service.admin) =>
    service.post(`/user/operation/${operation_id}/undo`, by);

  /**
   * Starts an operation, runs a change while its first batch waits, and returns the ended
   * operation.
   */
  async function meanwhile(
    begin: () => Promise<{ status: number; text: string; body: { operation_id: string } }>,
    change: () => Promise<unknown>,
  ) {
    const holder = await service.sql.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from users where user_id = $1 for update', [ids[0]]);
      const { status, text, body } = await begin();
      expect([status, text]).toEqual([202, text]);
      // The first batch has loaded the actor and waits for the row.
      const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waits)).length > 0);
      await change();
      await holder.query('rollback');
      return await ended(service, body.operation_id);
    } finally {
      holder.release(true);
    }
  }

  it.each([
    [
      'disabled',
      'Europe/Oslo',
      (actor: TestLogin) => service.patch(`/user/${actor.user_id}`, { token, body: { status: 'disabled' } }),
    ],
    ['deleted', 'Europe/Rome', (actor: TestLogin) => service.delete(`/user/${actor.user_id}`, { token })],
    [
      'made to change the password',
      'Europe/Riga',
      (actor: TestLogin) => service.patch(`/user/${actor.user_id}`, { token, body: { must_change_password: true } }),
    ],
  ])(
    'starts no further batch after the caller is %s, and leaves the rest unchanged (Z16)',
    async (title, timezone, change) => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const operation = await meanwhile(
        () => service.patch('/user/all?carrier_id=big', { token: operator.token, body: { timezone } }),
        async () => expect((await change(operator)).status).toBeLessThan(300),
      );
      const failed = { status: 'failed', error_code: 'access.denied', processed: batch, changed: batch };
      expect([title, operation]).toEqual([title, expect.objectContaining(failed)]);
      const changed = await service.rows(`select user_id from users where timezone = $1 order by user_id`, [timezone]);
      expect(changed.map(({ user_id }) => user_id)).toEqual(ids.slice(0, batch));
    },
  );

  it('skips the users outside the scope after the caller was limited to other carriers (Z16)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const operation = await meanwhile(
      () => service.patch('/user/all?carrier_id=big', { token: operator.token, body: { timezone: 'Europe/Kyiv' } }),
      () => service.patch(`/user/${operator.user_id}`, { token, body: { carrier_scope: ['c1'] } }),
    );
    expect(operation).toMatchObject({
      status: 'done',
      changed: batch,
      skipped_reasons: { 'user.not_found': many - batch },
    });
    // The scope limits an undo, too: it contains none of these users.
    const narrow = await undo(operation.operation_id, operator);
    expect(narrow.body).toMatchObject({ changed: 0, skipped_reasons: { 'user.not_found': batch } });
  });

  it('skips users who gain more permissions than the caller during the operation (Z10)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const last = ids.at(-1) as string;
    const operation = await meanwhile(
      () => service.delete('/user/all?carrier_id=big', { token: operator.token }),
      () => service.patch(`/user/${last}`, { token, body: { roles: ['carrier_auditor'] } }),
    );
    expect(operation).toMatchObject({
      status: 'done',
      changed: many - 1,
      skipped: [{ user_id: last, reason: 'access.protected_user' }],
    });
    expect(await rowOf(last)).toMatchObject({ status: 'active', deleted_at: null });
    const undone = await ended(service, (await undo(operation.operation_id, operator)).body.operation_id);
    expect(undone).toMatchObject({ status: 'done', changed: many - 1, skipped_count: 0 });
    await service.patch(`/user/${last}`, { token, body: { roles: ['carrier_user'] } });
  });

  it('starts no further batch after its role was deleted, and restores no deleted role in an undo (Z10)', async () => {
    const operation = await meanwhile(
      () => service.patch('/user/all?carrier_id=big', { token, body: { roles_add: ['tester'] } }),
      () => service.rows(`delete from roles where name = 'tester'`),
    );
    expect(operation).toMatchObject({ status: 'failed', error_code: 'request.invalid', changed: batch });
    const taken = await service.patch(`/user/all?role=tester`, { token, body: { roles: ['carrier_user'] } });
    expect(taken.body).toMatchObject({ matched: batch, changed: batch });
    const undone = await undo(taken.body.operation_id);
    expect(undone.body).toMatchObject({ status: 'done', changed: 0, skipped_reasons: { 'request.invalid': batch } });
    expect(undone.body.skipped[0]).toMatchObject({ pointer: '/roles', reason: 'request.invalid' });
    expect(await service.rows(`select 1 from users where 'tester' = any(roles)`)).toEqual([]);
  });

  it('ends the sessions of all users, those of each batch in its transaction (B17)', async () => {
    await service.rows(`
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash,
        refreshed_at, expires_at, absolute_expires_at
      )
      select
        gen_random_uuid(), user_id, user_type, carrier_id, '',
        now(), now() + interval '1 hour', now() + interval '1 hour'
      from users
      where carrier_id = 'big'`);
    const login = await service.loginAs({ carrier_id: 'big' });
    const { body } = await service.patch('/user/all?carrier_id=big', { token, body: { status: 'disabled' } });
    const operation = await ended(service, body.operation_id);
    expect(operation).toMatchObject({ matched: many + 1, changed: many + 1 });
    expect(await service.rows(`select 1 from sessions where carrier_id = 'big' and ended_at is null`)).toEqual([]);
    expect(
      await service.rows(
        `
          select 1
          from sessions
          join users using (user_id)
          where sessions.carrier_id = 'big' and ended_at <> updated_at`,
      ),
    ).toEqual([]);
    expect((await service.get('/user', login)).body.code).toBe('auth.token_invalid');
    const undone = await ended(service, (await undo(operation.operation_id)).body.operation_id);
    expect(undone.changed).toBe(many + 1);
    // The sessions stay ended.
    expect((await service.get('/user', login)).status).toBe(401);
    expect((await service.post('/auth/check-token', { body: { refresh_token: login.refresh_token } })).status).toBe(
      401,
    );
  });

  it('reveals no other users to a limited caller, during the operation and after (B19)', async () => {
    const limited = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['big'] });
    const stranger = await service.loginAs({ carrier_id: 'c2', roles: ['carrier_administrator'] });
    const { body } = await service.patch('/user/all?everyone=true', {
      token: limited.token,
      body: { timezone: 'Europe/Malta' },
    });
    expect(body.matched).toBe(many + 2);
    expect((await service.get(`/user/operation/${body.operation_id}`, stranger)).body.code).toBe('operation.not_found');
    expect((await service.post(`/user/operation/${body.operation_id}/cancel`, stranger)).body.code).toBe(
      'operation.not_found',
    );
    const operation = await ended(service, body.operation_id, limited.token);
    expect(operation).toMatchObject({ status: 'done', changed: many + 2, skipped_count: 0 });
    expect(
      await service.rows(`select distinct carrier_id from users where timezone = 'Europe/Malta' and user_id <> $1`, [
        limited.user_id,
      ]),
    ).toEqual([{ carrier_id: 'big' }]);
    expect((await undo(body.operation_id, stranger)).body.code).toBe('operation.not_found');
    expect((await service.get('/user/operation/list?count=exact', stranger)).body).toMatchObject({
      items: [],
      total: { value: 0 },
    });
  });
});
