import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { migrateDatabase } from '../../src/platform/database/migrate';
import { withMigrationLock } from '../../src/platform/database/migration-lock';
import { StartFault } from '../../src/platform/start-fault';
import { describeSchema } from '../support/schema';
import { StartLines } from '../support/start-lines';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

/** Tables of TypeORM, which remain after all migrations are reverted. */
const bookkeeping = /\b(migrations|migrations_id_seq|typeorm_metadata)\b/;

describe('the migration of a database', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let client: Client;
  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
    const options = dataSourceOptions({ url: database.url, poolMax: 2, purpose: 'migrations' });
    dataSource = await new DataSource(options).initialize();
    client = await connect(database.url);
  });
  afterEach(async () => {
    await client.end();
    await dataSource.destroy();
    await database.drop();
  });

  async function connect(url: string): Promise<Client> {
    const connected = new Client({ connectionString: url });
    await connected.connect();
    return connected;
  }

  async function contentOf(connected: Client): Promise<{ schema: string[]; roles: { name: string }[] }> {
    const { rows } = await connected.query<{ name: string }>('select * from roles order by name');
    return { schema: await describeSchema(connected), roles: rows };
  }

  /** Names of the applied migrations, in order. */
  const applied = async () =>
    (await client.query<{ name: string }>('select name from migrations order by id')).rows.map(({ name }) => name);
  const drift = async () => {
    const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
    return [...upQueries, ...downQueries].map(({ query }) => query);
  };

  it('creates exactly the schema of the entities, with functions and first rows', async () => {
    expect(await describeSchema(client)).toEqual([]);
    await dataSource.runMigrations();
    const template = await createTestDatabase();
    const other = await connect(template.url);
    const [made, wanted] = [await contentOf(client), await contentOf(other)];
    await other.end();
    await template.drop();
    expect(made).toEqual(wanted);
    expect(made.roles.map(({ name }) => name)).toContain('administrator');
    const fresh = 'autovacuum_analyze_scale_factor=0,autovacuum_analyze_threshold=2000';
    const parts = ['column sessions.refresh_token_hash bytea', 'trigger CREATE TRIGGER events_append_only'];
    for (const part of [`relation r users ${fresh}`, `relation r sessions ${fresh}`, ...parts])
      expect(made.schema).toContainEqual(expect.stringContaining(part));
    expect(await drift()).toEqual([]);
    // Control: the same comparison finds a difference, so it does read this database.
    await client.query('drop index keys_created_at_idx; alter table users alter column phone set not null');
    expect((await drift()).length).toBeGreaterThan(1);
  });

  it('leaves nothing of the service when it is reverted, and runs again from there', async () => {
    await dataSource.runMigrations();
    const before = await contentOf(client);
    expect(await applied()).toHaveLength(dataSource.migrations.length);
    while ((await applied()).length > 0) await dataSource.undoLastMigration();
    expect((await describeSchema(client)).filter((line) => !bookkeeping.test(line))).toEqual([]);
    await dataSource.runMigrations();
    expect(await contentOf(client)).toEqual(before);
  });

  it('leaves no partial change when it fails, and logs each migration of the next attempt once (F15)', async () => {
    // Conflicts with the last but one statement of the first migration.
    await client.query('create table events (in_the_way integer)');
    await expect(migrateDatabase(database.url)).rejects.toThrow('relation "events" already exists');
    expect(await describeSchema(client)).toEqual(['column events.in_the_way integer f  ', 'relation r events ']);
    await client.query('drop table events');
    const [first, second] = [new StartLines(), new StartLines()];
    await migrateDatabase(database.url, first);
    expect(await applied()).toHaveLength(dataSource.migrations.length);
    const lines = (await applied()).map((name) => new RegExp(`^applied migration ${name} in \\d+ ms$`));
    expect(first.logged).toEqual(lines.map((line) => expect.stringMatching(line)));
    await migrateDatabase(database.url, second);
    expect([first.warned, second.logged, second.warned]).toEqual([[], [], []]);
  });

  it('waits for another instance, logs it, and gives up without keeping the lock (F15)', async () => {
    const holder = await connect(database.url);
    await holder.query('select pg_advisory_lock(7263004)');
    const lines = new StartLines();
    const work = jest.fn(() => Promise.resolve('migrated'));
    await expect(withMigrationLock(database.url, lines, work, 300)).rejects.toThrow(StartFault);
    expect([lines.warned, work.mock.calls]).toEqual([['waits for another instance, which migrates the database'], []]);
    const waiting = withMigrationLock(database.url, lines, work);
    await holder.end();
    expect(await waiting).toBe('migrated');
    // The lock is also released after a failure.
    const failing = withMigrationLock(database.url, lines, () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    expect(await withMigrationLock(database.url, lines, work, 0)).toBe('migrated');
  });

  it('does not block requests while it waits for the table lock of a long transaction', async () => {
    await dataSource.runMigrations();
    const fresh = await describeSchema(client);
    const name = 'AddRoleVersions1795200057000';
    while ((await applied()).includes(name)) await dataSource.undoLastMigration();
    const reader = await connect(database.url);
    await reader.query('begin; select from roles');
    const lines = new StartLines();
    const migrated = migrateDatabase(database.url, lines);
    await until(() => lines.warned.length > 0);
    // The reader keeps its lock, so this query ends only if the migration stops waiting.
    await client.query('select from roles');
    await reader.end();
    await migrated;
    expect(lines.warned[0]).toMatch(new RegExp(`^${name} waits for a lock of another transaction, attempt 1 of `));
    expect(await describeSchema(client)).toEqual(fresh);
  });

  it('logs the migrations of a newer release, and rejects a database older than release 0.2.0 unchanged', async () => {
    await dataSource.runMigrations();
    await client.query(`insert into migrations (timestamp, name) values (1999999999999, 'DropPhone1999999999999')`);
    const lines = new StartLines();
    await migrateDatabase(database.url, lines);
    expect(lines.warned).toEqual(['a newer release has migrated the database: DropPhone1999999999999']);

    await client.query(`
      delete from migrations;
      insert into migrations (timestamp, name) values (1795200000000, 'CreateSchema1795200000000')`);
    const before = await describeSchema(client);
    await expect(migrateDatabase(database.url)).rejects.toThrow(
      'the database is older than release 0.2.0. Start release 0.2.0 once, then this release',
    );
    expect(await describeSchema(client)).toEqual(before);
    expect(await applied()).toEqual(['CreateSchema1795200000000']);
  });
});
