import { createHash, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Cluster } from '../support/cluster';
import { importRow } from '../support/imports';
import { lockWaits } from '../support/locks';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import type { ServiceProcess } from '../support/service-process';
import { until } from '../support/until';

const md5 = createHash('md5').update('the old password').digest('hex');

interface Progress {
  operation_id: string;
  status: string;
  total: number;
  processed: number;
  skipped: { line: number; reason: string }[];
  finished_at: Date | null;
}

/** `test/bulk/crashes.long.spec.ts` kills at random moments. */
describe('imports whose process is killed', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  let gate: Client;
  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start();
    token = await cluster.login(instance);
    await cluster.rows(`create function wait_at_gate() returns trigger language plpgsql set lock_timeout = 0
      as $$ begin if new.name like '%-slow' then perform pg_advisory_xact_lock(77); end if; return new; end $$`);
    await cluster.rows('create trigger gate before insert on users for each row execute function wait_at_gate()');
  });
  beforeEach(async () => {
    gate = new Client(cluster.databaseUrl);
    await gate.connect();
    await gate.query('begin; select pg_advisory_xact_lock(77)');
  });
  afterEach(() => gate.end());
  afterAll(() => cluster.close());

  const fileOf = (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
  const headersOf = (key: string) => ({ 'content-type': 'application/x-ndjson', 'idempotency-key': key });
  const send = (body: string, key: string) =>
    instance.send('POST', '/user/import', { token, body, headers: headersOf(key) });
  const newest = async () =>
    (await cluster.rows<Progress>('select * from operations order by operation_id desc limit 1'))[0] as Progress;
  /** Counts users by the prefix of their names, their events of an operation, and their hashes. */
  const made = async (prefix: string, operation_id: string) => {
    const [counted] = await cluster.rows(
      `
        select
          count(*)::integer as users, count(distinct name)::integer as names,
          (
            select count(*)::integer from events where operation_id = $2 and event_type = 'user.created'
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
  const noBatches = async () => expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);

  it('turn every row into one user or one rejection in the next process, also on retry (F1, F3, F12)', async () => {
    // Two batches. The first one is done when the process is killed.
    const rows = Array.from({ length: 1_100 }, (_, i) => {
      if (i === 7) return importRow('!!!');
      if (i === 8) return importRow('small-1');
      return importRow(i === 1_050 ? 'small-slow' : `small-${i}`, i % 100 === 5 ? { password_hash: md5 } : {});
    });
    const key = randomUUID();
    const first = send(fileOf(rows), key).catch(() => 'broken off');
    await lockWaits(cluster);
    await instance.kill();
    expect(await first).toBe('broken off');
    const at = await newest();
    expect(at).toMatchObject({ total: 1_100, finished_at: null });
    expect(at.processed).toBeGreaterThan(0);
    await gate.query('commit');
    instance = await cluster.start();
    await until(async () => (await newest()).finished_at !== null, 120_000);
    const { operation_id, skipped, ...done } = await newest();
    expect(done).toMatchObject({ status: 'done', changed: 1_098, processed: 1_100, skipped_count: 2 });
    expect(skipped).toMatchObject([
      { line: 8, reason: 'field.malformed' },
      { line: 9, reason: 'user.name_taken' },
    ]);
    const kept = await cluster.rows(
      `select line, errors #>> '{0,code}' as code, cells ->> 'name' as name
       from operation_skipped where operation_id = $1 order by line`,
      [operation_id],
    );
    expect(kept).toEqual([
      { line: 8, code: 'field.malformed', name: '!!!' },
      { line: 9, code: 'user.name_taken', name: 'small-1' },
    ]);
    const again = await send(fileOf(rows), key);
    const location = `/user/operation/${operation_id}`;
    expect([again.status, again.body.operation_id, again.headers['location']]).toEqual([202, operation_id, location]);
    const users = 1_098;
    const all = { users, names: users, events: users, created: users, hashes: 11 };
    expect(await made('small', operation_id)).toEqual(all);
    await noBatches();
  });

  it('create no user from a file that was still uploading, discard it and accept it again (F3)', async () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => importRow(`upload-${i}`));
    const key = randomUUID();
    const head = { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked', ...headersOf(key) };
    const connection = await RawConnection.open(instance.port);
    await connection.send(requestHead('POST', '/user/import', head) + chunk(`${fileOf(rows)}\n`));
    await until(async () => (await newest()).total === 2_000);
    await instance.kill();
    await connection.ended;
    expect(connection.received).toBe('');
    instance = await cluster.start();
    const left = await newest();
    expect(left).toMatchObject({ status: 'receiving', total: 2_000, processed: 0 });
    await cluster.rows(`update operations set progressed_at = now() - interval '11 minutes' where operation_id = $1`, [
      left.operation_id,
    ]);
    await until(async () => (await newest()).operation_id !== left.operation_id);
    await noBatches();
    expect(await made('upload', left.operation_id)).toMatchObject({ users: 0, events: 0 });
    // The claim expires ten seconds after its process died.
    let again = await send(fileOf(rows), key);
    await until(async () => {
      if (again.status === 409) again = await send(fileOf(rows), key);
      return again.status === 200;
    }, 60_000);
    expect(again.body).toMatchObject({ changed: rows.length, skipped_count: 0 });
    expect((await made('upload', again.body.operation_id))?.['users']).toBe(rows.length);
    await noBatches();
  });
});
