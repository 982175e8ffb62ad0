import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/data-source';
import { migrateDatabase } from '../../src/database/migrate';
import { describeSchema } from '../support/schema';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const first = 'AddUserActivity1795200026000';
const fill = 'FillActivityTables1795200028000';
const drop = 'DropActivityIndexes1795200029000';

describe('the migrations to the tables of activity', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let client: Client;
  let fresh: string[];
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    fresh = await describeSchema(client);
    dataSource = await new DataSource(
      dataSourceOptions({ url: database.url, poolMax: 1, purpose: 'migrations' }),
    ).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await client.end();
    await database.drop();
  });

  const migrate = async () => {
    await migrateDatabase(database.url);
    expect(await describeSchema(client)).toEqual(fresh);
  };
  const isApplied = async (name: string) =>
    (await client.query('select 1 from migrations where name = $1', [name])).rowCount === 1;
  const undo = async () => {
    while (await isApplied(first)) await dataSource.undoLastMigration();
  };
  /** Returns what differs between the tables of activity and the rows that they copy. */
  const differences = async () =>
    (
      await client.query(`
        select 'user' as of
        from users
        left join user_seen using (user_id)
        left join user_logins using (user_id)
        where (users.last_seen_at, users.last_login_at, users.last_login_ip)
            is distinct from (user_seen.last_seen_at, user_logins.last_login_at, user_logins.last_login_ip)
          or user_seen.user_id is null
          or user_logins.user_id is null
        union all
        select 'session'
        from sessions
        left join session_search using (session_id)
        where (sessions.user_id, sessions.carrier_id, sessions.created_at, sessions.ip, sessions.user_agent)
          is distinct from (
            session_search.user_id, session_search.carrier_id, session_search.created_at, session_search.ip,
            session_search.user_agent
          )`)
    ).rows;

  it('copies more rows than one batch, and back when they are reverted', async () => {
    await undo();
    await client.query(`
      insert into users (
        user_id, user_type, name, email, carrier_id, status, last_seen_at, last_login_at, last_login_ip
      )
      select
        gen_random_uuid(), 'carrier', 'user-' || i, 'user-' || i || '@example.com', 'c1', 'active',
        case when i % 3 > 0 then now() - interval '1 s' * i end,
        case when i % 3 > 1 then now() - interval '1 min' * i end,
        case when i % 3 > 1 then inet '10.0.0.1' + i end
      from generate_series(1, 5001) i;
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, expires_at, absolute_expires_at,
        ip, user_agent
      )
      select user_id, user_id, user_type, carrier_id, 'x', now(), now(), now(), '192.0.2.1', 'Tool/' || name
      from users`);
    await migrate();
    expect(await differences()).toEqual([]);
    await client.query(`update user_seen set last_seen_at = '2099-01-01'`);
    await undo();
    expect((await client.query(`select distinct last_seen_at::text as at from users`)).rows).toEqual([
      { at: expect.stringMatching(/^2099-01-01/) },
    ]);
    await migrate();
    expect(await differences()).toEqual([]);
  });

  it('continues after an interruption, and builds an invalid index again', async () => {
    await client.query(`
      delete from migrations where name in ('${fill}', '${drop}');
      delete from user_seen where user_id in (select user_id from user_seen order by md5(user_id::text) limit 100);
      delete from user_logins where user_id not in (select user_id from user_seen);
      delete from session_search where session_id in (select session_id from session_search limit 100);
      drop index user_seen_last_seen_at_idx;
      drop index session_search_ip_idx;
      create index users_last_seen_at_idx on users (last_seen_at)`);
    // All sessions have the same address.
    await expect(
      client.query('create unique index concurrently session_search_ip_idx on session_search (ip)'),
    ).rejects.toThrow('could not create unique index');
    await migrate();
    expect(await differences()).toEqual([]);
    expect((await client.query(`select to_regclass('users_last_seen_at_idx') as index`)).rows).toEqual([
      { index: null },
    ]);
  });

  it('copies users whose activity or login an older instance noted before they were copied', async () => {
    await client.query(`
      insert into users (user_id, user_type, name, email, carrier_id, status)
      select gen_random_uuid(), 'carrier', 'noted-' || i, 'noted-' || i || '@example.com', 'c1', 'active'
      from generate_series(1, 3) i;
      delete from migrations where name in ('${fill}', '${drop}');
      truncate user_seen, user_logins;
      update users set last_seen_at = now() where name = 'noted-1';
      update users set last_login_at = now(), last_login_ip = '198.51.100.7' where name = 'noted-2'`);
    await migrate();
    expect(await differences()).toEqual([]);
  });
});
