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

let database: TestDatabase;
let dataSource: DataSource;
let client: Client;

beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  dataSource = await new DataSource(
    dataSourceOptions({ url: database.url, poolMax: 2, purpose: 'migrations' }),
  ).initialize();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await dataSource.destroy();
  await database.drop();
});

async function contentOf(url: string): Promise<{ schema: string[]; roles: unknown[] }> {
  const other = new Client({ connectionString: url });
  await other.connect();
  try {
    return {
      schema: await describeSchema(other),
      roles: (await other.query('select * from roles order by name')).rows,
    };
  } finally {
    await other.end();
  }
}

async function undoAll(): Promise<number> {
  let undone = 0;
  for (; (await migrationRows()).length > 0; undone++) await dataSource.undoLastMigration();
  return undone;
}

/** Undoes the last migrations down to one, which is undone too. */
async function undoTo(name: string): Promise<void> {
  const isApplied = async () => (await client.query('select 1 from migrations where name = $1', [name])).rowCount === 1;
  while (await isApplied()) await dataSource.undoLastMigration();
}

async function migrationRows(): Promise<unknown[]> {
  return (await client.query('select name from migrations order by id')).rows;
}

describe('the migrations', () => {
  it('creates the complete schema on an empty database, including functions and first rows', async () => {
    expect(await describeSchema(client)).toEqual([]);
    await dataSource.runMigrations();
    const template = await createTestDatabase();
    const [made, wanted] = [
      await contentOf(database.url),
      await contentOf(template.url).finally(() => template.drop()),
    ];
    expect(made).toEqual(wanted);
    expect(made.roles.map((role) => (role as { name: string }).name)).toContain('administrator');
    const fresh = 'autovacuum_analyze_scale_factor=0,autovacuum_analyze_threshold=2000';
    const tables = [`relation r users ${fresh}`, `relation r sessions ${fresh}`];
    for (const part of [
      ...tables,
      'column sessions.refresh_token_hash bytea',
      'trigger CREATE TRIGGER events_append_only',
    ])
      expect(made.schema).toContainEqual(expect.stringContaining(part));
  });

  it('leaves nothing of the service when all are reverted, and runs again from there', async () => {
    await dataSource.runMigrations();
    const before = await contentOf(database.url);
    expect(await undoAll()).toBe(dataSource.migrations.length);
    expect((await describeSchema(client)).filter((line) => !bookkeeping.test(line))).toEqual([]);
    await dataSource.runMigrations();
    expect(await contentOf(database.url)).toEqual(before);
  });

  it('reverts with rows in every table', async () => {
    await dataSource.runMigrations();
    await client.query(`
      insert into users (user_id, user_type, name, email, status)
      values ('018f0000-0000-7000-8000-000000000001', 'system', 'ada', 'ada@example.com', 'active');
      update users set department = 'Works';
      insert into credentials (user_id, password_hash)
      select user_id, '$x'
      from users;
      insert into one_time_tokens (user_id, purpose, requested_at)
      select user_id, 'reset', now()
      from users;
      insert into sessions (
        session_id, user_id, user_type, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at
      )
      select user_id, user_id, 'system', 'x', now(), now(), now()
      from users;
      insert into events (event_type, actor_type)
      values ('user.created', 'system');
      insert into idempotency_keys (user_id, method, path, key_hash, claim_id, claimed_until)
      select user_id, 'POST', '/user/create', 'x', user_id, now()
      from users;
      insert into keys (key_id, name, token_hash, permissions, user_type, created_by, expires_at)
      select user_id, 'k', 'x', '{}', 'system', user_id, now()
      from users;
      insert into login_attempts (account, address, used_on)
      values ('unknown', '', current_date);
      insert into rate_limits (key, hits, ends_at)
      values ('x', 1, now());
      insert into password_hash_costs (computation, cost)
      values ('bcrypt', 4096);
      insert into user_tombstones (user_id)
      select user_id
      from users;
      insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request)
      select user_id, 'import', 'user:import', 'done', 'user', user_id, '{}'
      from users;
      insert into operation_skipped (operation_id, line, errors)
      select user_id, 2, '[]'
      from users;
      insert into signing_keys (kid, public_jwk, private_key)
      values ('k', '{}', 'x')`);
    await undoAll();
    expect((await describeSchema(client)).filter((line) => !bookkeeping.test(line))).toEqual([]);
  });

  it('leaves nothing half done when one fails, and succeeds on the next attempt (F15)', async () => {
    // Conflicts with the last but one statement of the first migration.
    await client.query('create table events (in_the_way integer)');
    await expect(migrateDatabase(database.url)).rejects.toThrow('relation "events" already exists');
    expect(await describeSchema(client)).toEqual(['column events.in_the_way integer f  ', 'relation r events ']);
    await client.query('drop table events');
    await migrateDatabase(database.url);
    expect(await migrationRows()).toHaveLength(dataSource.migrations.length);
  });

  it('creates exactly the schema of the entities', async () => {
    await dataSource.runMigrations();
    const drift = await dataSource.driver.createSchemaBuilder().log();
    expect(drift.upQueries.map(({ query }) => query)).toEqual([]);
    expect(drift.downQueries).toHaveLength(0);
    // Control: the same comparison finds a difference, so it does read this database.
    await client.query('drop index keys_created_at_idx; alter table users alter column phone set not null');
    expect((await dataSource.driver.createSchemaBuilder().log()).upQueries.length).toBeGreaterThan(1);
  });

  it('logs a line for each migration, and none when all are applied', async () => {
    const first = new StartLines();
    await migrateDatabase(database.url, first);
    expect(first.logged).toEqual(
      (await migrationRows()).map((row) =>
        expect.stringMatching(new RegExp(`^applied migration ${(row as { name: string }).name} in \\d+ ms$`)),
      ),
    );
    const second = new StartLines();
    await migrateDatabase(database.url, second);
    expect([first.warned, second.logged, second.warned]).toEqual([[], [], []]);
  });

  it('waits for another instance, logs it, and gives up without keeping the lock (F15)', async () => {
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('select pg_advisory_lock(7263004)');
    const lines = new StartLines();
    const work = jest.fn();
    await expect(withMigrationLock(database.url, lines, work, 300)).rejects.toThrow(StartFault);
    expect(lines.warned).toEqual(['waits for another instance, which migrates the database']);
    const waiting = withMigrationLock(database.url, lines, () => Promise.resolve('migrated'));
    await holder.end();
    expect(await waiting).toBe('migrated');
    // Not released by the end of the work alone: also after a failure.
    const failing = withMigrationLock(database.url, lines, () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    expect(await withMigrationLock(database.url, lines, () => Promise.resolve('migrated'), 0)).toBe('migrated');
    expect(work).not.toHaveBeenCalled();
  });

  it('lets requests pass while a long transaction keeps a migration from its table', async () => {
    await dataSource.runMigrations();
    const fresh = await describeSchema(client);
    await undoTo('AddRoleVersions1795200057000');
    const reader = new Client({ connectionString: database.url });
    await reader.connect();
    await reader.query('begin; select from roles');
    const lines = new StartLines();
    const migrated = migrateDatabase(database.url, lines);
    await until(() => lines.warned.length > 0);
    await client.query(`set statement_timeout = '4s'; select from roles`);
    await reader.end();
    await migrated;
    expect(lines.warned[0]).toMatch(
      /^AddRoleVersions1795200057000 waits for a lock of another transaction, attempt 1 of /,
    );
    expect(await describeSchema(client)).toEqual(fresh);
  });

  it('logs the migrations of a newer release, and starts', async () => {
    await dataSource.runMigrations();
    await client.query(`insert into migrations (timestamp, name) values (1999999999999, 'DropPhone1999999999999')`);
    const lines = new StartLines();
    await migrateDatabase(database.url, lines);
    expect(lines.warned).toEqual(['a newer release has migrated the database: DropPhone1999999999999']);
  });

  it('refuses a database older than release 0.2.0, and changes nothing', async () => {
    await client.query(`
      create table migrations (id serial primary key, timestamp bigint not null, name varchar not null);
      insert into migrations (timestamp, name) values (1795200000000, 'CreateSchema1795200000000');
      create table users (user_id uuid)`);
    const before = await describeSchema(client);
    await expect(migrateDatabase(database.url)).rejects.toThrow(
      'the database is older than release 0.2.0. Start release 0.2.0 once, then this release',
    );
    expect(await describeSchema(client)).toEqual(before);
    expect(await migrationRows()).toEqual([{ name: 'CreateSchema1795200000000' }]);
  });
});
