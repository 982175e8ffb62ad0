import { createHash } from 'node:crypto';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { Client } from 'pg';
import { CredentialsRepository } from '../../src/auth/passwords/credentials.repository';
import type { CredentialsService } from '../../src/auth/passwords/credentials.service';
import { errorsIn, importRow, importRows } from '../support/imports';
import { explaining } from '../support/plans';
import { TestService } from '../support/service';
import { createTestDatabase } from '../support/test-database';

const rest = '$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc';
const bcrypt = (cost: string) => `$2b$${cost}$${'.'.repeat(53)}`;
const own = `$argon2id$v=19$m=19456,t=2,p=1${rest}`;
const md5Of = (text: string) => createHash('md5').update(text).digest('hex');
const addUsers = `insert into users (user_id, user_type, carrier_id, name, email, status)
  select gen_random_uuid(), 'carrier', 'c1', 'foreign-' || id, id || '@example.com', 'active'
  from (select gen_random_uuid() as id from generate_series(1, $1::integer)) ids`;

/** `stored-hash.spec.ts` verifies the forms of hashes. */
describe('password hashes of other systems', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('carrier_loader', '{carrier}', '{user:import}')`,
    );
  });
  afterAll(() => service.close());
  beforeEach(() => service.rows(`delete from users where carrier_id = 'c1'`));

  const costs = async () =>
    (await service.inside<CredentialsService>('CredentialsService').refusalCosts()).sort((one, other) =>
      one.computation < other.computation ? -1 : 1,
    );
  const store = async (...hashes: string[]) => {
    const ids = await service.rows<{ user_id: string }>(`${addUsers} returning user_id`, [hashes.length]);
    await service.rows(
      `insert into credentials (user_id, password_hash) select * from unnest($1::uuid[], $2::text[])`,
      [ids.map(({ user_id }) => user_id), hashes],
    );
  };
  const attempt = async (login: string, password: string) =>
    (await service.post('/auth/login', { body: { login, password } })).status;
  const hashOf = async (name: string) =>
    (
      await service.rows<{ hash: string }>(
        'select password_hash as hash from credentials join users using (user_id) where name = $1',
        [name],
      )
    )[0]?.hash;

  it('are imported, accepted at the next login with the right password only, and then replaced', async () => {
    // bcrypt reads 72 bytes of a password.
    const long = `${'é'.repeat(36)} and what bcrypt never saw`;
    const passwords = { bcrypt: 'the old password', md5: 'the old password', cut: long };
    const { body } = await importRows(
      service,
      [
        importRow('bcrypt', { password_hash: await hashBcrypt(passwords.bcrypt, { cost: 4 }) }),
        importRow('md5', { password_hash: md5Of(passwords.md5) }),
        importRow('cut', { password_hash: await hashBcrypt(long, { cost: 4 }) }),
        importRow('wrong-1', { password_hash: '$2b$31$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcde' }),
        importRow('wrong-2', { password_hash: '$1$salt$qJH7.N4xYta3aEG/dfqo/0' }),
        importRow('wrong-3', { password: 'correct horse battery staple' }),
        importRow('wrong-4', { status: 'invited', password_hash: md5Of('x') }),
      ],
      service.admin,
    );
    expect([body.changed, errorsIn(body).map(({ line, pointer }) => `${line} ${pointer}`)]).toEqual([
      3,
      ['4 /password_hash', '5 /password_hash', '6 /password', '7 /status'],
    ]);
    for (const [name, password] of Object.entries(passwords)) {
      const foreign = await hashOf(name);
      expect(await attempt(name, `!${password}`)).toBe(401);
      expect(await hashOf(name)).toBe(foreign);
      expect(await attempt(name, password)).toBe(200);
      expect(await hashOf(name)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      expect(await attempt(name, password)).toBe(200);
      expect(await attempt(name, `${password}!`)).toBe(401);
    }
  });

  it('reject every password if the hash cannot be read, without an error of the service (F32)', async () => {
    const { user_id, name } = await service.createUser();
    await service.rows('update credentials set password_hash = $2 where user_id = $1', [
      user_id,
      `$argon2id$v=19$m=999999999,t=3,p=1${rest}`,
    ]);
    expect(await attempt(name, 'a password of long ago')).toBe(401);
  });

  it('are never stored as a bare MD5, and removed with the operation (P10, P12)', async () => {
    const md5 = md5Of('canary');
    const rows = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => importRow(`${name}-${i}`, { password_hash: md5 }));
    expect((await importRows(service, rows('bare', 2), service.admin)).body.changed).toBe(2);
    const { body } = await importRows(service, rows('bare-canceled', 101), service.admin);
    const batches = () => service.rows('select 1 from operation_batches where strpos(rows::text, $1) > 0', [md5]);
    expect(await batches()).not.toEqual([]);
    const canceled = await service.post(`/user/operation/${body.operation_id}/cancel`, service.admin);
    expect([canceled.body.status, await batches()]).toEqual(['canceled', []]);
    const stored = await service.rows<{ hash: string }>(
      `select password_hash as hash from credentials join users using (user_id) where name like 'bare-%'`,
    );
    expect(stored.length).toBeGreaterThanOrEqual(2);
    for (const { hash } of stored) expect(hash).toMatch(/^\$md5\$argon2id\$/);
    const bare = service.rows('update credentials set password_hash = $1', [md5]);
    await expect(bare).rejects.toMatchObject({ constraint: 'credentials_password_hash_check' });
  });

  it('are not accepted from a limited administrator, whom they would let slow down logins (L21)', async () => {
    const limited = [
      await service.loginAs({ carrier_id: 'c2', roles: ['carrier_loader'] }),
      await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c2'] }),
    ];
    const foreign = [
      bcrypt('10'),
      ...[`$pbkdf2-sha256$i=29000${rest}`, `$scrypt$ln=14,r=8,p=1${rest}`, `$argon2id$v=19$m=65536,t=3,p=4${rest}`],
    ];
    for (const [index, login] of limited.entries()) {
      const of = (form: number, password_hash: string) =>
        importRow(`limited-${index}-${form}`, { carrier_id: 'c2', password_hash });
      const { body } = await importRows(
        service,
        [...foreign.map((hash, form) => of(form, hash)), of(8, md5Of('x')), of(9, own)],
        login,
      );
      expect(body.changed).toBe(2);
      expect(errorsIn(body).map(({ line, pointer, code }) => `${line} ${pointer} ${code}`)).toEqual(
        foreign.map((_, form) => `${form + 1} /password_hash access.denied`),
      );
    }
    expect(await costs()).toEqual([]);
    const byAdmin = await importRows(service, [importRow('by-admin', { password_hash: foreign[0] })], service.admin);
    expect(byAdmin.body.changed).toBe(1);
  });

  it('are rejected beyond a total cost, so that a file of costly hashes cannot block logins (L21)', async () => {
    const costly = [
      ...['sha1', 'sha256', 'sha512'].map((digest) => `$pbkdf2-${digest}$i=600000${rest}`),
      ...[`$pbkdf2-sha512$i=900000${rest}`, bcrypt('13'), bcrypt('10')],
      ...[1, 2, 3, 4].map((p) => `$argon2id$v=19$m=131072,t=2,p=${p}${rest}`),
      ...[14, 15, 16, 17].map((ln) => `$scrypt$ln=${ln},r=8,p=1${rest}`),
    ];
    const rows = costly.map((password_hash, index) => importRow(`heavy-${index}`, { password_hash }));
    const { body } = await importRows(service, rows, service.admin);
    expect(errorsIn(body)).toHaveLength(5);
    for (const { pointer, code } of errorsIn(body))
      expect([pointer, code]).toEqual(['/password_hash', 'password_hash.too_costly']);
    const stored = await costs();
    const total = (form: string) =>
      stored.filter(({ computation }) => computation.startsWith(form)).reduce((sum, { cost }) => sum + cost, 0);
    expect(total('scrypt')).toBeLessThanOrEqual(2 ** 20);
    expect(total('argon2')).toBeLessThanOrEqual(524_288);
    expect(['pbkdf2-sha1', 'pbkdf2-sha256', 'pbkdf2-sha512', 'bcrypt'].map(total)).toEqual([
      1_300_000, 1_200_000, 600_000, 1_024,
    ]);
  });

  it('are part of the work of a rejected login until the last hash of the form is gone (L19)', async () => {
    expect(await costs()).toEqual([]);
    const others = [`$pbkdf2-sha256$900$${'A'.repeat(22)}$${'A'.repeat(86)}`, `$pbkdf2$131000${rest}`];
    await store(...[bcrypt('04'), bcrypt('05'), `$2y$05$${'.'.repeat(53)}`, bcrypt('04')]);
    await store(`$pbkdf2-sha256$i=1000${rest}`, ...others);
    await store(`$scrypt$ln=4,r=8,p=1${rest}`, `$scrypt$ln=5,r=8,p=1${rest}`);
    await store(`$argon2i$v=19$m=64,t=2,p=1${rest}`, `$md5$argon2id$v=19$m=64,t=3,p=1${rest}`);
    await store(own, `$md5${own}`, '$unreadable', '$1$salt$digest');
    const slow = [
      { computation: 'pbkdf2-sha1', cost: 1_300_000 },
      { computation: 'pbkdf2-sha256', cost: 1_200_000 },
      { computation: 'scrypt$ln=4,r=8,p=1', cost: 128 },
      { computation: 'scrypt$ln=5,r=8,p=1', cost: 256 },
    ];
    expect(await costs()).toEqual([
      { computation: 'argon2i$v=19$m=64,t=2,p=1', cost: 128 },
      { computation: 'argon2id$v=19$m=64,t=3,p=1', cost: 192 },
      { computation: 'bcrypt', cost: 32 },
      ...slow,
    ]);
    await service.rows(
      `delete from credentials where password_hash like '$2_$05%' or password_hash like '%argon2%m=64%'`,
    );
    expect(await costs()).toEqual([{ computation: 'bcrypt', cost: 16 }, ...slow]);
    await service.rows('update credentials set password_hash = $1 where password_hash <> $1', [own]);
    expect(await costs()).toEqual([]);
  });

  it('count once for a parameter set, however many zeros its parameters begin with (L19)', async () => {
    const padded = (zeros: number, text: string) => `${'0'.repeat(zeros)}${text}`;
    await store(
      ...Array.from({ length: 300 }, (_, index) => {
        const [n, r, p] = [padded(index % 2, '1'), padded(index % 9, '8'), padded(Math.floor(index / 9), '1')];
        return `$scrypt$ln=${n},r=${r},p=${p}${rest}`;
      }),
    );
    await store(`$scrypt$ln=15,r=8,p=1${rest}`);
    expect(await costs()).toEqual([
      { computation: 'scrypt$ln=1,r=8,p=1', cost: 16 },
      { computation: 'scrypt$ln=15,r=8,p=1', cost: 2 ** 18 },
    ]);
  });
});

describe('the list of forms of stored hashes', () => {
  it('takes a few steps of an index, among many own and many foreign hashes', async () => {
    const database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const forms = async () => {
      const plans: string[] = [];
      const found = await new CredentialsRepository(explaining(client, plans)).listForeignForms();
      expect(plans.join()).toContain('credentials_forms_idx');
      expect(plans.join()).not.toContain('whole credentials');
      await client.query('select pg_stat_force_next_flush()');
      const { rows } = await client.query<{ read: string }>(
        `select idx_tup_read as read from pg_stat_user_indexes where indexrelname = 'credentials_forms_idx'`,
      );
      return { found, read: Number(rows[0]?.read) };
    };
    try {
      await client.query(addUsers, [5_000]);
      await client.query('insert into credentials (user_id, password_hash) select user_id, $1 from users', [own]);
      await client.query('vacuum analyze credentials');
      const none = await forms();
      expect(none.found).toEqual([]);
      await client.query(
        `update credentials set password_hash = hash
          from (
            select user_id, case when row_number() over () % 2 = 0 then $1 else $2 end as hash from users
          ) hashes where hashes.user_id = credentials.user_id`,
        [bcrypt('10'), `$scrypt$ln=14,r=8,p=1${rest}`],
      );
      await client.query('vacuum analyze credentials');
      const many = await forms();
      expect(many.found).toEqual(['$2b$10', '$scrypt$ln=14,r=8,p=1']);
      expect(many.read - none.read).toBeLessThan(10);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
