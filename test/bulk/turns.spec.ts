import type { OperationBatchesRepository } from '../../src/users/operations/operation-batches.repository';
import { Cluster } from '../support/cluster';
import { createKey } from '../support/keys';
import { addManyUsers, ended } from '../support/many-users';
import { acceptWork } from '../support/operations';
import { TestService } from '../support/service';
import { until } from '../support/until';

const manager = { roles: ['carrier_administrator'] };
const administrator = { user_type: 'system', roles: ['administrator'] };

describe('the turns of operations', () => {
  let service: TestService;
  beforeAll(async () => {
    // A process has two connections for long work, and one turn. A carrier has one of the two.
    service = await TestService.start({ DATABASE_POOL_MAX: '4' });
  });
  afterAll(() => service.close());

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
    const headers = { 'content-type': 'application/x-ndjson' };
    const send = (by: { token: string }) =>
      isImport
        ? service.post('/user/import', { ...by, headers, body: '{}' })
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

  it('pass on while the carrier has no connection for the batch (D30, B31)', async () => {
    await addManyUsers(service, 2, 'turns');
    const users = await service.rows<{ user_id: string }>(`select user_id from users where carrier_id = 'turns'`);
    const attacker = await service.loginAs({ carrier_id: 'turns', ...manager });
    await service.get('/stats/overview', service.admin);
    const holder = await service.sql.connect();
    try {
      await holder.query('begin; lock table login_counts in access exclusive mode');
      const held = Promise.all(Array.from({ length: 5 }, () => service.get('/stats/overview', attacker)));
      const waits = `select 1 from pg_locks where relation = 'login_counts'::regclass and not granted`;
      await until(async () => (await service.rows(waits)).length === 1);
      const [own, next] = [
        await acceptWork(service, {
          ...{ actor_id: attacker.user_id, change: { locale: 'fr' }, waited: 60 },
          batches: [[users[0]?.user_id ?? '']],
        }),
        await acceptWork(service, {
          ...{ actor_id: service.admin.user_id, change: { locale: 'fr' } },
          batches: [[users[1]?.user_id ?? '']],
        }),
      ];
      expect((await ended(service, next)).status).toBe('done');
      const unfinished = await service.rows('select operation_id from operations where finished_at is null');
      expect(unfinished).toEqual([{ operation_id: own }]);
      await holder.query('rollback');
      await held;
      expect((await ended(service, own)).status).toBe('done');
    } finally {
      holder.release(true);
    }
  });
});

describe('operations whose batches exceed the time limit of the database', () => {
  let cluster: Cluster;
  let actors: string[];
  beforeAll(async () => {
    cluster = await Cluster.create();
    await cluster.start({ DATABASE_URL: `${cluster.databaseUrl}?statement_timeout=4000` });
    await addManyUsers(cluster, 400, 'slow');
    await addManyUsers(cluster, 10, 'other');
    // Another administrator, who can request work.
    await cluster.rows(`
      insert into users (user_id, user_type, name, email, roles, status)
      values (uuid_v7(), 'system', 'second', 'second@example.com', '{administrator}', 'active')`);
    const users = await cluster.rows<{ user_id: string }>(
      `select user_id from users where roles = '{administrator}' order by user_id`,
    );
    actors = users.map(({ user_id }) => user_id);
  });
  afterAll(() => cluster.close());

  /** Makes changes of users take a minute if a condition on the relation `changed` holds. */
  const slowDown = (condition: string) =>
    cluster.rows(`
      create or replace function slow_down() returns trigger language plpgsql
      as $$ begin if ${condition} then perform pg_sleep(60); end if; return null; end $$;
      create or replace trigger slow_down after update on users
      referencing new table as changed for each statement execute function slow_down()`);
  /** Accepts a change of the users of a carrier, in one batch. */
  const change = async (carrier: string, actor = 0) => {
    const users = await cluster.rows<{ user_id: string }>('select user_id from users where carrier_id = $1', [carrier]);
    const batches = [users.map(({ user_id }) => user_id)];
    return acceptWork(cluster, { actor_id: actors[actor] ?? '', change: { locale: 'fr' }, batches });
  };
  const end = async (operation_id: string) => {
    const read = async () => {
      const [operation] = await cluster.rows<{ finished_at: Date | null; changed: number }>(
        'select * from operations where operation_id = $1',
        [operation_id],
      );
      return operation;
    };
    await until(async () => (await read())?.finished_at !== null, 120_000);
    return read();
  };
  const events = (operation_id: string) =>
    cluster.rows(
      `select count(*)::integer as events, count(distinct target_id)::integer as users
       from events where operation_id = $1 and event_type = 'user.changed'`,
      [operation_id],
    );

  it('halves the batch, and changes each user once (B31)', async () => {
    await slowDown('(select count(*) from changed) > 250');
    const operation_id = await change('slow');
    expect(await end(operation_id)).toMatchObject({ status: 'done', processed: 400, changed: 400 });
    expect(await events(operation_id)).toEqual([{ events: 400, users: 400 }]);
  });

  it('fails an operation at 100 users, keeps its undo, and finishes that of another actor (B31)', async () => {
    await cluster.rows(`update users set locale = null where carrier_id = 'slow'`);
    await slowDown(`exists (
      select 1 from changed where user_id = (select max(user_id::text)::uuid from users where carrier_id = 'slow')
    )`);
    const [slow, other] = [await change('slow'), await change('other', 1)];
    const [failed, done] = [await end(slow), await end(other)];
    expect(failed).toMatchObject({ status: 'failed', error_code: 'operation.too_slow', undo_until: expect.any(Date) });
    expect(done).toMatchObject({ status: 'done', changed: 10 });
    expect(done?.finished_at?.getTime()).toBeLessThan(failed?.finished_at?.getTime() ?? 0);
    expect(failed?.changed).toBe(300);
    expect(await events(slow)).toEqual([{ events: 300, users: 300 }]);
  });
});
