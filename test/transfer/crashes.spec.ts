import { createHash, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Cluster } from '../support/process/cluster';
import { importRow } from '../support/data/imports';
import { lockWaits } from '../support/locks';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import type { ServiceProcess } from '../support/process/service-process';
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
    gate = new Client(cluster.databaseUrl);
    await gate.connect();
    await gate.query('begin; select pg_advisory_xact_lock(77)');
  });
  afterAll(async () => {
    await gate.end();
    await cluster.close();
  });

  const fileOf = (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
  const headersOf = (key: string) => ({ 'content-type': 'application/x-ndjson', 'idempotency-key': key });
  const send = (body: string, key: string) =>
    instance.send('POST', '/user/import', { token, body, headers: headersOf(key) });
  const newest = async () =>
    (await cluster.rows<Progress>('select * from operations order by operation_id desc limit 1'))[0] as Progress;
  const operation = async (operation_id: string) =>
    (await cluster.rows<Progress>('select * from operations where operation_id = $1', [operation_id]))[0];
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

  it('turn every row into a user or a rejection in the next process, and discard uploads (F1, F3, F12)', async () => {
    // Two batches. The first one is done when the process is killed.
    const rows = Array.from({ length: 1_100 }, (_, i) => {
      if (i === 7) return importRow('!!!');
      if (i === 8) return importRow('small-1');
      return importRow(i === 1_050 ? 'small-slow' : `small-${i}`, i % 100 === 5 ? { password_hash: md5 } : {});
    });
    const key = randomUUID();
    const first = send(fileOf(rows), key).catch(() => 'broken off');
    await lockWaits(cluster);
    const { operation_id } = await newest();

    const uploaded = Array.from({ length: 2_500 }, (_, i) => importRow(`upload-${i}`));
    const uploadKey = randomUUID();
    const head = { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked', ...headersOf(uploadKey) };
    const connection = await RawConnection.open(instance.port);
    await connection.send(requestHead('POST', '/user/import', head) + chunk(`${fileOf(uploaded)}\n`));
    await until(async () => (await newest()).total === 2_000);
    const { operation_id: uploadId } = await newest();

    await instance.kill();
    expect(await first).toBe('broken off');
    await connection.ended;
    expect(connection.received).toBe('');
    const at = await operation(operation_id);
    expect(at).toMatchObject({ total: 1_100, finished_at: null });
    expect(at?.processed).toBeGreaterThan(0);
    expect(await operation(uploadId)).toMatchObject({ status: 'receiving', total: 2_000, processed: 0 });
    await cluster.rows(`update operations set progressed_at = now() - interval '11 minutes' where operation_id = $1`, [
      uploadId,
    ]);
    await gate.query('commit');
    instance = await cluster.start();

    await until(async () => (await operation(operation_id))?.finished_at !== null, 120_000);
    const { skipped, ...done } = (await operation(operation_id)) as Progress;
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

    await until(async () => (await operation(uploadId)) === undefined);
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
    expect(await made('upload', uploadId)).toMatchObject({ users: 0, events: 0 });
    // The claim expires ten seconds after its process died.
    let retried = await send(fileOf(uploaded), uploadKey);
    await until(async () => {
      if (retried.status === 409) retried = await send(fileOf(uploaded), uploadKey);
      return retried.status === 200;
    }, 60_000);
    expect(retried.body).toMatchObject({ changed: uploaded.length, skipped_count: 0 });
    expect((await made('upload', retried.body.operation_id))?.['users']).toBe(uploaded.length);
    expect(await cluster.rows('select 1 from operation_batches')).toEqual([]);
  });
});
