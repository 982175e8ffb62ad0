import 'reflect-metadata';
import { Client } from 'pg';
import { systemActor } from '../../src/access/actor';
import { auditList } from '../../src/audit/audit-list';
import type { EventPartitions } from '../../src/audit/event-partitions.service';
import { EventsRepository } from '../../src/audit/events.repository';
import { advisoryLocks } from '../../src/platform/advisory-locks';
import type { Config } from '../../src/platform/config/config';
import { UsersBulkRepository } from '../../src/users/bulk/users-bulk.repository';
import type { OperationRetention } from '../../src/users/operations/operation-retention.service';
import type { UserPurgeService } from '../../src/users/user-purge.service';
import { moveEvents, partitions, splitFirstPartition } from '../support/data/event-months';
import { listQuery } from '../support/contract/list-queries';
import { inTransaction } from '../support/locks';
import { explaining } from '../support/contract/plans';
import { adminEmail, password, TestService } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const dayMs = 86_400_000;
/** Returns the name of the partition of the month `ahead` months from now. */
const nameOf = (ahead: number) => {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
  return `events_${month.toISOString().slice(0, 7).replace('-', '_')}`;
};
const namesFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => nameOf(first + index));

/** A database of each test, without a service. */
describe('the partitions of the audit log', () => {
  let database: TestDatabase;
  let clients: Client[] = [];
  let sql: Client;
  const connect = async (): Promise<Client> => {
    const client = new Client(database.url);
    clients.push(client);
    await client.connect();
    return client;
  };
  beforeEach(async () => {
    database = await createTestDatabase();
    sql = await connect();
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.end()));
    clients = [];
    await database.drop();
  });

  const names = async () => (await partitions(sql)).map(({ name }) => name);
  const split = () => splitFirstPartition(sql);
  const rows = async (text: string): Promise<Record<string, unknown>[]> => (await sql.query(text)).rows;
  const addMonths = async (ahead: number, client = sql) =>
    (await client.query(`select events_add_months(${ahead}) as added`)).rows[0] as { added: number };
  /** Adds events, one for each multiple of an interval before now. */
  const addEvents = (interval: string, first: number, last: number) =>
    sql.query(
      `insert into events (event_type, actor_type, target_type, target_id, occurred_at)
       select 'user.invited', 'system', 'user', gen_random_uuid(), now() - i * $1::interval
       from generate_series($2::integer, $3) i`,
      [interval, first, last],
    );
  const removeBatch = async (max: number, client = sql) =>
    (await client.query(`select events_remove_expired(100, ${max})::integer as batch`)).rows[0].batch as number | null;

  it('cover the time until the end of the third month, and begin at the first of a month in UTC', async () => {
    expect(await names()).toEqual(['events_first', nameOf(2), nameOf(3)]);
    // In every time zone of the session.
    for (const [index, zone] of ['Pacific/Kiritimati', 'America/St_Johns', 'Europe/London'].entries()) {
      await sql.query(`set timezone = '${zone}'`);
      await sql.query(`set datestyle = 'SQL, DMY'`);
      await addMonths(6 + index);
    }
    await sql.query(`set timezone = 'UTC'`);
    await sql.query(`set datestyle = 'ISO, YMD'`);
    const [, ...months] = await partitions(sql);
    expect(months.map(({ name }) => name)).toEqual(namesFrom(2, 8));
    for (const { name, bounds } of months) {
      const [from = '', to = ''] = [...bounds.matchAll(/'(\S+) 00:00:00\+00'/g)].map(([, day]) => day);
      expect(from).toBe(`${name.slice('events_'.length).replace('_', '-')}-01`);
      expect(Date.parse(to) - Date.parse(from)).toBeLessThan(32 * dayMs);
      expect(to).toMatch(/-01$/);
    }
    // The transaction of each event is stored, for an export in commit order.
    expect(
      await rows(`
        with added as (insert into events (event_type, actor_type) values ('user.invited', 'system') returning tx)
        select tx = pg_current_xact_id() as same from added`),
    ).toEqual([{ same: true }]);
  });

  it('are added once by several instances, without blocking writers, and while the roles are locked', async () => {
    const writer = await connect();
    await writer.query('begin');
    await writer.query(`insert into events (event_type, actor_type) values ('user.invited', 'system')`);
    await writer.query(`select pg_advisory_xact_lock(lock) from unnest($1::bigint[]) lock`, [
      [advisoryLocks.roles, advisoryLocks.roleChanges],
    ]);
    const instances = await Promise.all([connect(), connect(), connect()]);
    for (const instance of instances) await instance.query(`set statement_timeout = '60s'`);
    const added = await Promise.all(instances.map((instance) => addMonths(8, instance)));
    expect(added.map((one) => one.added).sort()).toEqual([0, 0, 5]);
    expect(await names()).toEqual(['events_first', ...namesFrom(2, 8)]);
    await addEvents('1 day', 101, 101);
    expect(await removeBatch(10)).toBe(1);
    await writer.query('rollback');

    // The first is emptied in batches, except for young events and if it was detached.
    await addEvents('1 hour', 2_395, 2_420);
    expect(await removeBatch(20)).toBe(20);
    expect(await removeBatch(20)).toBe(1);
    expect(await removeBatch(20)).toBeNull();
    expect(await rows('select from events')).toHaveLength(5);
    await addEvents('1 day', 200, 200);
    await sql.query('alter table events detach partition events_first');
    expect(await removeBatch(20)).toBeNull();
    expect(await rows(`select from events_first where occurred_at < now() - interval '100 days'`)).toHaveLength(1);
  });

  it('are removed once by several instances, and later if a long transaction uses one of them', async () => {
    await split();
    const months = await names();
    await addEvents('1 day', 1, 400);
    const [writer, other] = [await connect(), await connect()];
    await writer.query('begin');
    await writer.query(`insert into events (event_type, actor_type) values ('user.invited', 'system')`);
    // Lock timeout: the removal gives up, so that no writer queues behind it for long.
    const refused = expect(removeBatch(10)).rejects.toMatchObject({ code: '55P03' });
    await other.query(`insert into events (event_type, actor_type) values ('user.invited', 'system')`);
    await refused;
    expect(await names()).toEqual(months);
    await writer.query('commit');

    const removeAll = async (client: Client) => {
      const batches: (number | null)[] = [];
      do batches.push(await removeBatch(10, client));
      while (batches.at(-1) !== null);
      return batches;
    };
    const removed = (await Promise.all([removeAll(sql), removeAll(other)])).flat();
    const kept = await names();
    const oldest = `select 'events_' || to_char((now() - interval '100 days') at time zone 'UTC', 'YYYY_MM') as name`;
    expect([{ name: kept[0] }]).toEqual(await rows(oldest));
    expect(kept).toEqual(months.slice(-kept.length));
    const left = await rows('select from events');
    expect(removed.reduce<number>((sum, batch) => sum + (batch ?? 0), 0) + left.length).toBe(402);
    expect(await rows(`select to_regclass('${months[0]}') as dropped`)).toEqual([{ dropped: null }]);
  });

  it('are read only for the months that a query can match', async () => {
    await split();
    await addEvents('2 hours', 1, 4_500);
    await sql.query('vacuum analyze events');
    const plans: string[] = [];
    const database_ = explaining(sql, plans);
    const reader = { ...systemActor, actor_type: 'user' as const };
    const list = (query: Record<string, string> = {}, AUDIT_DAYS = 0) =>
      new EventsRepository(database_, { AUDIT_DAYS } as Config).list(
        reader,
        listQuery(auditList, { count: 'none', ...query }),
      );
    /** Returns the partitions in the plans of the queries that a call sends. */
    const monthsOf = async (call: Promise<unknown>) => {
      plans.length = 0;
      await call;
      return [...new Set(plans.join(' ').match(/events_\d{4}_\d\d/g))].sort();
    };
    expect(await monthsOf(list())).toEqual(namesFrom(-14, 3));
    // One after the other, without sorting, and none after the cursor.
    const { next_cursor } = await list();
    const next = await monthsOf(list({ cursor: next_cursor ?? '' }));
    expect(next.filter((name) => name > nameOf(0))).toEqual([]);
    expect(plans.join()).toMatch(/^(events_\d{4}_\d\d_pkey ?)+$/);
    const young = await monthsOf(list({}, 30));
    expect(young).toEqual(expect.arrayContaining([nameOf(0), nameOf(3)]));
    expect(young).not.toContain(nameOf(-2));
    const [event] = await rows('select event_id from events order by event_id desc limit 1');
    const ofId = await monthsOf(list({ event_id: String(event?.['event_id']) }));
    expect(ofId).toContain(nameOf(0));
    expect(ofId.length).toBeLessThanOrEqual(2);
    const daysAgo = (days: number) => new Date(Date.now() - days * dayMs);
    const operation = { undo_of: '00000000-0000-4000-8000-000000000002', undos: [] };
    const times = { began_at: daysAgo(65), ended_at: daysAgo(64) };
    const ofUndo = await monthsOf(new UsersBulkRepository(database_).fix({ ...operation, times }, 'seed', 10));
    expect([1, 2]).toContain(ofUndo.length);
    expect(ofUndo.filter((name) => name < nameOf(-3) || name > nameOf(-1))).toEqual([]);
  });
});

describe('the retention', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ AUDIT_DAYS: '370', DELETED_USER_DAYS: '90', OPERATION_DAYS: '90' });
    await splitFirstPartition(service.sql);
  });
  afterAll(() => service.close());
  const rows = <Row>(text: string, values: unknown[] = []) => service.rows<Row>(text, values);
  /** Adds one event that is `age` old and returns its id. */
  const addEvent = async (age: string) => {
    const insert = `
      insert into events (event_type, actor_type, occurred_at)
      values ('user.invited', 'system', now() - $1::interval)
      returning event_id`;
    return (await rows<{ event_id: string }>(insert, [age]))[0]?.event_id ?? '';
  };
  const listed = async (query = 'event_type=user.invited&order_dir=asc&per_page=500') =>
    ((await service.get(`/audit/list?${query}`, service.admin)).body.items as { event_id: string }[]).map(
      ({ event_id }) => event_id,
    );
  const removeEvents = () => service.inside<EventPartitions>('EventPartitions').removeOld();
  const purge = () => service.inside<UserPurgeService>('UserPurgeService').removeOld();
  const removeOperations = () => service.inside<OperationRetention>('OperationRetention').removeOld();

  async function deletedUser(age: string, fields: Record<string, unknown> = {}): Promise<string> {
    const { user_id } = await service.createUser(fields);
    expect((await service.delete(`/user/${user_id}`, service.admin)).status).toBe(204);
    await rows('update users set deleted_at = now() - $2::interval where user_id = $1', [user_id, age]);
    return user_id;
  }
  const exists = async (user_id: string) =>
    (await rows('select 1 from users where user_id = $1', [user_id])).length > 0;

  /** Deletes a user whose name is in events of a year. */
  async function userOfAllMonths(): Promise<string> {
    const user_id = await deletedUser('100 days', { first_name: 'Everywhere' });
    await rows(
      `insert into events (event_type, actor_type, target_type, target_id, occurred_at, ip, changes)
       select 'user.changed', 'user', 'user', $1, now() - i * interval '31 days', '192.0.2.9',
         '{"first_name": {"before": "Everywhere", "after": "Grace"}}'
       from generate_series(0, 11) i`,
      [user_id],
    );
    return user_id;
  }

  /** Makes a statement fail like a slow one if it writes more rows than `max` at once. */
  const limitRows = (change: string, table: string, max: number) =>
    rows(`
      create function limit_rows() returns trigger language plpgsql as $$
      begin
        if (select count(*) from written) > ${max} then raise query_canceled; end if;
        return null;
      end $$;
      create trigger limit_rows after ${change} on ${table}
        referencing ${change === 'delete' ? 'old' : 'new'} table as written
        for each statement execute function limit_rows()`);

  it('runs each removal in a job, and adds partitions in another', async () => {
    const known = await rows<{ identifier: string }>(
      `select identifier from graphile_worker._private_known_crontabs where identifier ~ 'old|purge|event'`,
    );
    const wanted = ['add-event-months', 'purge-deleted-users', 'remove-old-events', 'remove-old-operations'];
    expect(known.map(({ identifier }) => identifier)).toEqual(expect.arrayContaining(wanted));
  });

  it('hides events at their age and not earlier, and drops a month once it is wholly older', async () => {
    const old = [await addEvent('371 days'), await addEvent('370 days')];
    const young = [await addEvent('8879 hours 59 minutes'), await addEvent('1 day')];
    expect(await listed()).toEqual(young);
    const months = await partitions(service.sql);
    await removeEvents();
    const kept = await partitions(service.sql);
    expect(kept.length).toBeLessThan(months.length);
    expect(kept).toEqual(months.slice(-kept.length));
    expect(await listed()).toEqual(young);
    const stored = await rows<{ event_id: string }>(`select event_id from events where event_type = 'user.invited'`);
    const ids = stored.map(({ event_id }) => event_id);
    expect(ids.filter((id) => !old.includes(id)).sort()).toEqual([...young].sort());
  });

  it('lists each event once over all pages, also at the end of a month', async () => {
    await rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.unlocked', 'system', date_trunc('month', now() - month * interval '1 month') + tie * interval '1 ms'
      from generate_series(0, 11) month
      cross join generate_series(-1, 1) tie
      cross join generate_series(1, 2)`);
    for (const direction of ['asc', 'desc']) {
      const seen: string[] = [];
      const query = `/audit/list?per_page=7&count=exact&event_type=user.unlocked&order_dir=${direction}`;
      for (let next: string | null = query; next !== null;) {
        const { body } = await service.get(next, service.admin);
        expect(body.total).toEqual({ value: 72, relation: 'eq' });
        seen.push(...(body.items as { event_id: string }[]).map(({ event_id }) => event_id));
        next = body.next_cursor === null ? null : `${query}&cursor=${body.next_cursor}`;
      }
      const wanted = await rows<{ event_id: string }>(
        `select event_id from events where event_type = 'user.unlocked'
        order by occurred_at ${direction}, event_id ${direction}`,
      );
      expect(seen).toEqual(wanted.map(({ event_id }) => event_id));
    }
  });

  it('keeps an event findable by its id if its transaction began in the month before', async () => {
    const { user_id } = await service.createUser();
    // A transaction that began 30 minutes before its event was made, or an id without a time.
    await moveEvents(service.sql, `occurred_at - interval '30 minutes'`);
    const [made] = await listed(`target_id=${user_id}`);
    const unversioned = '00000000-0000-4000-8000-0000000000aa';
    await rows(`insert into events (event_id, event_type, actor_type) values ($1, 'mail.retried', 'system')`, [
      unversioned,
    ]);
    for (const event_id of [made, unversioned]) expect(await listed(`event_id=${event_id}`)).toEqual([event_id]);
    expect((await listed(`event_id_in=${made},${unversioned}`)).sort()).toEqual([made, unversioned].sort());
    const { body } = await service.get(`/audit/list?event_id_ne=${made}&count=exact`, service.admin);
    const [visible] = await rows<{ count: string }>(
      `select count(*) from events where occurred_at > now() - interval '370 days'`,
    );
    expect(body.total.value).toBe(Number(visible?.count) - 1);
  });

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
    await rows(`
      insert into users (user_id, user_type, carrier_id, name, email, status, deleted_at)
      select gen_random_uuid(), 'carrier', 'many', 'many' || i, 'many' || i || '@example.com', 'active',
        now() - interval '91 days'
      from generate_series(1, 250) i`);
    await inTransaction(service, async (client) => {
      await client.query('update users set deleted_at = null where user_id = $1', [restored]);
      await purge();
      await client.query('commit');
    });
    expect(await exists(restored)).toBe(true);
    expect(await rows(`select 1 from users where carrier_id = 'many'`)).toEqual([]);
    const purged = await rows(`select 1 from events where event_type = 'user.purged' and carrier_id = 'many'`);
    expect(purged).toHaveLength(250);
  });

  it('purges users one by one if a batch fails, and month by month if the events take too long', async () => {
    const users = [await deletedUser('100 days'), await userOfAllMonths()];
    await limitRows('delete', 'users', 1);
    await purge();
    // Created, changed 12 times, deleted, purged.
    expect(await rows('select 1 from events where target_id = $1', [users[1]])).toHaveLength(15);
    users.push(await userOfAllMonths());
    await rows('drop function limit_rows cascade');
    await limitRows('update', 'events', 3);
    await purge();
    await rows('drop function limit_rows cascade');
    expect(await Promise.all(users.map(exists))).toEqual([false, false, false]);
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
    await removeOperations();
    const left = await rows<{ operation_id: string }>('select operation_id from operations');
    expect(left.map(({ operation_id }) => operation_id).sort()).toEqual(kept.sort());
    expect(await rows('select 1 from operation_skipped')).toEqual([]);
    expect((await service.get(`/user/operation/${old}`, service.admin)).status).toBe(404);
    await rows(`update operations set status = 'done', finished_at = now() where operation_id = $1`, [undo]);
    await removeOperations();
    expect(await rows('select 1 from operations where operation_id = $1', [beingUndone])).toEqual([]);
  });

  it('keeps what is needed to undo an operation whose events are in two months', async () => {
    const user = await service.createUser({ carrier_id: 'undo', locale: 'fr' });
    const second = await service.createUser({ carrier_id: 'undo', locale: 'fr' });
    const changed = await service.patch('/user/all?carrier_id=undo', { ...service.admin, body: { locale: 'de' } });
    const { operation_id } = changed.body;
    // The operation ran from an hour before the end of a month until an hour after it.
    const edge = `date_trunc('month', now() at time zone 'UTC' - interval '1 month') at time zone 'UTC'`;
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

  it('adds missing partitions after a jump of the clock, so that events are recorded again', async () => {
    for (const { name } of await partitions(service.sql)) await rows(`drop table ${name}`);
    // The failure is visible: a login fails if its event cannot be recorded.
    const login = () => service.post('/auth/login', { body: { login: adminEmail, password } });
    expect((await login()).status).toBe(500);
    await service.inside<EventsRepository>('EventsRepository').addMonths();
    expect((await login()).status).toBe(200);
    expect(await rows('select 1 from events')).toHaveLength(1);
  });
});

it('adds the missing partitions at a start after months', async () => {
  const database = await createTestDatabase();
  const sql = new Client(database.url);
  await sql.connect();
  for (const { name } of await partitions(sql)) await sql.query(`drop table ${name}`);
  await sql.end();
  const service = await TestService.start({ DATABASE_URL: database.url });
  const names = (await partitions(service.sql)).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(namesFrom(0, 3)));
  await service.close();
  await database.drop();
});
