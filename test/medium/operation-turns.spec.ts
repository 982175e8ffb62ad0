import { OperationBatchesRepository } from '../../src/operations/operation-batches.repository';
import { addManyUsers, ended } from '../support/many-users';
import { TestService } from '../support/service';
import { until } from '../support/until';

jest.setTimeout(120_000);

const many = 10_001;

describe('the turns of operations', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('gives the next turn to the actor whose last batch is the longest ago (B31)', async () => {
    const id = (number: number) => `018f0000-0000-7000-8000-00000000000${number}`;
    const [a, b, key] = [id(1), id(2), id(2)];
    /** Operation, kind of actor, actor, seconds since the last progress, whether it has begun. */
    const operations: [string, string, string, number, boolean][] = [
      [id(3), 'user', a, 10, true],
      [id(4), 'user', a, 60, false],
      [id(5), 'user', b, 5, false],
      [id(6), 'key', key, 20, true],
    ];
    for (const [operation_id, actor_type, actor_id, seconds, begun] of operations)
      await service.rows(
        `
          insert into operations (
            operation_id, kind, permission, status, actor_type, actor_id, request, progressed_at, started_at
          )
          values (
            $1, 'import', 'user:import', 'running', $2, $3, '{}', now() + interval '1 hour' - make_interval(secs => $4),
            case when $5 then now() end
          )`,
        [operation_id, actor_type, actor_id, seconds, begun],
      );
    const batches = service.app.get(OperationBatchesRepository);
    expect(await batches.findTurn([], [])).toBe(id(6));
    expect(await batches.findTurn([id(6)], [])).toBe(id(3));
    expect(await batches.findTurn([id(6)], [id(3)])).toBe(id(5));
    expect(await batches.findTurn([id(6), id(5)], [id(3)])).toBe(id(4));
    expect(await batches.findTurn([id(6), id(5), id(4)], [id(3)])).toBeNull();
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
      await until(async () => (await service.rows('select 1 from pg_locks where not granted')).length > 0);
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
