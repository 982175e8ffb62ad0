import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster';
import { until } from '../support/until';
import { addManyUsers } from '../support/many-users';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';

jest.setTimeout(600_000);

/** Number of kills during a change and a deletion. A longer run sets KILLS. */
const rounds = Number(process.env['KILLS'] ?? 2);
const many = 1_000;
/** About the duration of both requests. */
const killWithinMs = 700;

/** A bulk request that is retried until it gets a response. */
interface Bulk {
  method: 'PATCH' | 'DELETE';
  carrier: string;
  key: string;
}

describe('bulk changes within the request whose response never arrives', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start();
    token = await cluster.login(instance);
  });
  afterAll(() => cluster.close());

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
  const doneTo = async ({ carrier }: Bulk) =>
    (
      await cluster.rows<{ users: number; done: number; steps: number; events: number }>(
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
  /** Waits until the database has ended all work of a killed process. */
  const quiet = () =>
    until(
      async () =>
        (
          await cluster.rows(
            `
              select 1
              from pg_stat_activity
              where datname = current_database()
                and state <> 'idle'
                and pid <> pg_backend_pid()`,
          )
        ).length === 0,
    );

  it(`changes all ${many} users or none after kill -9, and each exactly once on retry (F1, F2)`, async () => {
    const bulks: Bulk[] = [];
    const counts = { none: 0, all: 0, answered: 0 };
    for (let round = 0; round < rounds || counts.answered === bulks.length; round++) {
      const both = [await newBulk('PATCH'), await newBulk('DELETE')];
      bulks.push(...both);
      const next = await cluster.start();
      const answers = both.map((bulk) =>
        send(instance, bulk).then(
          () => counts.answered++,
          () => undefined,
        ),
      );
      await delay(Math.random() * killWithinMs);
      await instance.kill();
      await Promise.all(answers);
      instance = next;
    }
    await quiet();
    for (const bulk of bulks) {
      const done = await doneTo(bulk);
      expect([all, none]).toContainEqual(done);
      counts[done?.done === many ? 'all' : 'none']++;
    }
    process.stdout.write(`${bulks.length / 2} kills amid 2 requests: ${JSON.stringify(counts)}\n`);
    for (const bulk of bulks) {
      let answer = await send(instance, bulk);
      await until(async () => {
        // The claim of the killed process lasts for seconds.
        if (answer.body.code === 'idempotency.in_progress') answer = await send(instance, bulk);
        return answer.status === 200;
      }, 20_000);
      expect(answer.body).toMatchObject({ matched: many, changed: many });
      expect((await send(instance, bulk)).body).toEqual(answer.body);
      expect(await doneTo(bulk)).toEqual(all);
    }
  });

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
        const held = proxy.holdAnswerTo('COMMIT', 'insert into operations');
        // The claim of a key commits separately; only the change has a transaction.
        const response = send(doomed, bulk, query).then(
          () => 'answered',
          () => 'cut',
        );
        await held;
        expect(await doneTo(bulk)).toEqual(all);
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
        expect(await doneTo(bulk)).toEqual(all);
      }
    } finally {
      await doomed.kill();
      await proxy.cut();
    }
  });
});
