import { DatabaseClient } from '../../src/platform/database/database-client';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { TcpProxy } from '../support/network/tcp-proxy';
import { createTestDatabase } from '../support/test-database';

describe('connections to the database', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(['requests', 'migrations'] as const)(
    'let PostgreSQL close the connections of a dead host, with their locks, for %s (F7)',
    async (purpose) => {
      const { extra } = dataSourceOptions({ url: database.url, poolMax: 1, purpose }) as { extra: object };
      const client = new DatabaseClient({ ...extra, connectionString: database.url });
      await client.connect();
      // PostgreSQL reads the values from the socket.
      const { rows } = await client.query(`
        select
          current_setting('tcp_keepalives_idle') as idle,
          current_setting('tcp_keepalives_count') as count,
          current_setting('tcp_user_timeout') as unacknowledged`);
      await client.end();
      expect(rows).toEqual([{ idle: '30', count: '3', unacknowledged: '30000' }]);
    },
  );

  it('close although the server no longer responds (F7, F17)', async () => {
    const proxy = await TcpProxy.start(database.url);
    const client = new DatabaseClient({ connectionString: proxy.url });
    await client.connect();
    proxy.freeze();
    await client.end();
    await proxy.cut();
  });
});
