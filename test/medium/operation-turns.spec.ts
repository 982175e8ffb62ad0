import { OperationRunner } from '../../src/operations/operation-runner.service';
import { OperationBatchesRepository } from '../../src/operations/operation-batches.repository';
import { createKey } from '../support/keys';
import { addManyUsers, ended } from '../support/many-users';
import { TestService } from '../support/service';
import { until } from '../support/until';

jest.setTimeout(120_000);

const many = 10_001;
const manager = { roles: ['carrier_administrator'] };

describe('the turns of operations', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const id = (number: number) => `018f0000-0000-7000-8000-00000000000${number}`;
  /** Operation, kind of actor, actor, seconds since the last progress, whether it has begun. */
  type Accepted = [string, string, string, number, boolean];

  async function accept(operations: Accepted[]): Promise<OperationBatchesRepository> {
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
    return service.app.get(OperationBatchesRepository);
  }

  it('gives the next turn to the actor who has waited longest since the last batch (B31)', async () => {
    const batches = await accept([
      [id(3), 'user', id(1), 10, true],
      [id(4), 'user', id(1), 60, false],
      [id(5), 'user', id(2), 5, false],
      [id(6), 'key', id(7), 20, true],
    ]);
    expect(await batches.findTurn([], [])).toBe(id(6));
    expect(await batches.findTurn([id(6)], [])).toBe(id(3));
    expect(await batches.findTurn([id(6)], [id(3)])).toBe(id(5));
    expect(await batches.findTurn([id(6), id(5)], [id(3)])).toBe(id(4));
    expect(await batches.findTurn([id(6), id(5), id(4)], [id(3)])).toBeNull();
    await service.rows('delete from operations');
  });

  it('gives a carrier no more turns for more users, nor a user for more keys (B31)', async () => {
    const [first, second] = [
      await service.createUser({ carrier_id: 'north' }),
      await service.createUser({ carrier_id: 'north' }),
    ];
    const other = await service.createUser({ carrier_id: 'south' });
    const carriers = await accept([
      [id(3), 'user', first.user_id, 1, true],
      [id(4), 'user', second.user_id, 60, false],
      [id(5), 'user', other.user_id, 5, true],
    ]);
    expect(await carriers.findTurn([], [])).toBe(id(5));
    expect(await carriers.findTurn([id(5)], [])).toBe(id(4));
    const { key_id } = await createKey(service, ['user:read']);
    const keys = await accept([
      [id(3), 'user', service.admin.user_id, 1, true],
      [id(4), 'key', key_id, 60, false],
      [id(5), 'user', other.user_id, 5, true],
    ]);
    expect(await keys.findTurn([], [])).toBe(id(5));
    await service.rows('delete from operations');
  });

  it.each([
    [3, 'import', 'a user with their API keys'],
    [20, 'change', 'the users of a carrier'],
  ])('accepts %i unfinished operations of the kind %s for %s (B31)', async (max, kind) => {
    const login =
      kind === 'import' ? { user_type: 'system', roles: ['administrator'] } : { carrier_id: 'full', ...manager };
    const first = await service.loginAs(login);
    const second =
      kind === 'import'
        ? { token: (await createKey(service, ['user:import', 'user:create'], {}, first)).key }
        : await service.loginAs(login);
    if (kind === 'change') await addManyUsers(service, many, 'full');
    await service.rows(
      `insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request, progressed_at)
       select uuid_v7(), $1, 'user:import', 'receiving', 'user', $2, '{}', now() + interval '1 hour'
       from generate_series(1, $3::integer)`,
      [kind, first.user_id, max],
    );
    const headers = { 'content-type': 'application/x-ndjson' };
    const send = (by: { token: string }) =>
      kind === 'import'
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

  it('applies two operations on the same users to each user in the order of their acceptance (B15)', async () => {
    await addManyUsers(service, many, 'both');
    const second = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const holder = await service.sql.connect();
    try {
      await holder.query(`begin; select 1 from users where name = 'both-1' for update`);
      const path = '/user/all?carrier_id=both';
      const first = await service.patch(path, { ...service.admin, body: { locale: 'fr' } });
      const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waits)).length > 0);
      const next = await service.patch(path, { ...second, body: { locale: 'de' } });
      expect([first.status, next.status]).toEqual([202, 202]);
      const waiting = `
        select 1
        from graphile_worker.jobs
        where task_identifier = 'run-operations' and locked_at is null`;
      await until(async () => (await service.rows(waiting)).length === 0);
      await holder.query('commit');
      for (const { body } of [first, next])
        expect(await ended(service, body.operation_id)).toMatchObject({ status: 'done', changed: many });
    } finally {
      holder.release(true);
    }
    const result = `select locale, version, count(*)::integer from users where carrier_id = 'both' group by 1, 2`;
    expect(await service.rows(result)).toEqual([{ locale: 'de', version: 3, count: many }]);
  });
});

it('passes a turn on while the carrier has no connection for the batch (D30, B31)', async () => {
  // A process has two connections for long work, and one turn. A carrier has one of the two.
  const service = await TestService.start({ DATABASE_POOL_MAX: '4' });
  const holder = await service.sql.connect();

  await addManyUsers(service, 10_001, 'turns');
  const change = await service.patch('/user/all?carrier_id=turns', { ...service.admin, body: { locale: 'fr' } });
  const { operation_id } = await ended(service, change.body.operation_id);
  const attacker = await service.loginAs({ carrier_id: 'turns', roles: ['carrier_administrator'] });
  await service.get('/stats/overview', service.admin);
  await holder.query('begin; lock table login_counts in access exclusive mode');
  const held = Promise.all(Array.from({ length: 5 }, () => service.get('/stats/overview', attacker)));
  const waits = `select 1 from pg_locks where relation = 'login_counts'::regclass and not granted`;
  await until(async () => (await service.rows(waits)).length === 1);
  const accept = async (actor_id: string, name: string) => {
    const [copy] = await service.rows<{ operation_id: string }>(
      `insert into operations
         select (jsonb_populate_record(operations, jsonb_build_object(
           'operation_id', uuid_v7(), 'actor_id', $2::text, 'status', 'waiting', 'finished_at', null,
           'started_at', null,
           'processed', 0, 'changed', 0, 'total', 1, 'progressed_at', now() - interval '1 minute'
         ))).*
         from operations
         where operation_id = $1
         returning operation_id`,
      [operation_id, actor_id],
    );
    await service.rows(
      `insert into operation_batches (operation_id, number, user_ids)
         select $1, 0, array[user_id] from users where name = $2`,
      [copy?.operation_id, name],
    );
    return copy?.operation_id ?? '';
  };
  const own = await accept(attacker.user_id, 'turns-1');
  const next = await accept(service.admin.user_id, 'turns-3');
  await service.app.get(OperationRunner).passOn('change');
  expect((await ended(service, next)).status).toBe('done');
  const unfinished = 'select 1 from operations where finished_at is null';
  expect(await service.rows(unfinished)).toHaveLength(1);
  await holder.query('rollback');
  await held;
  expect((await ended(service, own)).status).toBe('done');
  holder.release();
  await service.close();
});
