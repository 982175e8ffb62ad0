import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { hash } from '@node-rs/argon2';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { migrateDatabase } from '../../src/platform/database/migrate';
import { describeSchema } from '../support/schema';
import { password, TestService } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

type Row = Record<string, unknown>;

/** Written by scripts/migration-fixture.js, one for each landed state since release 0.2.0. */
const directory = join(__dirname, 'fixtures');
const fixtures = readdirSync(directory).map((file) => file.replace('.sql.gz', ''));
const release020 = 'd4043a5';
/** The baseline, named after the last migration of release 0.2.0. */
const baseline = 'IndexUserWarnings1795200051000';
/** Partitions of the audit log depend on the date. */
const month = /\bevents_\d{4}_\d\d\b/;
/** Tables of TypeORM. */
const bookkeeping = ['migrations', 'typeorm_metadata'];

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
      [bookkeeping],
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

/** Returns a row as later migrations change it: a role may gain `user:read_deleted`. */
function migrated(row: Row): Row {
  const { name, permissions } = row;
  if (!Array.isArray(permissions)) return row;
  const held = new Set(permissions as string[]);
  const gains = (held.has('user:delete') || name === 'auditor') && !held.has('user:read_deleted');
  return gains ? { ...row, permissions: [...held.add('user:read_deleted')].sort() } : row;
}
