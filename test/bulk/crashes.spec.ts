import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Cluster } from '../support/process/cluster';
import { lockWaits } from '../support/locks';
import { addManyUsers } from '../support/data/many-users';
import { acceptWork } from '../support/data/operations';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

const many = 100;

/** A bulk request that is retried until it gets a response. */
interface Bulk {
  method: 'PATCH' | 'DELETE';
  carrier: string;
  key: string;
}

let cluster: Cluster;
let instance: ServiceProcess;
let token: string;
let admin_id: string;
beforeAll(async () => {
  cluster = await Cluster.create();
  instance = await start('one');
  token = await cluster.login(instance);
  [{ admin_id }] = (await cluster.rows(`select user_id as admin_id from users where user_type = 'system'`)) as [
    { admin_id: string },
  ];
});
afterAll(() => cluster.close());

/** Starts an instance whose database connections have a name. */
const start = (name: string) => cluster.start({ DATABASE_URL: `${cluster.databaseUrl}?application_name=${name}` });
/** `crashes.long.spec.ts` kills at random moments. */
describe('bulk changes whose process is killed', () => {
  const send = (to: ServiceProcess, { method, carrier, key }: Bulk, query = ''): Promise<TestAnswer> =>
    to.send(method, `/user/all?carrier_id=${carrier}${query}`, {
      token,
      headers: key === '' ? {} : { 'idempotency-key': key },
      ...(method === 'PATCH' ? { body: { locale: 'fr' } } : {}),
    });
  const newBulk = async (method: Bulk['method'], key: string = randomUUID()): Promise<Bulk> => {
    const carrier = `c${randomUUID().slice(0, 8)}`;
    await addManyUsers(cluster, many, carrier);
    return { method, carrier, key };
  };
  /** Returns the users of a carrier by the number of their changes, and their events. */
  const doneTo = async (carrier: string) =>
    (
      await cluster.rows(
        `
          select
            count(*)::integer as users,
            count(*) filter (where deleted_at is not null or locale = 'fr')::integer as done,
            sum(version - 1)::integer as steps,
            (select count(*)::integer from events where carrier_id = $1 and target_type = 'user') as events
          from users
          where carrier_id = $1`,
        [carrier],
      )
    )[0];
  const all = { users: many, done: many, steps: many, events: many };
  const none = { users: many, done: 0, steps: 0, events: 0 };
  /** Holds the row of a user, so that work on the user waits. */
  const hold = async (name: string) => {
    const holder = new Client(cluster.databaseUrl);
    await holder.connect();
    await holder.query('begin');
    await holder.query('select 1 from users where name = $1 for update', [name]);
    return holder;
  };

  it.each(['PATCH', 'DELETE'] as const)(
    'changes no user if killed during a %s request, and each once on retry (F1, F2)',
    async (method) => {
      const bulk = await newBulk(method);
      const held = await hold(`${bulk.carrier}-50`);
      const next = await start('one');
      const lost = send(instance, bulk).then(
        () => 'answered',
        () => 'cut',
      );
      await lockWaits(cluster);
      await instance.kill();
      expect(await lost).toBe('cut');
      instance = next;
      await held.end();
      expect(await doneTo(bulk.carrier)).toEqual(none);
      let answer = await send(instance, bulk);
      await until(async () => {
        // The claim of the killed process lasts for seconds.
        if (answer.body.code === 'idempotency.in_progress') answer = await send(instance, bulk);
        return answer.status === 200;
      }, 60_000);
      expect(answer.body).toMatchObject({ matched: many, changed: many });
      expect((await send(instance, bulk)).body).toEqual(answer.body);
      expect(await doneTo(bulk.carrier)).toEqual(all);
    },
  );

  it('replays a lost response to the same key, and rejects its used confirm token (F3)', async () => {
    const proxy = await TcpProxy.start(cluster.databaseUrl);
    // Four requests of one actor are held at the same time.
    const urls = { DATABASE_URL: proxy.url, DATABASE_DIRECT_URL: cluster.databaseUrl };
    const doomed = await cluster.start({ ...urls, DATABASE_POOL_MAX: '20' });
    const lost: { bulk: Bulk; query: string; response: Promise<string> }[] = [];
    try {
      for (const [method, confirmed] of [
        ['PATCH', false],
        ['PATCH', true],
        ['DELETE', false],
        ['DELETE', true],
      ] as const) {
        const bulk = await newBulk(method, confirmed ? '' : randomUUID());
        const preview = confirmed ? await send(doomed, bulk, '&dry_run=true') : null;
        const query = preview === null ? '' : `&confirm_token=${preview.body.confirm_token}`;
        // The claim of a key commits separately; only the change has a transaction.
        const held = proxy.holdAnswerTo('COMMIT', 'INSERT INTO "operations"');
        const response = send(doomed, bulk, query).then(
          () => 'answered',
          () => 'cut',
        );
        await held;
        expect(await doneTo(bulk.carrier)).toEqual(all);
        lost.push({ bulk, query, response });
      }
      await doomed.kill();
      for (const { bulk, query, response } of lost) {
        expect(await response).toBe('cut');
        const again = await send(instance, bulk, query);
        if (bulk.key === '') expect([again.status, again.body.code]).toEqual([409, 'bulk.set_changed']);
        else
          expect([again.status, again.body]).toEqual([
            200,
            expect.objectContaining({ matched: many, changed: many, undo_until: expect.any(String) }),
          ]);
        expect(await doneTo(bulk.carrier)).toEqual(all);
      }
    } finally {
      await doomed.kill();
      await proxy.cut();
    }
  });

  it.each([
    ['the other instance', { locale: 'fr' }],
    ['its replacement', null],
  ])('continues the batches of an operation in %s after a kill, each user once (F1, F2, F13)', async (by, change) => {
    const { carrier } = await newBulk('PATCH');
    const users = await cluster.rows<{ user_id: string }>(
      'select user_id from users where carrier_id = $1 order by user_id',
      [carrier],
    );
    const ids = users.map(({ user_id }) => user_id);
    const [held] = await cluster.rows<{ name: string }>('select name from users where user_id = $1', [ids[50]]);
    const batches = [ids.slice(0, 40), ids.slice(40, 80), ids.slice(80)];
    const pair = new Map([['one', instance]]);
    if (by === 'the other instance') pair.set('two', await start('two'));
    const holder = await hold(held?.name ?? '');
    const operation_id = await acceptWork(cluster, { actor_id: admin_id, change, batches });
    await lockWaits(cluster);
    const [worker] = await cluster.rows<{ name: string }>(
      `select application_name as name from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    await pair.get(worker?.name ?? '')?.kill();
    pair.delete(worker?.name ?? '');
    const progress = async () =>
      (
        await cluster.rows('select processed, changed, status from operations where operation_id = $1', [operation_id])
      )[0];
    expect(await progress()).toMatchObject({ processed: 40, changed: 40 });
    await holder.end();
    instance = [...pair.values()][0] ?? (await start('one'));
    await until(async () => (await progress())?.['status'] === 'done', 120_000);
    expect(await progress()).toMatchObject({ processed: many, changed: many });
    expect(await doneTo(carrier)).toEqual(all);
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
  });
});

describe('operations whose batches exceed the time limit of the database', () => {
  let actors: string[];
  beforeAll(async () => {
    // No other instance may take the work.
    await instance.kill();
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
    await until(async () => (await read())?.finished_at !== null);
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
    await cluster.rows(`drop trigger slow_down on users; update users set locale = null where carrier_id = 'slow'`);
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
