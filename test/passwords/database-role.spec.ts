import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { runBuilt } from '../support/process/built-program';
import { appSecret } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** Creates the role of `compose.yaml` from the same file. */
describe('the database role of compose.yaml', () => {
  const role = `service_${randomBytes(6).toString('hex')}`;
  const superuser = `superuser_${randomBytes(6).toString('hex')}`;
  let database: TestDatabase;
  let admin: Client;
  let service: Client;

  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
    admin = new Client({ connectionString: asSuperuser(database.url) });
    await admin.connect();
    await admin.query(`create role ${superuser} superuser login password 'secret'`);
    await admin.query(sqlOf('deploy/service-role.sql'));
    const url = new URL(database.url);
    Object.assign(url, { username: role, password: 'secret' });
    const env = { DATABASE_URL: url.href, APP_SECRET: appSecret };
    expect(await runBuilt('src/cli/cli.js', env, ['migrate'])).toMatchObject({ code: 0 });
    service = new Client({ connectionString: url.href });
    await service.connect();
    await service.query(`insert into events (event_type, actor_type) values ('user.changed', 'system')`);
  });
  afterAll(async () => {
    await service.end();
    // Allows the role of the tests to drop the database.
    await admin.query(`reassign owned by ${role} to ${new URL(database.url).username}`);
    await admin.end();
    await database.drop();
    const server = new Client({ connectionString: asSuperuser(process.env['TEST_SERVER_URL'] ?? '') });
    await server.connect();
    for (const name of [role, superuser]) await server.query(`drop role ${name}`);
    await server.end();
  });

  /**
   * The embedded server has the same password for its superuser. Another server is given with a
   * superuser.
   */
  function asSuperuser(url: string): string {
    const given = process.env['TEST_DATABASE_URL'] !== undefined;
    return given ? url : Object.assign(new URL(url), { username: 'postgres' }).href;
  }

  /**
   * Returns the statements of a psql script, with the names of this test and without what only psql
   * reads.
   */
  function sqlOf(file: string): string {
    return readFileSync(file, 'utf8')
      .replace(/^\\getenv .*$/m, '')
      .replace(/database carrier_identity/g, `database ${new URL(database.url).pathname.slice(1)}`)
      .replace(/\bcarrier_identity\b/g, role)
      .replace(/\bpostgres\b/g, superuser)
      .replace(":'service_password'", "'secret'");
  }

  const refusal = (client: Client, sql: string) =>
    client.query(sql).then(
      () => null,
      (error: { code: string; message: string }) => `${error.code} ${error.message}`,
    );
  const count = async () =>
    (await admin.query<{ count: number }>('select count(*)::int as count from events')).rows[0]?.count;

  it('runs every migration and owns every table without superuser rights (O13)', async () => {
    const rights = await admin.query(
      `
        select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as any
        from pg_roles
        where rolname = '${role}'`,
    );
    expect(rights.rows).toEqual([{ any: false }]);
    const owners = await admin.query(
      `select distinct tableowner from pg_tables where schemaname in ('public', 'graphile_worker')`,
    );
    expect(owners.rows).toEqual([{ tableowner: role }]);
    const password = await admin.query(`select rolpassword from pg_authid where rolname = '${superuser}'`);
    expect(password.rows).toEqual([{ rolpassword: null }]);
  });

  it('can neither change nor delete an event, nor disable the triggers of its session (O13)', async () => {
    const before = await count();
    for (const sql of [`update events set event_type = 'x'`, 'delete from events'])
      expect(await refusal(service, sql)).toBe('P0001 events are append-only');
    for (const sql of ['set session_replication_role = replica', 'set local session_replication_role = replica'])
      expect(await refusal(service, sql)).toBe('42501 permission denied to set parameter "session_replication_role"');
    const own = `alter role ${role} set session_replication_role = replica`;
    expect(await refusal(service, own)).toMatch(/^42501 /);
    expect(await refusal(service, `alter role ${role} superuser`)).toMatch(/^42501 /);
    expect(await count()).toBe(before);
  });

  it('cannot bypass the triggers like a superuser, but can disable them, as docs/security.md says (O13)', async () => {
    for (const [client, bypass] of [
      [admin, 'set local session_replication_role = replica'],
      [service, 'alter table events disable trigger events_append_only'],
    ] as const) {
      await client.query('begin');
      await client.query(bypass);
      expect((await client.query('delete from events')).rowCount).toBeGreaterThan(0);
      await client.query('rollback');
    }
  });
});

describe('compose.yaml', () => {
  const compose = readFileSync('compose.yaml', 'utf8');

  it('lets the service log in as the role of deploy/service-role.sql and not as superuser (O13)', () => {
    expect(compose).toContain('./deploy/service-role.sql:/docker-entrypoint-initdb.d/service-role.sql:ro');
    expect(compose).not.toContain('POSTGRES_USER');
    expect(compose).toMatch(/DATABASE_URL: postgres:\/\/carrier_identity:/);
  });
});
