import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster';
import { until } from '../support/until';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import type { ServiceProcess } from '../support/service-process';

jest.setTimeout(180_000);

/** Number of kills during the operation. A longer run sets KILLS. */
const kills = Number(process.env['KILLS'] ?? 3);
const many = 12_000;
/** Longer than a batch, so that a kill hits before, within and after a transaction. */
const killWithinMs = 250;
const md5 = createHash('md5').update('the old password').digest('hex');

interface Progress {
  operation_id: string;
  status: string;
  total: number;
  processed: number;
  changed: number;
  unchanged: number;
  skipped_count: number;
  skipped: { line: number; reason: string }[];
  finished_at: Date | null;
}

describe('imports whose process is killed', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start();
    token = await cluster.login(instance);
  });
  afterAll(() => cluster.close());

  const row = (name: string, more: object = {}) =>
    JSON.stringify({ user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1', ...more });
  const headersOf = (key: string) => ({ 'content-type': 'application/x-ndjson', 'idempotency-key': key });
  const send = (body: string, key: string) =>
    instance.send('POST', '/user/import', { token, body, headers: headersOf(key) });
  const operations = () => cluster.rows<Progress>('select * from operations order by operation_id desc');
  const newest = async () => (await operations())[0];
  /**
   * Returns users by the prefix of their names, with their events of an operation and their hashes.
   */
  const made = async (prefix: string, operation_id: string) => {
    const [counted] = await cluster.rows(
      `
        select
          count(*)::integer as users, count(distinct name)::integer as names,
          (
            select count(*)::integer
            from events
            where operation_id = $2 and event_type = 'user.created'
          ) as events,
          (
            select count(distinct target_id)::integer
            from events
            join users on user_id = target_id
            where operation_id = $2 and name like $1
          ) as created,
          (
            select count(*)::integer
            from credentials
            join users using (user_id)
            where name like $1 and password_hash like '$md5$argon2id$%'
          ) as hashes
        from users
        where name like $1`,
      [`${prefix}-%`, operation_id],
    );
    return counted;
  };

  it('turns every row of a large file into exactly one user or one rejection (F1)', async () => {
    let amid = 0;
    for (let round = 0; amid < kills; round++) {
      const prefix = `round${round}`;
      const rows = Array.from({ length: many }, (_, i) => {
        if (i % 1_000 === 7) return row('!!!');
        if (i % 1_000 === 8) return row(`${prefix}-1`);
        return row(`${prefix}-${i}`, i % 400 === 5 ? { password_hash: md5 } : {});
      });
      const { status, body } = await send(rows.join('\n'), prefix);
      expect([status, body.matched]).toEqual([202, many]);
      while (amid < kills && (await newest())?.finished_at === null) {
        await delay(Math.random() * killWithinMs);
        await instance.kill();
        const at = (await newest()) as Progress;
        instance = await cluster.spawn();
        if (at.finished_at === null) {
          // After the last batch, only the end of the operation remains.
          await until(
            async () => (await newest())!.processed > at.processed || (await newest())!.finished_at !== null,
            60_000,
          );
          amid++;
        }
      }
      await until(async () => (await newest())?.finished_at !== null, 60_000);
      await instance.ready();
      const refused = (many / 1_000) * 2;
      const { skipped, ...done } = (await newest()) as Progress;
      expect(done).toMatchObject({
        ...{ operation_id: body.operation_id, status: 'done', total: many, processed: many },
        ...{ changed: many - refused, unchanged: 0, skipped_count: refused },
      });
      expect(skipped.map(({ line, reason }) => [line, reason])).toEqual(
        Array.from({ length: many / 1_000 }, (_, i) => [
          [i * 1_000 + 8, 'field.malformed'],
          [i * 1_000 + 9, 'user.name_taken'],
        ]).flat(),
      );
      const kept = await cluster.rows<{ line: number; code: string; name: string }>(
        `select line, errors #>> '{0,code}' as code, cells ->> 'name' as name
         from operation_skipped where operation_id = $1 order by line`,
        [body.operation_id],
      );
      expect(kept).toEqual(
        skipped.map(({ line, reason }) => ({
          ...{ line, code: reason },
          name: reason === 'field.malformed' ? '!!!' : `${prefix}-1`,
        })),
      );
      const [users, hashes] = [many - refused, many / 400];
      expect(await made(prefix, body.operation_id)).toEqual({
        users,
        names: users,
        events: users,
        created: users,
        hashes,
      });
      expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
    }
  });

  it('finishes a small file in the next process and creates no user twice on retry (F3, F12)', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => row(`small-${i}`, i < 80 ? { password_hash: md5 } : {}));
    const key = randomUUID();
    const first = send(rows.join('\n'), key).catch(() => 'broken off');
    const under = async () => (await operations()).find(({ total }) => total === rows.length);
    await until(async () => ((await under())?.processed ?? 0) > 0, 60_000);
    await instance.kill();
    expect(await first).toBe('broken off');
    expect((await under())?.finished_at).toBeNull();
    instance = await cluster.start();
    await until(async () => (await under())?.finished_at !== null, 60_000);
    const { operation_id, status, changed, processed } = (await under()) as Progress;
    expect([status, changed, processed]).toEqual(['done', rows.length, rows.length]);
    const again = await send(rows.join('\n'), key);
    expect([again.status, again.body.operation_id, again.headers['location']]).toEqual([
      202,
      operation_id,
      `/user/operation/${operation_id}`,
    ]);
    const users = rows.length;
    expect(await made('small', operation_id)).toEqual({
      users,
      names: users,
      events: users,
      created: users,
      hashes: 80,
    });
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
  });

  it('creates no user from a file that was still uploading, discards it and accepts it again (F3)', async () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => row(`upload-${i}`));
    const key = randomUUID();
    const head = { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked', ...headersOf(key) };
    const connection = await RawConnection.open(Number(new URL(instance.url).port));
    await connection.send(requestHead('POST', '/user/import', head) + chunk(`${rows.join('\n')}\n`));
    await until(async () => (await newest())?.total === 2_000);
    await instance.kill();
    await connection.ended;
    expect(connection.received).toBe('');
    instance = await cluster.start();
    const left = (await newest()) as Progress;
    expect([left.status, left.total, left.processed]).toEqual(['receiving', 2_000, 0]);
    await cluster.rows(`update operations set progressed_at = now() - interval '11 minutes' where operation_id = $1`, [
      left.operation_id,
    ]);
    await until(async () => (await newest())?.operation_id !== left.operation_id);
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
    expect(await made('upload', left.operation_id)).toMatchObject({ users: 0, events: 0 });
    // The claim expires ten seconds after its process died.
    let again = await send(rows.join('\n'), key);
    await until(async () => {
      if (again.status === 409) again = await send(rows.join('\n'), key);
      return again.status === 200;
    });
    expect(again.body).toMatchObject({ changed: rows.length, skipped_count: 0 });
    expect((await made('upload', again.body.operation_id))?.['users']).toBe(rows.length);
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
  });
});
