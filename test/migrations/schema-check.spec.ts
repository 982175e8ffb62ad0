import { readFileSync, writeFileSync } from 'node:fs';
import { Client } from 'pg';
import { checkSchema, readSchema } from '../../src/database/schema-check';
import { StartLines } from '../support/start-lines';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const expectedSchema = 'src/database/expected-schema.json';

describe('the check of the schema', () => {
  let database: TestDatabase;
  let client: Client;
  beforeEach(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  it('lists what is missing or different, and ignores additional objects', async () => {
    const lines = new StartLines();
    await client.query(`
      create table additional (id integer primary key);
      alter table users add column additional text;
      create index additional_idx on users (additional);
      alter table users set (autovacuum_vacuum_scale_factor = 0.01)`);
    await checkSchema(database.url, lines);
    await client.query(`
      drop index events_target_id_idx, users_name_key;
      create unique index users_name_key on users (name);
      drop table rate_limits;
      alter table events disable trigger events_no_truncate;
      alter table events_first disable trigger events_append_only;
      alter table users alter column phone set not null;
      create or replace function search_text(value text) returns text language sql as 'select value'`);
    const error = await checkSchema(database.url, lines).catch((fault: Error) => fault.message.split('\n'));
    expect(error).toEqual([
      'The schema of the database differs from the schema of this release (docs/upgrade.md):',
      '  - column rate_limits.ends_at: missing',
      '  - column rate_limits.hits: missing',
      '  - column rate_limits.key: missing',
      '  - column users.phone: differs',
      '  - constraint rate_limits_pkey on rate_limits: missing',
      '  - function search_text(text): differs',
      '  - index events_target_id_idx on events: missing',
      '  - index rate_limits_ends_at_idx on rate_limits: missing',
      '  - index users_name_key on users: differs',
      '  - partitions of events: differs',
      '  - table rate_limits: missing',
      '  - trigger events_no_truncate on events: missing',
    ]);
    expect(lines.warned).toEqual([]);
  });

  it('only logs the differences of a database that a newer release has migrated', async () => {
    const lines = new StartLines();
    await client.query(`
      alter table users drop column locked_until;
      insert into migrations (timestamp, name) values (1, 'DropPhone1')`);
    await checkSchema(database.url, lines);
    expect(lines.warned).toEqual([
      'the schema was changed by a newer release (migration DropPhone1):\n' +
        '  - column users.locked_until: missing\n  - index users_locked_until_idx on users: missing',
    ]);
  });

  it('knows exactly the schema that the migrations create', async () => {
    const found = Object.entries(await readSchema(database.url)).sort();
    const text = `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`;
    if (process.env['WRITE_SQL'] !== undefined) writeFileSync(expectedSchema, text);
    expect(readFileSync(expectedSchema, 'utf8')).toBe(text);
  });
});
