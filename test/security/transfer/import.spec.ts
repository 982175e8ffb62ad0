import { createHash } from 'node:crypto';
import { errorsIn } from '../../support/imports';
import { type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

/** One hash of each algorithm. Each makes every rejected login slower while it is stored. */
const foreignHashes = [
  '$2b$10$LjLUKtC8LlSFC2yoIWIiJO1oLXBfWPLkbnPpyjbPvbEr2kY7Ez2pC',
  '$pbkdf2-sha256$i=29000$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc',
  '$scrypt$ln=14,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc',
  '$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc',
];

describe('imports by limited callers', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('importer', '{system,carrier}', '{user:import}', '{carrier_user}'),
        ('reader', '{system}', '{user:read}', '{}')`);
  });
  afterAll(() => service.close());

  const send = (rows: object[], { token }: { token: string }, query = '') =>
    service.post(`/user/import?${query}`, {
      token,
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const codes = async (rows: object[], login: TestLogin) => {
    const { body } = await send(rows, login);
    return [body.changed, ...errorsIn(body).map(({ pointer, code }) => `${pointer} ${code}`)];
  };
  const carrier = (name: string, more: object = {}) => ({
    user_type: 'carrier',
    name,
    email: `${name}@example.com`,
    carrier_id: 'c1',
    ...more,
  });
  const system = (name: string, more: object = {}) => ({
    user_type: 'system',
    name,
    email: `${name}@example.com`,
    ...more,
  });
  const [outside, more] = ['/carrier_id access.denied', '/roles access.grant_exceeds_own'];

  it('grants no carrier, user type, role or scope that the caller could not grant one by one (Z12)', async () => {
    const ofCarrier = await service.loginAs({ carrier_id: 'c1', roles: ['importer'] });
    const rows = [
      carrier('z-1'),
      carrier('z-2', { carrier_id: 'c2' }),
      system('z-3'),
      carrier('z-4', { roles: ['carrier_administrator'] }),
    ];
    expect(await codes([...rows, carrier('z-5', { roles: ['carrier_user'] })], ofCarrier)).toEqual([
      2,
      outside,
      outside,
      more,
    ]);
    const scoped = await service.loginAs({ user_type: 'system', roles: ['importer'], carrier_scope: ['c1'] });
    expect(
      await codes(
        [carrier('z-6'), carrier('z-7', { carrier_id: 'c2' }), system('z-8', { carrier_scope: ['c1'] })],
        scoped,
      ),
    ).toEqual([1, outside, outside]);
    const unscoped = await service.loginAs({ user_type: 'system', roles: ['importer'] });
    const powerful = [
      system('z-9', { roles: ['administrator'] }),
      system('z-10', { roles: ['reader'] }),
      system('z-11', { roles: ['carrier_user'] }),
    ];
    expect(await codes(powerful, unscoped)).toEqual([0, more, more, '/roles field.not_allowed']);
    const created = await service.rows<{ name: string }>(
      `select name from users where name ~ '^z-[0-9]+$' order by created_at, name`,
    );
    expect(created.map(({ name }) => name).sort()).toEqual(['z-1', 'z-5', 'z-6']);
  });

  it('rejects ids of other users, versions, deletions, future times and passwords (Z6)', async () => {
    const taken = [
      carrier('m-1', { user_id: service.admin.user_id }),
      carrier('m-2', { user_id: '00000000-0000-0000-0000-000000000000' }),
    ];
    const fields = [
      'version',
      'deleted_at',
      'created_by',
      'updated_at',
      'locked_until',
      'email_pending',
      'password',
      'search_text',
      '__proto__',
    ];
    const rows = fields.map(
      (field, i) =>
        JSON.parse(
          `{"user_type":"carrier","name":"f${i}xx","email":"f${i}@example.com","carrier_id":"c1","${field}":"1"}`,
        ) as object,
    );
    const future = carrier('m-3', { created_at: '2999-01-01T00:00:00Z' });
    const [created, ...failed] = await codes([...taken, future], service.admin);
    expect([created, failed.sort()]).toEqual([
      0,
      ['/created_at field.not_allowed', '/user_id field.malformed', '/user_id field.not_allowed'],
    ]);
    for (const row of rows)
      expect((await send([row], service.admin)).body).toMatchObject({ changed: 0, skipped_count: 1 });
    expect((await service.get('/user', service.admin)).body.name).toBe('administrator');
  });

  it('omits a very long field name from the reported faults', async () => {
    const rows = [carrier('long-1', { ['f'.repeat(100_000)]: 1 }), carrier('long-2', { shorter: 1 })];
    for (const query of ['', 'dry_run=true']) {
      const { body } = await send(rows, service.admin, query);
      expect(errorsIn(body).map(({ pointer }) => pointer)).toEqual(['', '/shorter']);
    }
  });

  it('ends with the permission of the caller (Z16)', async () => {
    const importer = await service.loginAs({ user_type: 'system', roles: ['importer'] });
    const md5 = createHash('md5').update('x').digest('hex');
    // Slows down the removal of rows: the operation must not appear ended while rows and hashes
    // remain.
    await service.rows(
      `create function take_time() returns trigger language plpgsql as 'begin perform pg_sleep(0.3); return null; end'`,
    );
    await service.rows(
      'create trigger take_time before delete on operation_batches for each statement execute function take_time()',
    );
    const { status, body } = await send(
      Array.from({ length: 101 }, (_, i) => carrier(`late-${i}`, { password_hash: md5 })),
      importer,
    );
    expect(status).toBe(202);
    await service.patch(`/user/${importer.user_id}`, { ...service.admin, body: { roles: [] } });
    const look = `
      select
        status, error_code, changed, (select count(*)::integer from operation_batches) as batches,
        (select count(*)::integer from users where name like 'late-%') as created
      from operations
      where operation_id = $1`;
    const seen = async () => (await service.rows(look, [body.operation_id]))[0] as { status: string };
    await until(async () => !['waiting', 'running'].includes((await seen()).status), 40_000);
    await service.rows('drop function take_time cascade');
    expect(await seen()).toEqual({ status: 'failed', error_code: 'access.denied', changed: 0, batches: 0, created: 0 });
  });

  it('shows no hash in responses, operations and events (P10)', async () => {
    const md5 = createHash('md5').update('canary').digest('hex');
    const { body } = await send(
      [
        carrier('p-1', { password_hash: md5 }),
        carrier('p-1', { password_hash: md5 }),
        carrier('p-2', { password_hash: `${md5}!` }),
      ],
      service.admin,
    );
    expect(body).toMatchObject({ changed: 1, skipped_count: 2 });
    const kept = await service.rows(
      'select (select json_agg(o)::text from operations o) || (select json_agg(e)::text from events e) as text',
    );
    for (const text of [JSON.stringify(body), JSON.stringify(kept)])
      expect(text).not.toMatch(new RegExp(`${md5}|argon2`));
  });

  it('never stores a bare MD5, and removes the wrapped one with the operation (P10, P12)', async () => {
    const md5 = createHash('md5').update('canary').digest('hex');
    const rows = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => carrier(`${name}-${i}`, { password_hash: md5 }));
    expect((await send(rows('bare', 2), service.admin)).body.changed).toBe(2);
    const { body } = await send(rows('bare-canceled', 101), service.admin);
    const batches = 'select 1 from operation_batches where strpos(rows::text, $1) > 0';
    expect(await service.rows(batches, [md5])).not.toEqual([]);
    expect((await service.post(`/user/operation/${body.operation_id}/cancel`, service.admin)).body.status).toBe(
      'canceled',
    );
    expect(await service.rows(batches, [md5])).toEqual([]);
    const hashes = await service.rows<{ hash: string }>(
      `select password_hash as hash from credentials join users using (user_id) where name like 'bare-%'`,
    );
    expect(hashes.length).toBeGreaterThanOrEqual(2);
    for (const { hash } of hashes) expect(hash).toMatch(/^\$md5\$argon2id\$/);
    const bare = service.rows('update credentials set password_hash = $1', [md5]);
    await expect(bare).rejects.toMatchObject({ constraint: 'credentials_password_hash_check' });
  });

  it('creates no user twice for the same key and file, and rejects another file (F12, B22)', async () => {
    const again = (body: string, query = '') =>
      service.post(`/user/import${query}`, {
        token: service.admin.token,
        body,
        headers: { 'content-type': 'text/csv', 'idempotency-key': 'import-1' },
      });
    const file = 'user_type,name,email,carrier_id\ncarrier,twice-1,twice-1@example.com,c1\n';
    const first = await again(file);
    expect([first.status, first.body.changed, first.body.skipped_count]).toEqual([200, 1, 0]);
    const second = await again(file);
    expect([second.status, second.body]).toEqual([200, first.body]);
    for (const other of [await again(file.replace('twice-1,', 'twice-2,')), await again(file, '?on_conflict=skip')])
      expect([other.status, other.body.code]).toEqual([422, 'idempotency.key_reused']);
    expect(await service.rows(`select name from users where name like 'twice-%'`)).toEqual([{ name: 'twice-1' }]);
  });

  it('keeps a limited administrator from slowing down rejected logins by imported hashes (L21)', async () => {
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('carrier_loader', '{carrier}', '{user:import}')`,
    );
    const limited = [
      await service.loginAs({ carrier_id: 'c1', roles: ['carrier_loader'] }),
      await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] }),
    ];
    const send = async (token: string, name: string, password_hash: string) => {
      const row = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password_hash };
      const headers = { 'content-type': 'application/x-ndjson' };
      return (await service.post('/user/import', { token, headers, body: JSON.stringify(row) })).body;
    };
    for (const [index, { token }] of limited.entries()) {
      for (const [form, hash] of foreignHashes.entries()) {
        const body = await send(token, `slow-${index}-${form}`, hash);
        expect([hash, body.changed, errorsIn(body)]).toMatchObject([
          hash,
          0,
          [{ pointer: '/password_hash', code: 'access.denied' }],
        ]);
      }
      expect((await send(token, `md5-${index}`, '5f4dcc3b5aa765d61d8327deb882cf99')).changed).toBe(1);
      const own = '$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc';
      expect((await send(token, `own-${index}`, own)).changed).toBe(1);
    }
    expect(await service.rows('select 1 from password_hash_costs')).toEqual([]);
    expect((await send(service.admin.token, 'by-admin', foreignHashes[0] ?? '')).changed).toBe(1);
  });

  it('keeps a file of costly hashes of many kinds from blocking all logins (L21)', async () => {
    const rest = '$MDEyMzQ1Njc4OWFiY2RlZg$1I2lsMBXXR3dP2YxAjcxSGSu1FjImLODJpVVoyI4Vmc';
    const costly = [
      ...['sha1', 'sha256', 'sha512'].map((digest) => `$pbkdf2-${digest}$i=900000${rest}`),
      ...[1, 2, 3, 4].map((p) => `$argon2id$v=19$m=131072,t=6,p=${p}${rest}`),
      ...[14, 15, 16, 17].map((ln) => `$scrypt$ln=${ln},r=8,p=1${rest}`),
    ];
    const rows = costly.map((password_hash, index) => ({
      ...{
        user_type: 'carrier',
        carrier_id: 'c1',
        name: `heavy-${index}`,
        email: `heavy-${index}@example.com`,
        password_hash,
      },
    }));
    const headers = { 'content-type': 'application/x-ndjson' };
    const body = rows.map((row) => JSON.stringify(row)).join('\n');
    const result = (await service.post('/user/import', { token: service.admin.token, headers, body })).body;
    expect(errorsIn(result).length).toBeGreaterThan(4);
    for (const { pointer, code } of errorsIn(result))
      expect([pointer, code]).toEqual(['/password_hash', 'field.not_allowed']);
    const [{ stored } = { stored: 0 }] = await service.rows<{ stored: number }>(
      `select sum(cost)::integer as stored from password_hash_costs where computation <> 'bcrypt'`,
    );
    expect(stored).toBeLessThan(3_400_000);
  });
});
