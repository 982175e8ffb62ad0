import { OperationRetention } from '../../src/operations/operation-retention.service';
import { UserRetention } from '../../src/users/user-retention.service';
import { moveEvents, splitFirstPartition } from '../support/event-months';
import { TestService } from '../support/service';

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
