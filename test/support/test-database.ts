import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** The database of one test file. */
export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Clones the migrated template, or creates an empty database with `empty`. */
export async function createTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const server = process.env['TEST_SERVER_URL'] ?? '';
  const name = `test_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(empty ? `create database ${name}` : `create database ${name} template ${process.env['TEST_TEMPLATE']}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = async () => {
    // `force` fails on an autovacuum worker of a superuser; without `force` the server ends it.
    await run(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and usename = current_user`,
    );
    await run(`drop database if exists ${name}`);
  };
  return { url: url.href, drop };
}

/**
 * Creates a database with one connection, without a service, for the tests of a file. Call it in
 * `describe`.
 */
export function useDatabase(): Pick<Client, 'query'> {
  const subject = {} as Pick<Client, 'query'>;
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    subject.query = client.query.bind(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  return subject;
}
