import { Client } from 'pg';
import type { SqlFragment } from '../../src/http/lists/sql';
import { advisoryLocks } from '../../src/platform/advisory-locks';
import type { Database } from '../../src/platform/database/database';
import { OperationBatchesRepository } from '../../src/users/operations/operation-batches.repository';
import { createKey } from '../support/data/keys';
import { importRows } from '../support/data/imports';
import { inTransaction, lockWaits } from '../support/locks';
import { addManyUsers, ended } from '../support/data/many-users';
import { acceptWork } from '../support/data/operations';
import { type TestLogin, TestService } from '../support/service';
import { useDatabase } from '../support/test-database';
import { until } from '../support/until';

/** Just enough users for an operation in the background: three batches. */
const many = 10_001;

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await TestService.start();
  ({ token } = service.admin);
});
afterAll(() => service.close());

describe('bulk changes of more than 10,000 users', () => {
  beforeAll(() => addManyUsers(service, many, 'big'));
  afterAll(() => service.rows(`delete from users where carrier_id = 'big'`));

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
  let ids: string[];
  let batches: string[][];
  beforeAll(async () => {
    await service.rows(`
      insert into roles (name, user_types, permissions)
      values ('tester', '{carrier}', '{}'), ('carrier_modules', '{carrier}', '{billing:read}')`);
  });
  beforeEach(async () => {
    await service.rows(`delete from users where carrier_id = 'few'`);
    await addManyUsers(service, 6, 'few');
    const users = await service.rows<{ user_id: string }>(
      `select user_id from users where carrier_id = 'few' order by user_id`,
    );
    ids = users.map(({ user_id }) => user_id);
    batches = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)];
  });

  const get = async (operation_id: string) =>
    (await service.get(`/user/operation/${operation_id}`, service.admin)).body;
  const undo = async (operation_id: string, by: { token: string } = service.admin) =>
    (await service.post(`/user/operation/${operation_id}/undo`, by)).body;
  const localesOf = async () =>
    (await service.rows<{ locale: string }>(`select locale from users where carrier_id = 'few' order by user_id`)).map(
      ({ locale }) => locale,
    );

  /** Accepts an operation, and runs `work` while the batch of the n-th user waits for that user. */
  const meanwhile = (
    nth: number,
    actor_id: string,
    change: object | null,
    work: (operation_id: string, release: () => Promise<unknown>) => Promise<unknown>,
  ) =>
    inTransaction(service, async (holder) => {
      await holder.query('select 1 from users where user_id = $1 for update', [ids[nth]]);
      const operation_id = await acceptWork(service, { actor_id, change, batches });
      await lockWaits(service);
      await work(operation_id, () => holder.query('rollback'));
      await holder.query('rollback');
      return ended(service, operation_id);
    });

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

  it.each<[string, object | null]>([
    ['is disabled', { status: 'disabled' }],
    ['is deleted', null],
    ['loses the permission', { roles: ['auditor'] }],
    ['must change the password', { must_change_password: true }],
  ])('starts no further batch after the caller %s, and leaves the rest unchanged (Z16)', async (_title, body) => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const path = `/user/${operator.user_id}`;
    const operation = await meanwhile(0, operator.user_id, { locale: 'pl' }, async () => {
      const change = body === null ? service.delete(path, { token }) : service.patch(path, { token, body });
      expect((await change).status).toBeLessThan(300);
    });
    expect(operation).toMatchObject({ status: 'failed', error_code: 'access.denied', processed: 2, changed: 2 });
    expect(await localesOf()).toEqual(['pl', 'pl', null, null, null, null]);
  });

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
      service.patch(`/user/${user_id}`, { token, body: { roles: ['carrier_modules'] } }),
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
    const versions = await service.rows(`select distinct locale, version from users where carrier_id = 'few'`);
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
    expect(await service.rows(`select distinct timezone, status from users where carrier_id = 'few'`)).toEqual([
      { timezone: 'Europe/Paris', status: 'active' },
    ]);
  });
});

describe('the turns of operations', () => {
  const manager = { roles: ['carrier_administrator'] };
  const administrator = { user_type: 'system', roles: ['administrator'] };
  const id = (number: number) => `018f0000-0000-7000-8000-00000000000${number}`;
  /** Operation, kind of actor, actor, seconds since the last progress, whether it has begun. */
  type Accepted = [string, string, string, number, boolean];

  /** Replaces all operations by operations that no runner looks for. */
  async function accept(operations: Accepted[]): Promise<void> {
    await service.rows('delete from operations');
    for (const operation of operations)
      await service.rows(
        `
          insert into operations (
            operation_id, kind, permission, status, actor_type, actor_id, request, progressed_at, started_at
          )
          values (
            $1, 'import', 'user:import', 'running', $2, $3, '{}', now() + interval '1 hour' - make_interval(secs => $4),
            case when $5 then now() end
          )`,
        operation,
      );
  }
  const findTurn = (passed: string[], underWay: string[]) =>
    service.inside<OperationBatchesRepository>('OperationBatchesRepository').findTurn(passed, underWay);

  it('go to the actor who has waited longest since the last batch (B31)', async () => {
    await accept([
      [id(3), 'user', id(1), 10, true],
      [id(4), 'user', id(1), 60, false],
      [id(5), 'user', id(2), 5, false],
      [id(6), 'key', id(7), 20, true],
    ]);
    expect(await findTurn([], [])).toBe(id(6));
    expect(await findTurn([id(6)], [])).toBe(id(3));
    expect(await findTurn([id(6)], [id(3)])).toBe(id(5));
    expect(await findTurn([id(6), id(5)], [id(3)])).toBe(id(4));
    expect(await findTurn([id(6), id(5), id(4)], [id(3)])).toBeNull();
  });

  it('are no more for a carrier with more users, or a user with more keys (B31)', async () => {
    const first = await service.createUser({ carrier_id: 'north' });
    const second = await service.createUser({ carrier_id: 'north' });
    const other = await service.createUser({ carrier_id: 'south' });
    await accept([
      [id(3), 'user', first.user_id, 1, true],
      [id(4), 'user', second.user_id, 60, false],
      [id(5), 'user', other.user_id, 5, true],
    ]);
    expect(await findTurn([], [])).toBe(id(5));
    expect(await findTurn([id(5)], [])).toBe(id(4));
    const { key_id } = await createKey(service, ['user:read']);
    await accept([
      [id(3), 'user', service.admin.user_id, 1, true],
      [id(4), 'key', key_id, 60, false],
      [id(5), 'user', other.user_id, 5, true],
    ]);
    expect(await findTurn([], [])).toBe(id(5));
    await service.rows('delete from operations');
  });

  it.each([
    [3, 'import', 'a user with their API keys'],
    [20, 'change', 'the users of a carrier'],
  ])('are for %i unfinished operations of the kind %s of %s (B31)', async (max, kind) => {
    const isImport = kind === 'import';
    const login = isImport ? administrator : { carrier_id: 'full', ...manager };
    const first = await service.loginAs(login);
    const second = isImport
      ? { token: (await createKey(service, ['user:import', 'user:create'], {}, first)).key }
      : await service.loginAs(login);
    if (!isImport) await addManyUsers(service, 10_001, 'full');
    await service.rows(
      `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request, progressed_at)
       select uuid_v7(), $1, 'user:import', 'receiving', 'user', $2, '{}', now() + interval '1 hour'
       from generate_series(1, $3::integer)`,
      [kind, first.user_id, max],
    );
    const send = (by: { token: string }) =>
      isImport
        ? importRows(service, [{}], by)
        : service.patch('/user/all?everyone=true', { ...by, body: { locale: 'it' } });
    for (const by of [first, second]) {
      const { status, body, headers: own } = await send(by);
      expect([status, body.code, own['retry-after']]).toEqual([429, 'request.rate_limited', '30']);
      expect(own['ratelimit-policy']).toBe(`"unfinished-operations";q=${max};qu="concurrent-requests"`);
    }
    expect(await service.rows('select 1 from operations where finished_at is null')).toHaveLength(max);
    await service.rows(
      'delete from operations where operation_id = any(array(select operation_id from operations limit 1))',
    );
    expect([200, 202]).toContain((await send(second)).status);
    await service.rows('delete from operations');
  });
});

describe('the turns of an instance with few connections', () => {
  let small: TestService;
  beforeAll(async () => {
    // A process has two connections for long work, and one turn. A carrier has one of the two.
    small = await TestService.start({ DATABASE_POOL_MAX: '4' });
  });
  afterAll(() => small.close());

  it('pass on while the carrier has no connection for the batch (D30, B31)', async () => {
    await addManyUsers(small, 2, 'turns');
    const users = await small.rows<{ user_id: string }>(`select user_id from users where carrier_id = 'turns'`);
    const attacker = await small.loginAs({ carrier_id: 'turns', roles: ['carrier_administrator'] });
    await small.get('/stats/overview', small.admin);
    await inTransaction(small, async (holder) => {
      await holder.query('lock table login_counts in access exclusive mode');
      const held = Promise.all(Array.from({ length: 5 }, () => small.get('/stats/overview', attacker)));
      const waits = `select 1 from pg_locks where relation = 'login_counts'::regclass and not granted`;
      await until(async () => (await small.rows(waits)).length === 1);
      const [own, next] = [
        await acceptWork(small, {
          ...{ actor_id: attacker.user_id, change: { locale: 'fr' }, waited: 60 },
          batches: [[users[0]?.user_id ?? '']],
        }),
        await acceptWork(small, {
          ...{ actor_id: small.admin.user_id, change: { locale: 'fr' } },
          batches: [[users[1]?.user_id ?? '']],
        }),
      ];
      expect((await ended(small, next)).status).toBe('done');
      const unfinished = await small.rows('select operation_id from operations where finished_at is null');
      expect(unfinished).toEqual([{ operation_id: own }]);
      await holder.query('rollback');
      await held;
      expect((await ended(small, own)).status).toBe('done');
    });
  });
});

describe('the search for users of a bulk change in a long operation', () => {
  const [mine, theirs] = ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002'];
  const [few, many] = [200, 20_000];
  const database = useDatabase();
  beforeAll(async () => {
    for (const operation_id of [mine, theirs])
      await database.query(
        `
          insert into operations (operation_id, kind, permission, status, actor_id, request)
          values ($1, 'change', 'user:update', 'waiting', $1, '{}')`,
        [operation_id],
      );
    await addBatches(theirs, many, 0);
    // Spread between the others, from the first to the last.
    await addBatches(mine, few, 1);
  });

  const addBatches = (operation_id: string, count: number, beside: number) =>
    database.query(
      `
        insert into operation_batches (operation_id, number, user_ids)
        select $1::uuid, n / 5000, array_agg(id order by id)
        from (
          select n, ('018f0000-0000-7000-8000-' || lpad(to_hex(n * $4::integer + $3::integer), 12, '0'))::uuid as id
          from generate_series(0, $2::integer - 1) n
        ) every
        group by n / 5000`,
      [operation_id, count, beside, (2 * many) / count],
    );

  /** Returns the number of compared rows, which does not depend on the machine. */
  async function compare(user_ids: string[]): Promise<{ overlaps: boolean; compared: number }> {
    let compared = 0;
    const run = async (query: SqlFragment) => {
      const { text, values } = query.toQuery();
      const { rows } = await database.query(`explain (analyze, format json) ${text}`, values);
      const removed = JSON.stringify(rows).matchAll(/"Rows Removed by Join Filter":([0-9]+)/g);
      for (const [, count] of removed) compared += Number(count);
      return (await database.query(text, values)).rows;
    };
    const repository = new OperationBatchesRepository({ run } as unknown as Database);
    return { overlaps: await repository.overlaps(mine, user_ids), compared };
  }
  const idsOf = async (operation_id: string) =>
    (
      await database.query<{ user_ids: string[] }>('select user_ids from operation_batches where operation_id = $1', [
        operation_id,
      ])
    ).rows.flatMap(({ user_ids }) => user_ids);

  it.each(['without', 'with'])('looks each user up and compares no two lists, %s statistics (B15)', async (state) => {
    if (state === 'with') await database.query('analyze operations, operation_batches');
    const { overlaps, compared } = await compare(await idsOf(mine));
    expect(overlaps).toBe(false);
    expect(compared).toBeLessThan(many);
  });

  it('finds a single user who is in both operations (B15)', async () => {
    const common = (await idsOf(theirs))[10_777] as string;
    expect((await compare([...(await idsOf(mine)), common])).overlaps).toBe(true);
  });
});
