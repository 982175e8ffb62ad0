import { Client } from 'pg';
import { systemActor } from '../../src/access/actor';
import { CursorCodec } from '../../src/common/query/cursor';
import type { Config } from '../../src/config/config';
import { migrateDatabase } from '../../src/database/migrate';
import { EventsRepository } from '../../src/events/events.repository';
import { RolesRepository } from '../../src/roles/roles.repository';
import { UsersBulkRepository } from '../../src/users-bulk/users-bulk.repository';
import { moveEvents, partitions, splitFirstPartition } from '../support/event-months';
import { explaining } from '../support/plans';
import { password, TestService } from '../support/service';

const dayMs = 86_400_000;
const bounds = /^FOR VALUES FROM \('(\S+) 00:00:00\+00'\) TO \('(\S+) 00:00:00\+00'\)$/;
/** Returns the name of the partition of the month `ahead` months from now. */
const nameOf = (ahead: number) => {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
  return `events_${month.toISOString().slice(0, 7).replace('-', '_')}`;
};

describe('the partitioned audit log', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await TestService.start();
  });
  afterEach(() => service.close());

  const connect = async () => {
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    return client;
  };
  const names = async () => (await partitions(service.sql)).map(({ name }) => name);

  it('has partitions until the end of the third month from now', async () => {
    expect(await names()).toEqual(['events_first', nameOf(2), nameOf(3)]);
    await splitFirstPartition(service.sql);
    expect(await names()).toEqual(Array.from({ length: 18 }, (_, i) => nameOf(i - 14)));
  });

  it('begins each partition at the first of the month in UTC, in every time zone of the session', async () => {
    for (const zone of ['Pacific/Kiritimati', 'America/St_Johns', 'Europe/London']) {
      const client = await connect();
      await client.query(`set timezone = '${zone}'`);
      await client.query(`set datestyle = 'SQL, DMY'`);
      await client.query('select events_add_months(15)');
      await client.end();
    }
    const client = await connect();
    await client.query(`set timezone = 'UTC'`);
    const { rows } = await client.query<{ name: string; bounds: string }>(`
      select relname as name, pg_get_expr(relpartbound, oid) as bounds
      from pg_class
      join pg_inherits on inhrelid = oid
      where inhparent = 'events'::regclass and relname <> 'events_first'
      order by relname`);
    await client.end();
    expect(rows.map(({ name }) => name)).toEqual(Array.from({ length: 14 }, (_, i) => nameOf(i + 2)));
    for (const { name, bounds: text } of rows) {
      const [, from, to] = bounds.exec(text) ?? [];
      const month = name.slice('events_'.length).replace('_', '-');
      expect(from).toBe(`${month}-01`);
      expect(new Date(`${to}T00:00:00Z`).getTime() - new Date(`${from}T00:00:00Z`).getTime()).toBeLessThan(32 * dayMs);
      expect(to).toMatch(/-01$/);
    }
  });

  it('adds each partition once when several instances add it at the same time', async () => {
    const clients = await Promise.all([connect(), connect(), connect(), connect()]);
    const added = await Promise.all(
      clients.map(async (client) => {
        const { rows } = await client.query<{ added: number }>('select events_add_months(8) as added');
        return rows[0]?.added ?? 0;
      }),
    );
    await Promise.all(clients.map((client) => client.end()));
    expect(added.sort()).toEqual([0, 0, 0, 5]);
    expect(await names()).toEqual(['events_first', ...[2, 3, 4, 5, 6, 7, 8].map(nameOf)]);
  });

  it('adds the missing partitions when the service starts after months', async () => {
    for (const { name } of await partitions(service.sql)) await service.rows(`drop table ${name}`);
    const login = () => service.post('/auth/login', { body: { login: service.config.ADMIN_EMAIL, password } });
    // The failure is visible: a login fails if its event cannot be recorded.
    expect((await login()).status).toBe(500);
    await migrateDatabase(service.config.DATABASE_URL);
    expect(await names()).toEqual(expect.arrayContaining([0, 1, 2, 3].map(nameOf)));
    expect((await login()).status).toBe(200);
  });

  it('adds partitions in a job every five minutes, so that events are recorded after a jump of the clock', async () => {
    for (const { name } of await partitions(service.sql)) await service.rows(`drop table ${name}`);
    const known = await service.rows(`
      select identifier from graphile_worker._private_known_crontabs where identifier ~ 'event' order by 1`);
    expect(known).toEqual([{ identifier: 'add-event-months' }, { identifier: 'remove-old-events' }]);
    await service.app.get(EventsRepository, { strict: false }).addMonths();
    await service.createUser();
    expect(await service.rows('select 1 from events')).toHaveLength(1);
  });

  it('does not block writers while months are added', async () => {
    const writer = await connect();
    await writer.query('begin');
    await writer.query(`insert into events (event_type, actor_type) values ('user.invited', 'system')`);
    const client = await connect();
    await client.query(`set lock_timeout = '1s'`);
    const { rows } = await client.query<{ added: number }>('select events_add_months(5) as added');
    expect(rows[0]?.added).toBe(2);
    await writer.query('rollback');
    await Promise.all([writer.end(), client.end()]);
  });

  it('adds and removes months while a transaction locks the roles', async () => {
    const holder = await connect();
    await holder.query('begin');
    await new RolesRepository(explaining(holder, [])).lock();
    const client = await connect();
    await client.query(`set lock_timeout = '1s'`);
    const { rows } = await client.query<{ added: number }>('select events_add_months(5) as added');
    expect(rows[0]?.added).toBe(2);
    await client.query(`
      insert into events (event_type, actor_type, occurred_at)
      values ('user.invited', 'system', now() - interval '100 days')`);
    const removed = await client.query('select events_remove_expired(50, 10)::integer as removed');
    expect(removed.rows).toEqual([{ removed: 1 }]);
    await holder.query('rollback');
    await Promise.all([holder.end(), client.end()]);
  });

  it('stores the transaction of each event, for an export in commit order', async () => {
    await service.createUser();
    expect(await service.rows('select 1 from events where tx is null')).toEqual([]);
    const [{ same } = {}] = await service.rows<{ same: boolean }>(`
      with added as (insert into events (event_type, actor_type) values ('user.invited', 'system') returning tx)
      select tx = pg_current_xact_id() as same from added`);
    expect(same).toBe(true);
  });

  it('lists each event once over all pages, also at the end of a month', async () => {
    await splitFirstPartition(service.sql);
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.invited', 'system', date_trunc('month', now() - month * interval '1 month') + tie * interval '1 ms'
      from generate_series(0, 11) month
      cross join generate_series(-1, 1) tie
      cross join generate_series(1, 2)`);
    for (const direction of ['asc', 'desc']) {
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await service.get(
          `/audit/list?per_page=7&count=none&event_type=user.invited&order_dir=${direction}${cursor}`,
          service.admin,
        );
        seen.push(...body.items.map(({ event_id }: { event_id: string }) => event_id));
        if (body.next_cursor === null) break;
        cursor = `&cursor=${body.next_cursor}`;
      }
      const wanted = await service.rows<{ event_id: string }>(
        `select event_id from events where event_type = 'user.invited'
        order by occurred_at ${direction}, event_id ${direction}`,
      );
      expect(seen).toEqual(wanted.map(({ event_id }) => event_id));
      expect(new Set(seen).size).toBe(72);
    }
    const { body } = await service.get('/audit/list?event_type=user.invited&count=exact&per_page=1', service.admin);
    expect(body.total).toEqual({ value: 72, relation: 'eq' });
  });

  describe('queries', () => {
    let client: Client;
    const plans: string[] = [];
    beforeEach(async () => {
      await splitFirstPartition(service.sql);
      await service.rows(`
        insert into events (event_type, actor_type, target_type, target_id, occurred_at)
        select 'user.invited', 'system', 'user', gen_random_uuid(), now() - i * interval '2 hours'
        from generate_series(1, 4500) i`);
      await service.rows('vacuum analyze events');
      client = await connect();
    });
    afterEach(() => client.end());

    const reader = { ...systemActor, actor_type: 'user' as const };
    const repository = (env: Partial<Config> = {}) => {
      const cursors = service.app.get(CursorCodec, { strict: false });
      return new EventsRepository(explaining(client, plans), cursors, { ...service.config, ...env });
    };
    const list = (query: Record<string, string>) => () => repository().list(reader, { count: 'none', ...query });

    /** Returns the partitions in the plans of the queries that a call sends. */
    async function read(call: () => Promise<unknown>): Promise<string[]> {
      plans.length = 0;
      await call();
      return [...new Set(plans.join(' ').match(/events_\d{4}_\d\d/g))].sort();
    }

    it('reads the months up to the cursor, one after the other, without sorting', async () => {
      const future = [1, 2, 3].map(nameOf);
      const first = await read(list({}));
      expect(first).toEqual(expect.arrayContaining(future));
      const page = await repository().list(reader, { count: 'none' });
      const next = await read(list({ cursor: page.next_cursor ?? '' }));
      expect(next.filter((name) => future.includes(name))).toEqual([]);
      expect(plans.join()).toMatch(/^(events_\d{4}_\d\d_pkey ?)+$/);
    });

    it('reads only the months younger than AUDIT_DAYS', async () => {
      expect(await read(() => repository({ AUDIT_DAYS: 0 }).list(reader, { count: 'none' }))).toHaveLength(18);
      const shorter = await read(() => repository({ AUDIT_DAYS: 30 }).list(reader, { count: 'none' }));
      expect(shorter).toEqual(expect.arrayContaining([nameOf(0), nameOf(3)]));
      expect(shorter).not.toContain(nameOf(-2));
    });

    it('reads one or two months for an event id', async () => {
      const [event] = await service.rows<{ event_id: string }>(
        'select event_id from events order by event_id desc limit 1',
      );
      const months = await read(list({ event_id: event?.event_id ?? '' }));
      expect(months).toContain(nameOf(0));
      expect(months.length).toBeLessThanOrEqual(2);
    });

    it('reads only the months of the operation for its undo', async () => {
      const times = { began_at: daysAgo(65), ended_at: daysAgo(64) };
      const undo = () =>
        new UsersBulkRepository(explaining(client, plans)).fix({ undo_of, times, undos: [] }, 'seed', 10);
      const months = await read(undo);
      expect(months.length).toBeGreaterThanOrEqual(1);
      expect(months.length).toBeLessThanOrEqual(2);
      expect(months.every((name) => name >= nameOf(-3) && name <= nameOf(-1))).toBe(true);
    });
  });

  it('finds an event by its id if its transaction began in the month before', async () => {
    await splitFirstPartition(service.sql);
    await service.createUser();
    // A transaction that began 30 minutes before its event was made.
    await moveEvents(service.sql, `occurred_at - interval '30 minutes'`);
    const [event] = await service.rows<{ event_id: string }>('select event_id from events limit 1');
    const unversioned = '00000000-0000-4000-8000-0000000000aa';
    await service.rows(`insert into events (event_id, event_type, actor_type) values ($1, 'user.invited', 'system')`, [
      unversioned,
    ]);
    for (const event_id of [event?.event_id, unversioned]) {
      const { body } = await service.get(`/audit/list?event_id=${event_id}`, service.admin);
      expect(body.items).toMatchObject([{ event_id }]);
      const several = await service.get(`/audit/list?event_id_in=${event_id},${unversioned}`, service.admin);
      expect(several.body.items.map((item: { event_id: string }) => item.event_id)).toContain(event_id);
    }
    const others = await service.get(`/audit/list?event_id_ne=${event?.event_id}&count=exact`, service.admin);
    const [{ count } = {}] = await service.rows<{ count: string }>('select count(*) from events');
    expect(others.body.total.value).toBe(Number(count) - 1);
  });

  it('finds the events of a user in every month', async () => {
    await splitFirstPartition(service.sql);
    const { user_id } = await service.createUser({ first_name: 'Ada' });
    await service.rows(
      `insert into events (event_type, actor_type, target_type, target_id, occurred_at, ip, changes)
       select 'user.changed', 'user', 'user', $1, now() - i * interval '31 days', '192.0.2.9',
         '{"first_name": {"before": "Ada", "after": "Grace"}}'
       from generate_series(0, 12) i`,
      [user_id],
    );
    expect((await service.delete(`/user/${user_id}?purge=true`, service.admin)).status).toBe(204);
    const rows = await service.rows('select changes from events where target_id = $1', [user_id]);
    expect(rows).toHaveLength(16);
    expect(JSON.stringify(await service.rows('select * from events'))).not.toMatch(/Ada|Grace/);
  });
});

const undo_of = '00000000-0000-4000-8000-000000000002';
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs);
