import { createHash } from 'node:crypto';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { parse } from 'csv-parse/sync';
import { Client } from 'pg';
import { CredentialsRepository } from '../../src/auth/passwords/credentials.repository';
import type { CredentialsService } from '../../src/auth/passwords/credentials.service';
import { errorsIn, importCsv, importRow, importRows } from '../support/data/imports';
import { inTransaction } from '../support/locks';
import { explaining } from '../support/contract/plans';
import { type TestLogin, TestService } from '../support/service';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';

const rest = '$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc';
const bcrypt = (cost: string) => `$2b$${cost}$${'.'.repeat(53)}`;
const own = `$argon2id$v=19$m=19456,t=2,p=1${rest}`;
const md5Of = (text: string) => createHash('md5').update(text).digest('hex');
const addUsers = `insert into users (user_id, user_type, carrier_id, name, email, status)
  select gen_random_uuid(), 'carrier', 'c1', 'foreign-' || id, id || '@example.com', 'active'
  from (select gen_random_uuid() as id from generate_series(1, $1::integer)) ids`;

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
  await service.rows(`
    insert into roles (name, user_types, permissions, may_grant)
    values
      ('importer', '{system,carrier}', '{user:import}', '{carrier_user}'),
      ('import_reader', '{system}', '{user:import,user:read}', '{}'),
      ('import_exporter', '{system}', '{user:import,user:export}', '{}'),
      ('bystander', '{system}', '{user:read,user:update,user:export}', '{}'),
      ('reader', '{system}', '{user:read}', '{}')`);
});
afterAll(() => service.close());

/** `stored-hash.spec.ts` verifies the forms of hashes. */
describe('password hashes of other systems', () => {
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
    }
    expect(await attempt('cut', `${long}!`)).toBe(401);
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
      await service.loginAs({ carrier_id: 'c2', roles: ['importer'] }),
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

describe('what callers may import, and see of an import', () => {
  const md5 = md5Of('canary');
  const system = (name: string, more: object = {}) => ({
    ...{ user_type: 'system', name, email: `${name}@example.com` },
    ...more,
  });
  const codes = async (rows: object[], login: TestLogin): Promise<unknown[]> => {
    const { body } = await importRows(service, rows, login);
    return [body.changed, ...errorsIn(body).map(({ pointer, code }) => `${pointer} ${code}`)];
  };
  const skipped = (operation_id: string, { token }: { token: string }, accept = 'text/csv') =>
    service.get(`/user/operation/${operation_id}/skipped`, { token, headers: { accept } });
  const cellsOf = async (operation_id: string) => {
    const { body } = await skipped(operation_id, service.admin, 'application/json');
    return (body.items as { cells: Record<string, string> }[]).map(({ cells }) => cells);
  };

  it('grants no carrier, user type, role or scope that the caller could not grant one by one (Z12)', async () => {
    const [outside, more] = ['/carrier_id access.denied', '/roles access.grant_exceeds_own'];
    const other = { carrier_id: 'c2' };
    const ofCarrier = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const stronger = importRow('z-4', { roles: ['carrier_administrator'] });
    const equal = importRow('z-5', { roles: ['carrier_user'] });
    expect(await codes([importRow('z-1'), importRow('z-2', other), system('z-3'), stronger, equal], ofCarrier)).toEqual(
      [2, outside, outside, more],
    );
    const scoped = await service.loginAs({ user_type: 'system', roles: ['importer'], carrier_scope: ['c1'] });
    const inScope = system('z-8', { carrier_scope: ['c1'] });
    expect(await codes([importRow('z-6'), importRow('z-7', other), inScope], scoped)).toEqual([1, outside, outside]);
    const unscoped = await service.loginAs({ user_type: 'system', roles: ['importer'] });
    const roles = [['administrator'], ['reader'], ['carrier_user']];
    expect(
      await codes(
        roles.map((one, i) => system(`z-${i + 9}`, { roles: one })),
        unscoped,
      ),
    ).toEqual([...[0, more, more, '/roles field.not_allowed']]);
    const created = await service.rows(`select name from users where name ~ '^z-[0-9]+$' order by name`);
    expect(created).toEqual([{ name: 'z-1' }, { name: 'z-5' }, { name: 'z-6' }]);
  });

  it('rejects ids of other users, versions, deletions, future times and passwords (Z6)', async () => {
    const taken = [
      importRow('m-1', { user_id: service.admin.user_id }),
      importRow('m-2', { user_id: '00000000-0000-0000-0000-000000000000' }),
      importRow('m-3', { created_at: '2999-01-01T00:00:00Z' }),
    ];
    const fields = ['version', 'deleted_at', 'created_by', 'updated_at', 'locked_until', 'email_pending', 'password'];
    const rows = [...fields, 'search_text', '__proto__'].map(
      (field, i) => JSON.parse(JSON.stringify(importRow(`f${i}xx`)).replace('{', `{"${field}":"1",`)) as object,
    );
    const [created, ...failed] = await codes(taken, service.admin);
    expect([created, failed.sort()]).toEqual([
      0,
      ['/created_at field.not_allowed', '/user_id field.malformed', '/user_id field.not_allowed'],
    ]);
    for (const row of rows)
      expect((await importRows(service, [row], service.admin)).body).toMatchObject({ changed: 0, skipped_count: 1 });
    expect((await service.get('/user', service.admin)).body.name).toBe('administrator');
  });

  it('omits a very long field name from the reported faults', async () => {
    const rows = [importRow('long-1', { ['f'.repeat(100_000)]: 1 }), importRow('long-2', { shorter: 1 })];
    for (const query of ['', 'dry_run=true']) {
      const { body } = await importRows(service, rows, service.admin, query);
      expect(errorsIn(body).map(({ pointer }) => pointer)).toEqual(['', '/shorter']);
    }
  });

  it('ends with the permission of the caller, and removes all rows before it appears ended (Z16)', async () => {
    const importer = await service.loginAs({ user_type: 'system', roles: ['importer'] });
    // Slows down the removal of rows, which may contain hashes.
    await service.rows(
      `create function take_time() returns trigger language plpgsql as 'begin perform pg_sleep(0.3); return null; end'`,
    );
    await service.rows(
      'create trigger take_time before delete on operation_batches for each statement execute function take_time()',
    );
    const rows = Array.from({ length: 101 }, (_, i) => importRow(`late-${i}`, { password_hash: md5 }));
    // Holds the first batch until the permission is gone.
    const { status, body } = await inTransaction(service, async (holder) => {
      await holder.query('lock table credentials in access exclusive mode');
      const answer = await importRows(service, rows, importer);
      await service.rows(`update users set roles = '{}' where user_id = $1`, [importer.user_id]);
      return answer;
    });
    expect(status).toBe(202);
    const look = `
      select
        status, error_code, changed, (select count(*)::integer from operation_batches) as batches,
        (select count(*)::integer from users where name like 'late-%') as created
      from operations
      where operation_id = $1`;
    const seen = async () => (await service.rows(look, [body.operation_id]))[0] as { status: string };
    await until(async () => !['waiting', 'running'].includes((await seen()).status), 60_000);
    await service.rows('drop function take_time cascade');
    expect(await seen()).toEqual({ status: 'failed', error_code: 'access.denied', changed: 0, batches: 0, created: 0 });
  });

  /** Imports one user, and rows that fail with hashes and a password. */
  const failing = async (login: { token: string }, name: string) => {
    const last_name = '=HYPERLINK("http://evil.example")';
    const { body } = await importRows(
      service,
      [
        importRow(name, { last_name, password_hash: md5 }),
        importRow(name, { last_name, password_hash: md5 }),
        importRow(`${name}-2`, { last_name: '@SUM(A1)', password_hash: `${md5}!` }),
        importRow(`${name}-3`, { first_name: '-1', password: 'canary-password' }),
        importRow(`${name} 4`, { phone: '+4312345678' }),
      ],
      login,
    );
    expect(body).toMatchObject({ changed: 1, skipped_count: 4 });
    return body.operation_id as string;
  };

  it('shows no hash in responses, operations and events, and keeps none of failed rows (P10)', async () => {
    const operation_id = await failing(service.admin, 'canaries');
    const file = await skipped(operation_id, service.admin);
    const tables = ['operations', 'operation_skipped', 'operation_batches', 'events'];
    const stored = await Promise.all(tables.map((table) => service.rows(`select t::text from ${table} t`)));
    const answers = [file.text, JSON.stringify(await cellsOf(operation_id)), JSON.stringify(stored)];
    for (const text of answers) expect(text).not.toMatch(new RegExp(`${md5}|canary-password|argon2`));
    const cells = (await cellsOf(operation_id)).map((row) => row['password_hash']);
    expect(cells).toEqual(['(removed)', '(removed)', undefined, undefined]);
    // The hash was lost on the way, so the row must not become a user without a password.
    const renamed = file.text.replace(',canaries,', ',canaries-5,').replace(',canaries@', ',canaries-5@');
    const again = await importCsv(service, renamed, service.admin);
    expect(errorsIn(again.body).filter(({ line }) => line === 2)).toMatchObject([{ pointer: '/password_hash' }]);
  });

  it('shows failed rows only to callers who may see the import (Z25)', async () => {
    const importer = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const operation_id = await failing(importer, 'mine');
    const others: [string, TestLogin][] = [
      ['same carrier', await service.loginAs({ carrier_id: 'c1', roles: ['importer'] })],
      ['limited', await service.loginAs({ user_type: 'system', roles: ['importer'], carrier_scope: ['c1'] })],
      ['other permissions', await service.loginAs({ user_type: 'system', roles: ['bystander'] })],
      ['no permission', await service.loginAs({ carrier_id: 'c1', roles: ['carrier_user'] })],
    ];
    for (const [title, login] of others)
      for (const accept of ['text/csv', 'application/json']) {
        const { status, text } = await skipped(operation_id, login, accept);
        expect([title, accept, status]).toEqual([title, accept, title === 'no permission' ? 403 : 404]);
        expect(text).not.toContain('mine');
      }
    expect((await service.get(`/user/operation/${operation_id}/skipped`)).status).toBe(401);
    for (const login of [importer, service.admin])
      expect((await skipped(operation_id, login)).text).toContain('mine-2');
    const page = `/user/operation/${operation_id}/skipped?per_page=1`;
    const cursor = (await service.get(page, importer)).body.next_cursor;
    const foreign = `/user/operation/${await failing(importer, 'more')}/skipped?cursor=${cursor}`;
    expect((await service.get(foreign, importer)).body.code).toBe('page.cursor_invalid');
    const file = await service.get(page, { token: importer.token, headers: { accept: 'text/csv' } });
    expect(file.body.errors).toMatchObject([{ parameter: 'per_page', code: 'parameter.conflict' }]);
  });

  it('shows failed rows of other callers only with user:read, and the file only with user:export (Z25)', async () => {
    const operation_id = await failing(service.admin, 'others');
    for (const [role, page, file] of [
      ['importer', 404, 404],
      ['import_reader', 200, 404],
      ['import_exporter', 404, 200],
    ] as const) {
      const login = await service.loginAs({ user_type: 'system', roles: [role] });
      expect((await service.get(`/user/operation/${operation_id}`, login)).status).toBe(200);
      const own = await failing(login, `own-${role.replace('_', '-')}`);
      for (const [accept, status] of [
        ['application/json', page],
        ['text/csv', file],
      ] as const) {
        const answer = await skipped(operation_id, login, accept);
        expect([role, accept, answer.status]).toEqual([role, accept, status]);
        expect(answer.text.includes('others-2')).toBe(status === 200);
        if (status === 404) expect(answer.body.code).toBe('operation.not_found');
        expect((await skipped(own, login, accept)).status).toBe(200);
      }
    }
  });

  it('shortens long cells in a page of failed rows, and keeps them whole in the file', async () => {
    const last_name = 'é'.repeat(100_000);
    const rows = [importRow('long 1', { last_name }), importRow('long 2', { last_name: 'short' })];
    const { operation_id } = (await importRows(service, rows, service.admin)).body;
    const cells = (await cellsOf(operation_id)).map((row) => row['last_name']);
    expect(cells).toEqual([`${'é'.repeat(1_000)}…`, 'short']);
    const file = parse((await skipped(operation_id, service.admin)).text, { columns: true });
    expect(file).toMatchObject([{ last_name }, { last_name: 'short' }]);
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
