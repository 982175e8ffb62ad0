import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { CredentialsService } from '../../src/credentials/credentials.service';
import { HashCostsRepository } from '../../src/credentials/hash-costs.repository';
import { HashCostsService } from '../../src/credentials/hash-costs.service';
import { until } from '../support/until';
import { explaining } from '../support/plans';
import { appSecret, password, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase } from '../support/test-database';
import { Client } from 'pg';

const rest = `$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const bcrypt = (cost: number) => ({ computation: 'bcrypt', cost: 2 ** cost });
const listeners = `application_name = 'carrier-identity notifications' and datname = current_database()`;

describe('the costs of stored hashes', () => {
  let service: TestService;
  let costs: HashCostsService;
  beforeAll(async () => {
    service = await TestService.start();
    costs = service.app.get(HashCostsService);
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    await service.rows(`delete from users where name like 'foreign-%'`);
    await costs.recount();
  });

  const stored = () => service.rows('select computation, cost from password_hash_costs order by computation');
  const userIds = async (count: number) => {
    const rows = await service.rows<{ user_id: string }>(
      `insert into users (user_id, user_type, carrier_id, name, email, status)
        select gen_random_uuid(), 'carrier', 'c1', 'foreign-' || id, id || '@example.com', 'active'
        from (select gen_random_uuid() as id from generate_series(1, $1::integer)) ids returning user_id`,
      [count],
    );
    return rows.map(({ user_id }) => user_id);
  };
  const store = async (...hashes: string[]) =>
    service.rows(`insert into credentials (user_id, password_hash) select * from unnest($1::uuid[], $2::text[])`, [
      await userIds(hashes.length),
      hashes,
    ]);

  it('keeps the highest cost of each computation after a recount, until its last hash is gone (L19)', async () => {
    const hashes = [await hashBcrypt(password, { cost: 4 }), await hashBcrypt(password, { cost: 5 })];
    await store(...hashes, `$pbkdf2-sha256$i=1000${rest}`, `$pbkdf2-sha256$900$${'A'.repeat(22)}$${'A'.repeat(86)}`);
    await store(`$scrypt$ln=4,r=8,p=1${rest}`, `$scrypt$ln=5,r=8,p=1${rest}`, `$argon2i$v=19$m=64,t=2,p=1${rest}`);
    await store(`$argon2id$v=19$m=19456,t=2,p=1${rest}`, `$md5$argon2id$v=19$m=19456,t=2,p=1${rest}`, '$unreadable');
    await costs.recount();
    const memoryHard = [
      { computation: 'argon2i$v=19$m=64,t=2,p=1', cost: 128 },
      { computation: 'scrypt$ln=4,r=8,p=1', cost: 128 },
      { computation: 'scrypt$ln=5,r=8,p=1', cost: 256 },
    ];
    const [argon2, ...scrypts] = memoryHard;
    expect(await stored()).toEqual([argon2, bcrypt(5), { computation: 'pbkdf2-sha256', cost: 1_800 }, ...scrypts]);
    await service.rows('delete from credentials where password_hash = $1', [hashes[1]]);
    await costs.recount();
    expect(await stored()).toContainEqual(bcrypt(4));
    await service.rows(`delete from users where name like 'foreign-%'`);
    await costs.recount();
    expect(await stored()).toEqual([]);
  });

  it('updates an instance as soon as another instance has changed the costs', async () => {
    expect(await costs.current()).toEqual([]);
    await service.rows(`insert into password_hash_costs values ('bcrypt', 32)`);
    expect(await costs.current()).toEqual([bcrypt(5)]);
    await service.rows(`update password_hash_costs set cost = 64`);
    expect(await costs.current()).toEqual([bcrypt(6)]);
    await service.rows('delete from password_hash_costs');
    expect(await costs.current()).toEqual([]);
  });

  it('reads the costs from the database while the instance may have missed a change', async () => {
    expect(await costs.current()).toEqual([]);
    // One statement changes the costs and ends the connection that would notify the instance.
    await service.sql.query(`with ended as (select pg_terminate_backend(pid) from pg_stat_activity where ${listeners})
      insert into password_hash_costs select 'bcrypt', 32 from ended`);
    await until(async () => (await costs.current()).length > 0);
    expect(await costs.current()).toEqual([bcrypt(5)]);
  });

  it('does not lower the costs in a recount that overlaps an import', async () => {
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    const [user_id] = await userIds(1);
    await client.query('begin');
    const imported = [user_id, `$2b$06$${'.'.repeat(53)}`];
    await client.query('insert into credentials (user_id, password_hash) values ($1, $2)', imported);
    await client.query(`insert into password_hash_costs values ('bcrypt', 64)`);
    const recounted = costs.recount();
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until(async () => (await service.sql.query(waits)).rows.length > 0);
    await client.query('commit');
    await client.end();
    await recounted;
    expect(await stored()).toEqual([bcrypt(6)]);
  });

  it('does not lower the costs for cheaper hashes', async () => {
    const credentials = service.app.get(CredentialsService);
    await credentials.noteHashes([`$2b$08$${'.'.repeat(53)}`]);
    await credentials.noteHashes([`$2b$07$${'.'.repeat(53)}`, `$argon2id$v=19$m=19456,t=2,p=1${rest}`]);
    expect(await stored()).toEqual([bcrypt(8)]);
  });

  it('includes every parameter set of a memory-hard function', async () => {
    const sets = [1, 2, 3, 4, 5, 6].map((passes) => `$argon2id$v=19$m=64,t=${passes},p=1${rest}`);
    await service.app.get(CredentialsService).noteHashes([...sets, `$scrypt$ln=4,r=8,p=1${rest}`]);
    await service.rows('select 1');
    const padded = (await costs.current()).map(({ cost }) => cost);
    expect(padded.sort((one, other) => one - other)).toEqual([64, 128, 128, 192, 256, 320, 384]);
  });
});

describe('the recount', () => {
  it('reads only the index of hashes of other systems, even among many own hashes', async () => {
    const database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query(`insert into users (user_id, user_type, carrier_id, name, email, status)
        select gen_random_uuid(), 'carrier', 'c1', 'user-' || i, i || '@example.com', 'active'
        from generate_series(1, 5000) i`);
      await client.query(
        `insert into credentials (user_id, password_hash)
          select user_id, case when row_number() over () % 500 = 0 then '$2b$10$' || $1
            else '$argon2id$v=19$m=19456,t=2,p=1' || $2 end from users`,
        ['.'.repeat(53), rest],
      );
      await client.query('vacuum analyze credentials');
      const plans: string[] = [];
      const found = await new HashCostsRepository(explaining(client, plans)).listForeign();
      expect(found).toEqual([`$2b$10$${'.'.repeat(53)}`]);
      expect(plans.join()).toContain('credentials_foreign_idx');
      expect(plans.join()).not.toContain('whole credentials');
    } finally {
      await client.end();
      await database.drop();
    }
  });

  it('runs at start, so that it includes hashes that an older version stored (L19)', async () => {
    const database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`insert into users (user_id, user_type, name, email, status)
      values (gen_random_uuid(), 'system', 'imported', 'imported@example.com', 'active')`);
    const hashes = [`$2b$09$${'.'.repeat(53)}`];
    await client.query('insert into credentials (user_id, password_hash) select user_id, $1 from users', hashes);
    const service = await ServiceProcess.start({ DATABASE_URL: database.url, APP_SECRET: appSecret });
    try {
      await until(async () => (await client.query('select 1 from password_hash_costs')).rows.length > 0);
      expect((await client.query('select * from password_hash_costs')).rows).toEqual([bcrypt(9)]);
    } finally {
      await service.stop();
      await client.end();
      await database.drop();
    }
  });
});
