import { Cluster } from '../support/cluster';
import { addManyUsers } from '../support/many-users';
import { password } from '../support/service';
import type { ServiceProcess } from '../support/service-process';
import { until } from '../support/until';

jest.setTimeout(600_000);

/** Users for three batches. */
const many = 10_001;
/** The user whose change never ends, in the second batch. */
const endless = 5_150;
const limitMs = 4_000;

interface Progress {
  status: string;
  error_code: string | null;
  processed: number;
  changed: number;
  finished_at: Date | null;
  undo_until: Date | null;
}

describe('operations whose batches exceed the time limit of the database', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start({ DATABASE_URL: `${cluster.databaseUrl}?statement_timeout=${limitMs}` });
    token = await cluster.login(instance);
    await addManyUsers(cluster, many, 'slow');
    await addManyUsers(cluster, many, 'other');
  });
  afterAll(() => cluster.close());

  /** Makes changes of users take a minute if a condition on the relation `changed` holds. */
  const slowDown = (condition: string) =>
    cluster.rows(`
      create or replace function slow_down() returns trigger language plpgsql
      as $$ begin if ${condition} then perform pg_sleep(60); end if; return null; end $$;
      create or replace trigger slow_down after update on users
      referencing new table as changed for each statement execute function slow_down()`);
  const change = async (carrier: string, by: string, locale: string) => {
    const answer = await instance.send('PATCH', `/user/all?carrier_id=${carrier}`, { token: by, body: { locale } });
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
    return answer.body.operation_id as string;
  };
  const progressOf = async (operation_id: string) =>
    (await cluster.rows<Progress>('select * from operations where operation_id = $1', [operation_id]))[0] as Progress;
  const end = async (operation_id: string) => {
    await until(async () => (await progressOf(operation_id)).finished_at !== null, 120_000);
    return progressOf(operation_id);
  };
  const count = async (condition: string) =>
    (await cluster.rows<{ count: number }>(`select count(*)::integer from users where ${condition}`))[0]?.count;

  it('halves a batch that exceeds the time limit, and changes each user once (B31)', async () => {
    await slowDown('(select count(*) from changed) > 2500');
    const operation_id = await change('slow', token, 'fr');
    expect(await end(operation_id)).toMatchObject({ status: 'done', processed: many, changed: many });
    expect(await count(`carrier_id = 'slow' and locale = 'fr' and version = 2`)).toBe(many);
    const events = await cluster.rows(
      `
        select count(*)::integer as events, count(distinct target_id)::integer as users
        from events
        where operation_id = $1 and event_type = 'user.changed'`,
      [operation_id],
    );
    expect(events).toEqual([{ events: many, users: many }]);
  });

  it('fails an operation at 100 users, undoes it, and finishes the operation of another actor (B31)', async () => {
    const second = { user_type: 'system', name: 'second', email: 'second@example.com', roles: ['administrator'] };
    const body = { ...second, password, must_change_password: false };
    expect((await instance.send('POST', '/user/create', { token, body })).status).toBe(201);
    const login = await instance.send('POST', '/auth/login', { body: { login: 'second', password } });
    await slowDown(`exists (
      select 1
      from changed
      where user_id = (
        select user_id from users where carrier_id = 'slow' order by user_id offset ${endless} limit 1
      )
    )`);
    const slow = await change('slow', token, 'de');
    const other = await change('other', login.body.access_token as string, 'de');
    const [failed, done] = [await end(slow), await end(other)];
    expect(failed).toMatchObject({ status: 'failed', error_code: 'operation.too_slow', undo_until: expect.any(Date) });
    expect(done).toMatchObject({ status: 'done', changed: many });
    expect(done.finished_at?.getTime()).toBeLessThan(failed.finished_at?.getTime() ?? 0);
    expect(failed.changed).toBe(await count(`carrier_id = 'slow' and locale = 'de'`));
    expect(failed.changed).toBeLessThanOrEqual(endless);
    expect(endless - failed.changed).toBeLessThan(100);
    const undone = await instance.send('POST', `/user/operation/${slow}/undo`, { token });
    expect([undone.status, undone.body.changed]).toEqual([202, failed.changed]);
    expect(await count(`carrier_id = 'slow' and locale = 'fr'`)).toBe(many);
  });
});
