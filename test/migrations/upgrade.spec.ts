import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { hash } from '@node-rs/argon2';
import { Client } from 'pg';
import { migrateDatabase } from '../../src/platform/database/migrate';
import { describeSchema } from '../support/schema';
import { password, TestService } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** Written by scripts/migration-fixture.js, one for each landed state since release 0.2.0. */
const directory = join(__dirname, 'fixtures');
const fixtures = readdirSync(directory).map((file) => file.replace('.sql.gz', ''));
const release020 = 'd4043a5';
/** Partitions of the audit log depend on the date. */
const month = /\bevents_\d{4}_\d\d\b/;
/** Tables of TypeORM. */
const bookkeeping = new Set(['migrations', 'typeorm_metadata']);

/** One database in turn for all earlier releases, because creating a database takes longest. */
describe('an upgrade', () => {
  let database: TestDatabase;
  let freshSchema: string[];

  beforeAll(async () => {
    const fresh = await createTestDatabase();
    freshSchema = await schemaOf(fresh.url).finally(() => fresh.drop());
    database = await createTestDatabase({ empty: true });
  });
  afterAll(() => database.drop());

  async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return work(client).finally(() => client.end());
  }

  /** A dump flattens nested conditions of triggers, so that they have fewer parentheses. */
  async function schemaOf(url: string): Promise<string[]> {
    const lines = await withClient(url, (client) => describeSchema(client));
    const lasting = lines.filter((line) => !month.test(line));
    return lasting.map((line) => (line.startsWith('trigger') ? line.replace(/[()]/g, '') : line));
  }

  async function load(fixture: string): Promise<void> {
    const dump = gunzipSync(readFileSync(join(directory, `${fixture}.sql.gz`))).toString();
    await withClient(database.url, async (client) => {
      await client.query('drop schema public cascade; create schema public');
      await client.query(dump);
    });
  }

  async function rowsOf(client: Client, table: string): Promise<Record<string, unknown>[]> {
    const { rows } = await client.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(${table}) - 'search_text' as row from ${table}`,
    );
    return rows.map(({ row }) => row);
  }

  /** Returns the rows of each table of the service. */
  function contents(): Promise<[table: string, rows: Record<string, unknown>[]][]> {
    return withClient(database.url, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public'`,
      );
      const found: [string, Record<string, unknown>[]][] = [];
      for (const { name } of rows) if (!bookkeeping.has(name)) found.push([name, await rowsOf(client, name)]);
      return found;
    });
  }

  it.each(fixtures)('from %s creates exactly the schema of a new database and keeps all rows', async (fixture) => {
    await load(fixture);
    const before = await contents();
    await migrateDatabase(database.url);
    expect(await schemaOf(database.url)).toEqual(freshSchema);
    const after = new Map(await contents());
    for (const [table, rows] of before)
      expect([table, after.get(table)]).toEqual([
        table,
        expect.arrayContaining(rows.map((row) => expect.objectContaining(migrated(row)) as unknown)),
      ]);
    expect(before.flatMap(([, rows]) => rows).length).toBeGreaterThan(10);
    const search = after.get('user_search')?.find((row) => row['last_name'] === 'Lovelace');
    expect(search?.['names']).toBe(' ada, adaᚵexampleᚭcom; ada: lovelace.');
    expect(after.get('user_tombstones')).toHaveLength(1);
  });

  it('from 0.2.0 finds existing users by text and by a part of their name', async () => {
    await load(release020);
    await migrateDatabase(database.url);
    const password_hash = await hash(password);
    await withClient(database.url, (client) =>
      client.query('update credentials set password_hash = $1', [password_hash]),
    );
    await withClient(database.url, (client) => client.query('delete from signing_keys'));
    const service = await TestService.start({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: database.url });
    try {
      for (const query of ['q=lovelace', 'name_like=ada'])
        expect(await namesOf(service, `/user/list?${query}`)).toEqual(['ada']);
    } finally {
      await service.close();
    }
  });
});

/** Returns a row as later migrations change it: a role may gain `user:read_deleted`. */
function migrated(row: Record<string, unknown>): Record<string, unknown> {
  const { name, permissions } = row;
  if (!Array.isArray(permissions)) return row;
  const held = new Set(permissions as string[]);
  const gains = (held.has('user:delete') || name === 'auditor') && !held.has('user:read_deleted');
  return gains ? { ...row, permissions: [...held.add('user:read_deleted')].sort() } : row;
}

async function namesOf(service: TestService, url: string): Promise<string[]> {
  const { body, text } = await service.get(url, { token: service.admin.token });
  if (body.items === undefined) throw new Error(text);
  return (body.items as { name: string }[]).map(({ name }) => name);
}
