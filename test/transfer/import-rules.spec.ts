import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { errorsIn, importCsv, importRow as carrier, importRows } from '../support/imports';
import { type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

const md5 = createHash('md5').update('canary').digest('hex');

describe('what callers may import, and see of an import', () => {
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
  const rowsOf = (text: string) => parse(text, { columns: true }) as unknown as Record<string, string>[];
  const cellsOf = async (operation_id: string) =>
    (
      (await skipped(operation_id, service.admin, 'application/json')).body.items as {
        cells: Record<string, string>;
      }[]
    ).map(({ cells }) => cells);

  it('grants no carrier, user type, role or scope that the caller could not grant one by one (Z12)', async () => {
    const [outside, more] = ['/carrier_id access.denied', '/roles access.grant_exceeds_own'];
    const other = { carrier_id: 'c2' };
    const ofCarrier = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const stronger = carrier('z-4', { roles: ['carrier_administrator'] });
    const equal = carrier('z-5', { roles: ['carrier_user'] });
    expect(await codes([carrier('z-1'), carrier('z-2', other), system('z-3'), stronger, equal], ofCarrier)).toEqual([
      2,
      outside,
      outside,
      more,
    ]);
    const scoped = await service.loginAs({ user_type: 'system', roles: ['importer'], carrier_scope: ['c1'] });
    const inScope = system('z-8', { carrier_scope: ['c1'] });
    expect(await codes([carrier('z-6'), carrier('z-7', other), inScope], scoped)).toEqual([1, outside, outside]);
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
      carrier('m-1', { user_id: service.admin.user_id }),
      carrier('m-2', { user_id: '00000000-0000-0000-0000-000000000000' }),
      carrier('m-3', { created_at: '2999-01-01T00:00:00Z' }),
    ];
    const fields = ['version', 'deleted_at', 'created_by', 'updated_at', 'locked_until', 'email_pending', 'password'];
    const rows = [...fields, 'search_text', '__proto__'].map(
      (field, i) => JSON.parse(JSON.stringify(carrier(`f${i}xx`)).replace('{', `{"${field}":"1",`)) as object,
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
    const rows = [carrier('long-1', { ['f'.repeat(100_000)]: 1 }), carrier('long-2', { shorter: 1 })];
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
    const rows = Array.from({ length: 101 }, (_, i) => carrier(`late-${i}`, { password_hash: md5 }));
    // Holds the first batch until the permission is gone.
    const holder = await service.sql.connect();
    await holder.query('begin; lock table credentials in access exclusive mode');
    const { status, body } = await importRows(service, rows, importer);
    expect(status).toBe(202);
    await service.rows(`update users set roles = '{}' where user_id = $1`, [importer.user_id]);
    await holder.query('commit');
    holder.release();
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
        carrier(name, { last_name, password_hash: md5 }),
        carrier(name, { last_name, password_hash: md5 }),
        carrier(`${name}-2`, { last_name: '@SUM(A1)', password_hash: `${md5}!` }),
        carrier(`${name}-3`, { first_name: '-1', password: 'canary-password' }),
        carrier(`${name} 4`, { phone: '+4312345678' }),
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
    const again = await importCsv(
      service,
      file.text.replace(',canaries,', ',canaries-5,').replace(',canaries@', ',canaries-5@'),
      service.admin,
    );
    expect(errorsIn(again.body).filter(({ line }) => line === 2)).toMatchObject([{ pointer: '/password_hash' }]);
  });

  it('shows failed rows only to callers who may see the import (Z25)', async () => {
    const importer = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const operation_id = await failing(importer, 'mine');
    const others: [string, TestLogin][] = [
      ['same carrier', await service.loginAs({ carrier_id: 'c1', roles: ['importer'] })],
      ['other carrier', await service.loginAs({ carrier_id: 'c2', roles: ['importer'] })],
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
    const rows = [carrier('long 1', { last_name }), carrier('long 2', { last_name: 'short' })];
    const { operation_id } = (await importRows(service, rows, service.admin)).body;
    const cells = (await cellsOf(operation_id)).map((row) => row['last_name']);
    expect(cells).toEqual([`${'é'.repeat(1_000)}…`, 'short']);
    expect(rowsOf((await skipped(operation_id, service.admin)).text)[0]?.['last_name']).toBe(last_name);
  });
});
