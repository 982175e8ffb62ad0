import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/process/cluster';
import { importRow } from '../support/data/imports';
import { addManyUsers } from '../support/data/many-users';
import type { TestAnswer } from '../support/service';
import type { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

jest.setTimeout(3_600_000);

/** Number of kills of each test. A longer run sets KILLS. */
const kills = Number(process.env['KILLS'] ?? 8);
/** Many batches, so that most kills interrupt work. */
const many = 12_000;
/** Longer than a batch, so that a kill hits before, within and after a transaction. */
const killWithinMs = 700;

/** The progress of an operation, as stored. */
interface Progress {
  processed: number;
  finished_at: Date | null;
}

/** `crashes.spec.ts` kills within and after the transaction of a request. */
describe('work on many users whose process is killed at random moments', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start();
    token = await cluster.login(instance);
    await addManyUsers(cluster, many, 'many');
  });
  afterAll(() => cluster.close());

  const one = async <Row>(text: string, values: unknown[] = []) => (await cluster.rows<Row>(text, values))[0] as Row;
  const progressOf = (operation_id: string) =>
    one<Progress>('select * from operations where operation_id = $1', [operation_id]);

  it('is done in operations for each user once: changes, deletions, their undo and imports (F1, F2)', async () => {
    let killed = 0;
    /** Kills the process repeatedly until the operation ends, and checks its result. */
    const survive = async (answer: Promise<TestAnswer>, event_type: string, killsWanted: number, failed = 0) => {
      const { operation_id } = (await answer).body;
      while (killed < killsWanted && (await progressOf(operation_id)).finished_at === null) {
        await delay(Math.random() * killWithinMs);
        await instance.kill();
        const at = await progressOf(operation_id);
        instance = cluster.spawn();
        if (at.finished_at !== null) continue;
        killed++;
        await until(async () => {
          const { processed, finished_at } = await progressOf(operation_id);
          return processed > at.processed || finished_at !== null;
        }, 120_000);
      }
      await until(async () => (await progressOf(operation_id)).finished_at !== null, 300_000);
      await instance.ready();
      const changed = many - failed;
      expect(await progressOf(operation_id)).toMatchObject({
        ...{ status: 'done', total: many, processed: many, changed, unchanged: 0, skipped_count: failed },
      });
      expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
      const kept = await cluster.rows('select 1 from operation_skipped where operation_id = $1', [operation_id]);
      expect(kept).toHaveLength(failed);
      const events = await one(
        `
          select
            count(*)::integer as events, count(distinct target_id)::integer as users,
            count(*) filter (where coalesce(target_version, users.version) = users.version)::integer as newest
          from events
          join users on user_id = target_id
          where operation_id = $1 and event_type = $2`,
        [operation_id, event_type],
      );
      expect(events).toEqual({ events: changed, users: changed, newest: changed });
      return operation_id as string;
    };
    const contents = () =>
      one(`
        select md5(string_agg(restored::text, ';' order by user_id))
        from (
          select
            user_id, status, roles, locale, timezone, attributes, allowed_ips, must_change_password, deleted_at
          from users
          where carrier_id = 'many'
        ) restored`);
    const before = await contents();
    const send = (method: string, path: string, body?: unknown, headers = {}) =>
      instance.send(method, path, { token, body, headers });
    const undo = (operation_id: string) => send('POST', `/user/operation/${operation_id}/undo`);
    const path = '/user/all?carrier_id=many';
    for (let round = 0; killed < kills; round++) {
      const share = (operation: number) => (round === 0 ? Math.ceil((kills * operation) / 5) : kills);
      const change = { locale: 'fr', attributes: { number: null, round } };
      const changed = await survive(send('PATCH', path, change), 'user.changed', share(1));
      await survive(undo(changed), 'user.changed', share(2));
      expect(await contents()).toEqual(before);
      const deleted = await survive(send('DELETE', path), 'user.deleted', share(3));
      await survive(undo(deleted), 'user.restored', share(4));
      expect(await contents()).toEqual(before);
      // Every thousandth row is malformed, or has the name of another row.
      const password_hash = '5f4dcc3b5aa765d61d8327deb882cf99';
      const rows = Array.from({ length: many }, (_, i) => {
        const name = i % 1_000 === 7 ? '!!!' : i % 1_000 === 8 ? `round${round}-1` : `round${round}-${i}`;
        return JSON.stringify(importRow(name, i % 400 === 5 ? { password_hash } : {}));
      });
      const file = send('POST', '/user/import', rows.join('\n'), { 'content-type': 'application/x-ndjson' });
      await survive(file, 'user.created', share(5), (many / 1_000) * 2);
      const hashes = await one(
        `select count(*)::integer as hashes from credentials join users using (user_id) where name like $1`,
        [`round${round}-%`],
      );
      expect(hashes).toEqual({ hashes: many / 400 });
    }
  });
});
