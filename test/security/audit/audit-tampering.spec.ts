import { document } from '../../support/document';
import { TestService } from '../../support/service';

const refusal = 'events are append-only';

describe('tampering with the audit log', () => {
  let service: TestService;
  let user_id: string;

  beforeAll(async () => {
    service = await TestService.start();
    ({ user_id } = await service.createUser({ first_name: 'Ada' }));
    await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { first_name: 'Grace' } });
  });
  afterAll(() => service.close());

  const log = () => service.rows('select * from events order by event_id');

  /** Runs a statement as the role of the service during the purge of a user. */
  const whileErasing = (statement: string) => whileAllowed('erasing', statement);

  /** Runs a statement as the role of the service while a setting allows it to change events. */
  async function whileAllowed(setting: string, statement: string): Promise<void> {
    const client = await service.sql.connect();
    try {
      await client.query('begin');
      await client.query(`select set_config('carrier_identity.${setting}', 'on', true)`);
      await client.query(statement);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }

  it('offers no method that changes or deletes an event (O13)', async () => {
    const audit = Object.entries(document.paths).filter(([path]) => path.startsWith('/audit'));
    expect(audit.map(([path, methods]) => [path, Object.keys(methods)])).toEqual([['/audit/list', ['get']]]);
    const before = await log();
    const [{ event_id } = {}] = before;
    const { token } = service.admin;
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const [url, status] of [
        ['/audit/list', 405],
        [`/audit/list?event_id=${String(event_id)}`, 405],
        [`/audit/${String(event_id)}`, 404],
        ['/audit/all?everyone=true', 404],
        ['/audit', 404],
      ] as const) {
        const { statusCode } = await service.app.inject({
          method: method as 'POST',
          url,
          headers: { authorization: `Bearer ${token}` },
          payload: { event_type: 'user.created' },
        });
        expect([method, url, statusCode]).toEqual([method, url, status]);
      }
    expect(await log()).toEqual(before);
  });

  it.each([
    `update events set event_type = 'user.created'`,
    `update events set actor_id = null, changes = '{}'`,
    `update events set occurred_at = occurred_at - interval '1 day'`,
    `delete from events`,
    `truncate events`,
    `truncate events cascade`,
    `with gone as (delete from events returning 1) select count(*) from gone`,
    `insert into events select * from events on conflict (occurred_at, event_id) do update set event_type = 'forged'`,
    `merge into events using (select 1) one on true when matched then delete`,
    `update events_first set event_type = 'user.created'`,
    `delete from events_first`,
    `truncate events_first`,
    `delete from only events_first`,
    `truncate only events_first`,
  ])('rejects tampering by the database role of the service: %s (O13)', async (statement) => {
    const before = await log();
    expect(before.length).toBeGreaterThan(3);
    await expect(service.rows(statement)).rejects.toThrow(refusal);
    expect(await log()).toEqual(before);
  });

  it.each([
    `delete from events`,
    `truncate events`,
    `update events set event_type = 'user.created'`,
    `update events set occurred_at = now()`,
    `update events set actor_id = target_id`,
    `update events set request_id = 'other'`,
    `update events set ip = '192.0.2.1'`,
    `update events set changes = '{"first_name": {"before": "Eve", "after": "Eve"}}'`,
    `update events set target_version = 99`,
  ])('rejects tampering even while a user is purged: %s (O13)', async (statement) => {
    const before = await log();
    await expect(whileErasing(statement)).rejects.toThrow(refusal);
    expect(await log()).toEqual(before);
  });

  it.each(['update %I set ip = null', 'delete from %I', 'truncate %I'])(
    'rejects tampering with each month, even during a purge or the removal of old events: %s (O13)',
    async (statement) => {
      const months = await service.rows<{ statement: string }>(
        `select format($1, relname) as statement
         from pg_class
         join pg_inherits on inhrelid = oid
         where inhparent = 'events'::regclass and relname <> 'events_first'`,
        [statement],
      );
      expect(months).toHaveLength(2);
      // Events of the future, because the first partition contains all others.
      await service.rows(`
        insert into events (event_type, actor_type, occurred_at)
        select 'user.invited', 'system', now() + i * interval '31 days'
        from generate_series(2, 3) i`);
      const before = await log();
      for (const month of months)
        for (const setting of ['none', 'expiring'])
          await expect(whileAllowed(setting, month.statement)).rejects.toThrow(refusal);
      expect(await log()).toEqual(before);
    },
  );

  it.each([
    `delete from events`,
    `delete from events_first`,
    `delete from events_first where occurred_at > now() - interval '29 days 23 hours'`,
    `update events set event_type = 'user.created' where occurred_at < now() - interval '40 days'`,
    `update events set ip = null where occurred_at < now() - interval '40 days'`,
    `truncate events_first`,
  ])('rejects tampering even while old events are removed: %s (O13)', async (statement) => {
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      values ('user.invited', 'system', now() - interval '41 days')`);
    const before = await log();
    await expect(whileAllowed('expiring', statement)).rejects.toThrow(refusal);
    expect(await log()).toEqual(before);
  });

  it('removes no event younger than 30 days, even if the function is called with fewer days (O13)', async () => {
    await service.rows(`
      insert into events (event_type, actor_type, occurred_at)
      select 'user.exported', 'system', now() - i * interval '1 day'
      from generate_series(20, 40) i`);
    for (const days of ['1', '0', '-1000']) await service.rows(`select events_remove_expired(${days}, 1000)`);
    const left = await service.rows(`select 1 from events where event_type = 'user.exported'`);
    expect(left).toHaveLength(10);
    // The permission ends with the function.
    await expect(service.rows('delete from events')).rejects.toThrow(refusal);
  });

  it('keeps each event of a purged user and removes only personal values (O13)', async () => {
    const { token } = service.admin;
    const before = await log();
    expect((await service.delete(`/user/${user_id}?purge=true`, { token })).status).toBe(204);
    const after = await log();
    const kept = after.filter(({ event_id }) => before.some((event) => event['event_id'] === event_id));
    const lasting = (events: Record<string, unknown>[]) =>
      events.map((event) => ({ ...event, ip: undefined, changes: undefined, target_version: undefined }));
    expect(lasting(kept)).toEqual(lasting(before));
    expect(JSON.stringify(after)).not.toMatch(/Ada|Grace/);
    expect(after.map(({ event_type }) => event_type)).toContain('user.purged');
  });
});
