import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { hash } from '@node-rs/argon2';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { migrateDatabase } from '../../src/platform/database/migrate';
import { withMigrationLock } from '../../src/platform/database/migration-lock';
import { StartFault } from '../../src/platform/start-fault';
import { describeSchema } from '../support/contract/schema';
import { appSecret, password, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { StartLines } from '../support/process/start-lines';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

type Row = Record<string, unknown>;

/** Written by scripts/migration-fixture.js, one for each landed state since release 0.2.0. */
const directory = join(__dirname, 'fixtures');
const fixtures = readdirSync(directory).map((file) => file.replace('.sql.gz', ''));
const release020 = 'd4043a5';
/** The baseline, named after the last migration of release 0.2.0. */
const baseline = 'IndexUserWarnings1795200051000';
/** Partitions of the audit log depend on the date. */
const month = /\bevents_\d{4}_\d\d\b/;
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

  it('cannot be reverted after a restore, because new changes would be numbered before earlier ones', async () => {
    await dataSource.runMigrations();
    await client.query('select feed_continue()');
    await expect(dataSource.undoLastMigration()).rejects.toThrow('the change feed continues after a restore');
    expect(await applied()).toHaveLength(dataSource.migrations.length);
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

  it('completes the built-in operator role, unless its permissions were changed', async () => {
    await dataSource.runMigrations();
    const permissions = async () => {
      const { rows } = await client.query<{ permissions: string[] }>(`select * from roles where name = 'operator'`);
      return rows[0]?.permissions ?? [];
    };
    const revert = async () => {
      while ((await applied()).includes('AddAddressBlocks1795200067000')) await dataSource.undoLastMigration();
    };
    const complete = await permissions();
    await revert();
    const before = await permissions();
    const added = complete.filter((permission) => !before.includes(permission));
    expect(added).toEqual(['address_block:manage', 'audit:read', 'mail:manage']);
    await client.query(`update roles set permissions = permissions || '{audit:read}' where name = 'operator'`);
    await dataSource.runMigrations();
    expect(await permissions()).toEqual([...before, 'audit:read']);
    await revert();
    expect(await permissions()).toEqual([...before, 'audit:read']);
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

/** One database in turn for all earlier releases, because creating a database takes longest. */
describe('an upgrade', () => {
  let database: TestDatabase;
  let sql: Pool;
  let freshSchema: string[];
  beforeAll(async () => {
    const fresh = await createTestDatabase();
    const freshSql = new Pool({ connectionString: fresh.url, max: 1 });
    freshSchema = await schemaOf(freshSql);
    await freshSql.end();
    await fresh.drop();
    database = await createTestDatabase({ empty: true });
    sql = new Pool({ connectionString: database.url, max: 1 });
  });
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  /** A dump flattens nested conditions of triggers, so that they have fewer parentheses. */
  async function schemaOf(pool: Pool): Promise<string[]> {
    const client = await pool.connect();
    const lines = (await describeSchema(client)).filter((line) => !month.test(line));
    client.release();
    return lines.map((line) => (line.startsWith('trigger') ? line.replace(/[()]/g, '') : line));
  }

  async function load(fixture: string): Promise<void> {
    await sql.query('drop schema public cascade; create schema public');
    await sql.query(gunzipSync(readFileSync(join(directory, `${fixture}.sql.gz`))).toString());
    // The dump changes settings of the connection.
    await sql.query('discard all');
  }

  /** Returns the rows of each table of the service. */
  async function contents(): Promise<Map<string, Row[]>> {
    const tables = await sql.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' and tablename <> all ($1)`,
      [['migrations', 'typeorm_metadata']],
    );
    const found: [table: string, rows: Row[]][] = [];
    for (const { name } of tables.rows) {
      const { rows } = await sql.query<{ row: Row }>(`select to_jsonb(${name}) - 'search_text' as row from ${name}`);
      found.push([name, rows.map(({ row }) => row)]);
    }
    return new Map(found);
  }

  it.each(fixtures)('from %s creates the schema of a new database, with all rows, and reverts', async (fixture) => {
    await load(fixture);
    const before = await contents();
    await migrateDatabase(database.url);
    expect(await schemaOf(sql)).toEqual(freshSchema);
    const after = await contents();
    for (const [table, rows] of before)
      expect([table, after.get(table)]).toEqual([
        table,
        expect.arrayContaining(rows.map((row) => expect.objectContaining(migrated(row)) as unknown)),
      ]);
    expect([...before.values()].flat().length).toBeGreaterThan(10);
    const search = after.get('user_search')?.find((row) => row['last_name'] === 'Lovelace');
    expect(search?.['names']).toBe(' ada, adaᚵexampleᚭcom; ada: lovelace.');
    expect(after.get('user_tombstones')).toHaveLength(1);

    await sql.query(`update users set department = 'Works'`);
    const options = dataSourceOptions({ url: database.url, poolMax: 2, purpose: 'migrations' });
    const dataSource = await new DataSource(options).initialize();
    const isApplied = 'select 1 from migrations where name = $1';
    while ((await sql.query(isApplied, [baseline])).rowCount === 1) await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await contents()).toEqual(new Map());
  });

  it('from 0.2.0 finds existing users by text and by a part of their name', async () => {
    await load(release020);
    await migrateDatabase(database.url);
    await sql.query('update credentials set password_hash = $1', [await hash(password)]);
    await sql.query('delete from signing_keys');
    const service = await TestService.start({ DATABASE_URL: database.url });
    try {
      for (const query of ['q=lovelace', 'name_like=ada'])
        expect((await service.get(`/user/list?${query}`, service.admin)).body).toMatchObject({
          items: [{ name: 'ada' }],
        });
    } finally {
      await service.close();
    }
  });
});

it('runs once for three instances that start at once on an empty database, and all of them serve (F14)', async () => {
  const database = await createTestDatabase({ empty: true });
  const sql = new Pool({ connectionString: database.url, max: 1 });
  const settings = { DATABASE_URL: database.url, DATABASE_POOL_MAX: '4', APP_SECRET: appSecret };
  const instances = Array.from({ length: 3 }, () => new ServiceProcess(settings));
  try {
    await Promise.all(instances.map((instance) => instance.ready()));
    const count = async (what: string) =>
      (await sql.query(`select count(*)::integer as count from ${what}`)).rows[0].count as number;
    const migrations = readdirSync('migrations').filter((name) => name.endsWith('.ts')).length;
    expect(await count('migrations')).toBe(migrations);
    expect(await count('(select distinct name from migrations) names')).toBe(migrations);
    expect(await count('signing_keys')).toBe(1);
    expect(await count(`users where user_type = 'system' and name = 'administrator'`)).toBe(1);
    expect(await count('users')).toBe(1);
    const jobs = await count('graphile_worker.migrations');
    expect(await count('(select distinct id from graphile_worker.migrations) ids')).toBe(jobs);

    const keySets = await Promise.all(instances.map((instance) => instance.get('/.well-known/jwks.json')));
    expect(new Set(keySets.map(({ text }) => text)).size).toBe(1);
    const output = instances.map((instance) => instance.output).join('\n');
    const links = output.match(/\/auth\/reset\/[\w-]+/g) ?? [];
    expect(links).toHaveLength(1);
    const [first, ...others] = instances as [ServiceProcess, ...ServiceProcess[]];
    expect((await first.post(String(links[0]), { body: { password } })).status).toBe(204);
    const login = await first.login('administrator');
    for (const instance of others) expect((await instance.get('/user', login)).status).toBe(200);
    // An instance that waits for the migrations of another instance logs this.
    const faults = output
      .split('\n')
      .filter((line) => /"level":"(warn|error|fatal)"/.test(line))
      .filter((line) => !line.includes('"waits for another instance, which migrates the database"'));
    expect(faults).toEqual([]);
    expect(await Promise.all(instances.map((instance) => instance.stop()))).toEqual([0, 0, 0]);
  } finally {
    await Promise.all(instances.map((instance) => instance.kill()));
    await sql.end();
    await database.drop();
  }
});

/** Returns a row as later migrations change it: roles gain permissions. */
function migrated(row: Row): Row {
  const { name, permissions } = row;
  if (!Array.isArray(permissions)) return row;
  const held = new Set(permissions as string[]);
  if (held.has('user:delete') || name === 'auditor') held.add('user:read_deleted');
  if (name === 'operator') for (const gained of ['address_block:manage', 'audit:read', 'mail:manage']) held.add(gained);
  if (held.size === permissions.length) return row;
  const version = row['version'] === undefined ? {} : { version: expect.any(Number) as unknown };
  return { ...row, permissions: [...held].sort(), ...version };
}
