import { Client } from 'pg';
import { EventPartitions } from '../../src/events/event-partitions.service';
import { OperationRetention } from '../../src/operations/operation-retention.service';
import { UserRetention } from '../../src/users/user-retention.service';
import { moveEvents, partitions, splitFirstPartition } from '../support/event-months';
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

describe('the retention of users and operations', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ DELETED_USER_DAYS: '90', OPERATION_DAYS: '90' });
  });
  afterAll(() => service.close());
  const { rows } = { rows: <Row>(text: string, values: unknown[] = []) => service.rows<Row>(text, values) };

  async function deletedUser(age: string, fields: Record<string, unknown> = {}): Promise<string> {
    const { user_id } = await service.createUser(fields);
    expect((await service.delete(`/user/${user_id}`, service.admin)).status).toBe(204);
    await rows('update users set deleted_at = now() - $2::interval where user_id = $1', [user_id, age]);
    return user_id;
  }
  const purge = () => service.app.get(UserRetention, { strict: false }).removeOld();
  const exists = async (user_id: string) =>
    (await rows('select 1 from users where user_id = $1', [user_id])).length > 0;

  it('purges users with all their values at their age and not earlier, as the actor `system`', async () => {
    const old = await deletedUser('90 days', { first_name: 'Unmistakable', carrier_id: 'c9' });
    const young = await deletedUser('2159 hours 59 minutes');
    const { user_id: living } = await service.createUser();
    expect((await service.get('/user/list?deleted=true', service.admin)).body.items).toHaveLength(2);
    await purge();
    expect([await exists(old), await exists(young), await exists(living)]).toEqual([false, true, true]);
    expect(await rows('select 1 from user_tombstones where user_id = $1', [old])).toHaveLength(1);
    const { body } = await service.get(`/audit/list?target_id=${old}&event_type=user.purged`, service.admin);
    expect(body.items).toMatchObject([{ actor_type: 'system', actor_id: null, carrier_id: 'c9', ip: null }]);
    expect(JSON.stringify(await rows('select * from events'))).not.toContain('Unmistakable');
    expect((await service.post(`/user/${young}/restore`, service.admin)).status).toBe(200);
  });

  it('skips a user who is being restored, and purges the others in batches', async () => {
    const restored = await deletedUser('200 days');
    const others = await Promise.all([deletedUser('100 days'), deletedUser('100 days')]);
    await rows(`
      insert into users (user_id, user_type, carrier_id, name, email, status, deleted_at)
      select gen_random_uuid(), 'carrier', 'c1', 'many' || i, 'many' || i || '@example.com', 'active',
        now() - interval '91 days'
      from generate_series(1, 250) i`);
    const client = await service.sql.connect();
    await client.query('begin');
    await client.query('update users set deleted_at = null where user_id = $1', [restored]);
    await purge();
    await client.query('commit');
    client.release();
    expect(await exists(restored)).toBe(true);
    for (const user_id of others) expect(await exists(user_id)).toBe(false);
    expect(await rows(`select 1 from users where name like 'many%'`)).toEqual([]);
    const purged = await rows(`select 1 from events where event_type = 'user.purged' and carrier_id = 'c1'`);
    expect(purged).toHaveLength(252);
  });

  it('purges users one by one if a batch fails, for example because their events take too long', async () => {
    const users = [await deletedUser('100 days'), await deletedUser('100 days')];
    await rows(`
      create function only_one() returns trigger language plpgsql as $$
      begin
        if (select count(*) from removed) > 1 then raise query_canceled; end if;
        return null;
      end $$;
      create trigger only_one after delete on users referencing old table as removed
        for each statement execute function only_one()`);
    await purge();
    for (const user_id of users) expect(await exists(user_id)).toBe(false);
    await rows('drop function only_one cascade');
  });

  it('erases the values of a purged user in every month', async () => {
    await splitFirstPartition(service.sql);
    const user_id = await deletedUser('100 days', { first_name: 'Everywhere' });
    await rows(
      `insert into events (event_type, actor_type, target_type, target_id, occurred_at, ip, changes)
       select 'user.changed', 'user', 'user', $1, now() - i * interval '31 days', '192.0.2.9',
         '{"first_name": {"before": "Everywhere", "after": "Grace"}}'
       from generate_series(0, 12) i`,
      [user_id],
    );
    await purge();
    expect(JSON.stringify(await rows('select * from events'))).not.toMatch(/Everywhere|Grace/);
    // Created, changed 13 times, deleted, purged.
    expect(await rows('select 1 from events where target_id = $1', [user_id])).toHaveLength(16);
  });

  it('erases a user month by month if the events take too long at once', async () => {
    const user_id = await deletedUser('100 days', { first_name: 'Everywhere' });
    await rows(
      `insert into events (event_type, actor_type, target_type, target_id, occurred_at, ip, changes)
       select 'user.changed', 'user', 'user', $1, now() - i * interval '31 days', '192.0.2.9',
         '{"first_name": {"before": "Everywhere", "after": "Grace"}}'
       from generate_series(0, 12) i`,
      [user_id],
    );
    await rows(`
      create function only_three() returns trigger language plpgsql as $$
      begin
        if (select count(*) from erased) > 3 then raise query_canceled; end if;
        return null;
      end $$;
      create trigger only_three after update on events referencing new table as erased
        for each statement execute function only_three()`);
    await purge();
    await rows('drop function only_three cascade');
    expect(await exists(user_id)).toBe(false);
    expect(JSON.stringify(await rows('select * from events'))).not.toMatch(/Everywhere|Grace/);
  });

  it('removes operations at their age and not earlier, with their skipped rows', async () => {
    const add = async (finished: string | null, status = 'done') => {
      const [row] = await rows<{ operation_id: string }>(
        `insert into operations
           (operation_id, kind, permission, status, actor_type, actor_id, request, created_at, finished_at)
         values (gen_random_uuid(), 'import', 'user:import', $2, 'user', gen_random_uuid(), '{}',
           now() - interval '300 days', now() - $1::interval)
         returning operation_id`,
        [finished, status],
      );
      return row?.operation_id ?? '';
    };
    const old = await add('90 days');
    const beingUndone = await add('91 days');
    const undo = await add(null, 'running');
    await rows('update operations set undone_by = $1 where operation_id = $2', [undo, beingUndone]);
    const kept = [await add('2159 hours 59 minutes'), beingUndone, undo];
    await rows(`insert into operation_skipped (operation_id, line, errors) values ($1, 2, '[]')`, [old]);
    const retention = service.app.get(OperationRetention, { strict: false });
    await retention.removeOld();
    const left = await rows<{ operation_id: string }>('select operation_id from operations');
    expect(left.map(({ operation_id }) => operation_id).sort()).toEqual(kept.sort());
    expect(await rows('select 1 from operation_skipped')).toEqual([]);
    expect((await service.get(`/user/operation/${old}`, service.admin)).status).toBe(404);
    await rows(`update operations set status = 'done', finished_at = now() where operation_id = $1`, [undo]);
    await retention.removeOld();
    expect(await rows('select 1 from operations where operation_id = $1', [beingUndone])).toEqual([]);
  });

  it('runs each removal in an hourly job', async () => {
    const known = await rows<{ identifier: string }>(
      `select identifier from graphile_worker._private_known_crontabs where identifier ~ 'old|purge' order by 1`,
    );
    expect(known.map(({ identifier }) => identifier)).toEqual(
      expect.arrayContaining(['purge-deleted-users', 'remove-old-events', 'remove-old-operations']),
    );
  });

  it('undoes an operation of 29 days ago whose events are in two months', async () => {
    const user = await service.createUser({ carrier_id: 'undo', locale: 'fr' });
    const second = await service.createUser({ carrier_id: 'undo', locale: 'fr' });
    const changed = await service.patch('/user/all?carrier_id=undo', { ...service.admin, body: { locale: 'de' } });
    const { operation_id } = changed.body;
    // The operation ran from an hour before the end of a month until an hour after it.
    const edge = `date_trunc('month', now() at time zone 'UTC') at time zone 'UTC'`;
    await moveEvents(
      service.sql,
      `${edge} + case when target_id = $1 then interval '-1 hour' else interval '1 hour' end where operation_id = $2`,
      [user.user_id, operation_id],
    );
    const months = await rows('select distinct tableoid from events where operation_id = $1', [operation_id]);
    expect(months).toHaveLength(2);
    await rows(
      `update operations
       set created_at = ${edge} - interval '1 hour', finished_at = ${edge} + interval '1 hour',
         undo_until = now() + interval '1 day'
       where operation_id = $1`,
      [operation_id],
    );
    const undone = await service.post(`/user/operation/${operation_id}/undo`, service.admin);
    expect(undone.body).toMatchObject({ status: 'done', changed: 2, skipped_count: 0 });
    for (const { user_id } of [user, second])
      expect((await service.get(`/user/${user_id}`, service.admin)).body.locale).toBe('fr');
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
