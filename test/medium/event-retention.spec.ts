import { Client } from 'pg';
import { EventPartitions } from '../../src/events/event-partitions.service';
import { OperationRetention } from '../../src/operations/operation-retention.service';
import { UserRetention } from '../../src/users/user-retention.service';
import { partitions, splitFirstPartition } from '../support/event-months';
import { TestService } from '../support/service';

/** Adds one event that is `age` old and returns its id. */
const addEvent = async (service: TestService, age: string): Promise<string> => {
  const [row] = await service.rows<{ event_id: string }>(
    `insert into events (event_type, actor_type, occurred_at)
     values ('user.invited', 'system', now() - $1::interval)
     returning event_id`,
    [age],
  );
  return row?.event_id ?? '';
};
const listed = async (service: TestService): Promise<string[]> => {
  const { body } = await service.get('/audit/list?event_type=user.invited&order_dir=asc&per_page=500', service.admin);
  return (body.items as { event_id: string }[]).map(({ event_id }) => event_id);
};
const stored = async (service: TestService): Promise<string[]> =>
  (
    await service.rows<{ event_id: string }>(
      `select event_id from events where event_type = 'user.invited' order by occurred_at`,
    )
  ).map(({ event_id }) => event_id);

describe('the retention of events', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await TestService.start({ AUDIT_DAYS: '100' });
  });
  afterEach(() => service.close());
  const removeOld = () => service.app.get(EventPartitions, { strict: false }).removeOld();

  it('hides events at their age and not earlier, and removes them', async () => {
    const old = [await addEvent(service, '101 days'), await addEvent(service, '100 days')];
    const young = [await addEvent(service, '2399 hours 59 minutes'), await addEvent(service, '1 day')];
    expect(await listed(service)).toEqual(young);
    expect(await stored(service)).toEqual([...old, ...young]);
    await removeOld();
    expect(await stored(service)).toEqual(young);
    await removeOld();
    expect(await listed(service)).toEqual(young);
  });

  it('empties the first partition in batches and keeps the others', async () => {
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.invited', 'system', now() - i * interval '1 hour'
      from generate_series(2395, 14000) i`);
    const [removed] = await service.rows('select events_remove_expired(100, 5000)::integer as batch');
    expect(removed).toEqual({ batch: 5_000 });
    await removeOld();
    expect(await stored(service)).toHaveLength(5);
    expect((await service.rows('select events_remove_expired(100, 5000) as batch'))[0]).toEqual({ batch: null });
  });

  it('drops a month once it is wholly older, and hides the old events of the others', async () => {
    await splitFirstPartition(service.sql);
    const months = await partitions(service.sql);
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.invited', 'system', now() - i * interval '5 days'
      from generate_series(1, 80) i`);
    expect(await listed(service)).toHaveLength(19);
    await removeOld();
    const kept = await partitions(service.sql);
    const [{ first } = {}] = await service.rows<{ first: string }>(`
      select 'events_' || to_char((now() - interval '100 days') at time zone 'UTC', 'YYYY_MM') as first`);
    expect(kept[0]?.name).toBe(first);
    expect(kept).toEqual(months.slice(-kept.length));
    expect(await service.rows(`select to_regclass('${months[0]?.name}') as dropped`)).toEqual([{ dropped: null }]);
    expect(await listed(service)).toHaveLength(19);
    expect((await stored(service)).length).toBeGreaterThan(19);
  });

  it('removes nothing from a table that an operator has detached to keep it', async () => {
    const old = await addEvent(service, '200 days');
    await service.rows('alter table events detach partition events_first');
    await removeOld();
    expect(await service.rows(`select event_id from events_first where event_type = 'user.invited'`)).toEqual([
      { event_id: old },
    ]);
  });

  it('lets writers pass while a long transaction keeps a month from being dropped, and drops it later', async () => {
    await splitFirstPartition(service.sql);
    const before = (await partitions(service.sql)).length;
    const writer = new Client({ connectionString: service.config.DATABASE_URL });
    await writer.connect();
    await writer.query('begin');
    await writer.query(`insert into events (event_type, actor_type) values ('user.invited', 'system')`);
    const refused = removeOld().catch((error: Error) => error.message);
    const began = performance.now();
    await addEvent(service, '1 day');
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await refused).toBe('canceling statement due to lock timeout');
    expect(await partitions(service.sql)).toHaveLength(before);
    await writer.query('commit');
    await writer.end();
    await removeOld();
    expect((await partitions(service.sql)).length).toBeLessThan(before);
  });

  it('removes each batch once when several instances remove events', async () => {
    await splitFirstPartition(service.sql);
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.invited', 'system', now() - i * interval '1 day'
      from generate_series(1, 400) i`);
    const [a, b] = [new Client(service.config.DATABASE_URL), new Client(service.config.DATABASE_URL)];
    await Promise.all([a.connect(), b.connect()]);
    const drop = async (client: Client) => {
      for (;;) {
        const { rows } = await client.query<{ removed: string | null }>(
          'select events_remove_expired(100, 10) as removed',
        );
        if (rows[0]?.removed === null) return;
      }
    };
    await Promise.all([drop(a), drop(b)]);
    await Promise.all([a.end(), b.end()]);
    expect(await listed(service)).toHaveLength(99);
  });
});

it('keeps all users, events and operations if the settings are 0', async () => {
  const service = await TestService.start({ AUDIT_DAYS: '0', DELETED_USER_DAYS: '0', OPERATION_DAYS: '0' });
  try {
    const event = await addEvent(service, '20 years');
    const { user_id } = await service.createUser();
    await service.delete(`/user/${user_id}`, service.admin);
    await service.rows(`update users set deleted_at = now() - interval '20 years' where user_id = $1`, [user_id]);
    await service.rows(`
      insert into operations
        (operation_id, kind, permission, status, actor_type, actor_id, request, created_at, finished_at)
      values (gen_random_uuid(), 'import', 'user:import', 'done', 'user', gen_random_uuid(), '{}',
        now() - interval '20 years', now() - interval '20 years')`);
    for (const retention of [EventPartitions, UserRetention, OperationRetention])
      await service.app.get(retention, { strict: false }).removeOld();
    expect(await listed(service)).toEqual([event]);
    expect(await service.rows('select 1 from users where deleted_at is not null')).toHaveLength(1);
    expect(await service.rows('select 1 from operations')).toHaveLength(1);
  } finally {
    await service.close();
  }
});
