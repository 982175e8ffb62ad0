import { Client } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { PartitionEvents1795200032000 } from '../../migrations/1795200032000-PartitionEvents';
import { dataSourceOptions } from '../../src/database/data-source';
import { migrateDatabase } from '../../src/database/migrate';
import { describeSchema } from '../support/schema';
import { StartLines } from '../support/start-lines';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const before = 'AddEventTransactions1795200030000';
/** The statements that instances of the previous release send. */
const oldStatements = {
  record: `insert into events (
      event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
      target_id, carrier_id, changes, target_version
    )
    select 'login.succeeded', null, 'system', 'login', null, null, null, $1, null, null, '{}', null`,
  list: 'select event_id from events where true order by occurred_at desc, event_id desc limit 51',
  erase: `update events set ip = null where actor_type = 'user' and actor_id = any($1::uuid[])`,
};

describe('the partitioning of an existing audit log', () => {
  let database: TestDatabase;
  let client: Client;
  let fresh: string[];
  beforeEach(async () => {
    database = await createTestDatabase();
    client = await connect();
    fresh = await describeSchema(client);
    const dataSource = await open();
    const isApplied = async () =>
      (await client.query('select 1 from migrations where name = $1', [before])).rowCount === 1;
    while (await isApplied()) await dataSource.undoLastMigration();
    await dataSource.destroy();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  async function connect(): Promise<Client> {
    const other = new Client({ connectionString: database.url });
    other.on('error', () => undefined);
    await other.connect();
    return other;
  }

  const open = () =>
    new DataSource(dataSourceOptions({ url: database.url, poolMax: 2, purpose: 'migrations' })).initialize();

  async function fill(count: number): Promise<void> {
    await client.query(
      `insert into events (event_type, actor_type, occurred_at, request_id)
       select 'user.invited', 'system', now() - i * interval '1 hour', 'old-' || i
       from generate_series(1, $1) i`,
      [count],
    );
  }

  const stored = async (prefix: string) =>
    (
      await client.query<{ request_id: string }>('select request_id from events where starts_with(request_id, $1)', [
        prefix,
      ])
    ).rows.map(({ request_id }) => request_id);

  it('neither loses nor blocks statements of running instances of the previous release', async () => {
    await fill(20_000);
    let stopped = false;
    const written: string[] = [];
    let slowestMs = 0;
    const writers = [1, 2, 3].map(async (writer) => {
      const instance = await connect();
      for (let i = 0; !stopped; i++) {
        const id = `new-${writer}-${i}`;
        const beganAt = performance.now();
        await instance.query('begin');
        await instance.query({ name: 'record', text: oldStatements.record, values: [id] });
        await instance.query({ name: 'list', text: oldStatements.list });
        await instance.query(`select set_config('carrier_identity.erasing', 'on', true)`);
        await instance.query({ name: 'erase', text: oldStatements.erase, values: [[]] });
        await instance.query('commit');
        slowestMs = Math.max(slowestMs, performance.now() - beganAt);
        written.push(id);
      }
      await instance.end();
    });
    const lines = new StartLines();
    await migrateDatabase(database.url, lines).finally(() => (stopped = true));
    await Promise.all(writers);
    expect(await stored('old-')).toHaveLength(20_000);
    expect((await stored('new-')).sort()).toEqual(written.sort());
    expect(written.length).toBeGreaterThan(10);
    expect(slowestMs).toBeLessThan(3_000);
    expect(await describeSchema(client)).toEqual(fresh);
    const { rows } = await client.query(`
      select count(*) filter (where tx is null)::integer as without from events where starts_with(request_id, 'old-')`);
    expect(rows).toEqual([{ without: 20_000 }]);
  });

  it('does not copy the existing rows', async () => {
    await fill(1_000);
    const file = async (table: string) =>
      (await client.query<{ file: string }>(`select pg_relation_filenode('${table}') as file`)).rows[0]?.file;
    const old = await file('events');
    await migrateDatabase(database.url);
    expect(await file('events_first')).toBe(old);
  });

  it('continues after a kill at any statement', async () => {
    await fill(50);
    await migrateWithout('PartitionEvents1795200032000');
    for (let statements = 0; ; statements++) {
      const dataSource = await open();
      const runner = dataSource.createQueryRunner();
      const done = await new PartitionEvents1795200032000().up(killedAfter(runner, statements)).then(
        () => true,
        () => false,
      );
      await dataSource.destroy();
      // Instances of the previous release continue to record events.
      await client.query(oldStatements.record, [`new-${statements}`]);
      if (!done) continue;
      expect(statements).toBeGreaterThan(25);
      await migrateDatabase(database.url);
      expect(await describeSchema(client)).toEqual(fresh);
      expect(await stored('old-')).toHaveLength(50);
      expect(await stored('new-')).toHaveLength(statements + 1);
      return;
    }
  });

  it('keeps an audit log with events in the future, which a wrong clock recorded', async () => {
    await client.query(`
      insert into events (event_type, actor_type, occurred_at)
      values ('user.invited', 'system', now() + interval '2 years')`);
    await migrateDatabase(database.url);
    expect((await client.query('select 1 from events_first')).rowCount).toBe(1);
    await client.query(oldStatements.record, ['new']);
  });

  it('waits for a long transaction, and lets writers pass meanwhile', async () => {
    await fill(10);
    await migrateWithout('PartitionEvents1795200032000');
    const bulk = await connect();
    await bulk.query('begin');
    await bulk.query(oldStatements.record, ['new-1']);
    const lines = new StartLines();
    const migrated = migrateDatabase(database.url, lines);
    const beganAt = performance.now();
    while (lines.warned.length === 0) await client.query(oldStatements.record, ['new-2']);
    expect(performance.now() - beganAt).toBeLessThan(30_000);
    await bulk.query('commit');
    await bulk.end();
    await migrated;
    expect(lines.warned[0]).toMatch(
      /^PartitionEvents1795200032000 waits for a lock of another transaction, attempt 1 /,
    );
    expect(await stored('new-1')).toHaveLength(1);
  });

  /** Applies all migrations before the given migration. */
  async function migrateWithout(name: string): Promise<void> {
    const dataSource = await open();
    const runner = dataSource.createQueryRunner();
    for (const migration of dataSource.migrations) {
      const known = (await client.query('select 1 from migrations where name = $1', [migration.constructor.name]))
        .rowCount;
      if (known === 1) continue;
      if (migration.constructor.name === name) break;
      await runner.startTransaction();
      const outside = migration.transaction === false;
      if (outside) await runner.commitTransaction();
      await migration.up(runner);
      if (!outside) await runner.commitTransaction();
      await client.query('insert into migrations (timestamp, name) values ($1, $2)', [
        Number(migration.constructor.name.slice(-13)),
        migration.constructor.name,
      ]);
    }
    await dataSource.destroy();
  }

  /** Returns a runner whose connection is terminated after a number of statements. */
  function killedAfter(runner: QueryRunner, count: number): QueryRunner {
    let sent = 0;
    const query = async (text: string) => {
      if (sent++ === count) {
        const [{ pid }] = (await runner.query('select pg_backend_pid() as pid')) as [{ pid: number }];
        await client.query('select pg_terminate_backend($1, 5000)', [pid]);
      }
      return (await runner.query(text)) as unknown;
    };
    return new Proxy(runner, {
      get: (target, key) => {
        if (key === 'query') return query;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }
});
