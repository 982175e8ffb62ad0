import { Readable } from 'node:stream';
import fc from 'fast-check';
import { type TestAnswer, TestService } from '../support/service';
import { ended } from '../support/many-users';

describe('imports as operations', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const send = (body: string, query = '', type = 'text/csv', token = service.admin.token): Promise<TestAnswer> =>
    service.post(`/user/import?${query}`, { token, body, headers: { 'content-type': type } });
  const sendRows = (rows: object[], query = '', token = service.admin.token): Promise<TestAnswer> =>
    send(rows.map((row) => JSON.stringify(row)).join('\n'), query, 'application/x-ndjson', token);
  const row = (name: string, more: object = {}): Record<string, unknown> => ({
    user_type: 'carrier',
    name,
    email: `${name}@example.com`,
    carrier_id: 'c1',
    ...more,
  });
  const left = () => service.rows('select 1 from operation_batches');

  it('creates no user and keeps nothing when it is canceled during the upload, and says so', async () => {
    const lines = (from: number) =>
      Array.from({ length: 1_000 }, (_, i) => JSON.stringify(row(`cancel-${from + i}`))).join('\n') + '\n';
    const receiving = async () =>
      (await service.get('/user/operation/list?status=receiving', service.admin)).body.items.find(
        ({ matched }: { matched: number }) => matched > 0,
      );
    let canceled: { operation_id: string } | undefined;
    async function* file() {
      yield lines(0);
      while (canceled === undefined) {
        canceled = await receiving();
        yield '';
      }
      await service.post(`/user/operation/${canceled.operation_id}/cancel`, service.admin);
      yield lines(1_000);
      yield lines(2_000);
    }
    const answer = await service.app.inject({
      method: 'POST',
      url: '/user/import',
      payload: Readable.from(file()),
      headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'application/x-ndjson' },
    });
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      expect.objectContaining({ operation_id: canceled?.operation_id, status: 'canceled', changed: 0 }),
    ]);
    expect([await left(), await service.rows(`select 1 from users where name like 'cancel-%'`)]).toEqual([[], []]);
  });

  it('continues as an operation above 10,000 rows and reports its progress', async () => {
    const rows = Array.from({ length: 10_001 }, (_, i) => row(i % 50 === 7 ? '!!!' : `many-${i}`));
    const { status, body, headers } = await sendRows(rows);
    expect([status, body.kind, body.matched, headers['location']]).toEqual([
      202,
      'import',
      10_001,
      `/user/operation/${body.operation_id}`,
    ]);
    const operation = await ended(service, body.operation_id);
    expect(operation).toMatchObject({
      status: 'done',
      processed: 10_001,
      changed: 9_801,
      skipped_count: 200,
      undo_until: null,
    });
    const bad = Array.from({ length: 200 }, (_, i) => ({
      line: 8 + 50 * i,
      pointer: '/name',
      reason: 'field.malformed',
    }));
    expect(operation.skipped).toEqual(bad.map((one) => expect.objectContaining(one)));
    const [listed] = (await service.get('/user/operation/list?per_page=1', service.admin)).body.items;
    expect(listed.skipped).toEqual(operation.skipped.slice(0, 100));
    expect(await left()).toEqual([]);
  });

  it('restores the same users by export, purge and import, with any names', async () => {
    const text = fc.string({ unit: fc.constantFrom(...`'"=+-@,; aé😀＝`), maxLength: 12 });
    const value = fc.oneof(
      text,
      fc.string({ unit: fc.constantFrom('\n', '\r', '\t', '"', '\\', "'") }),
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.boolean(),
    );
    const people = fc.sample(
      fc.record({
        first_name: text,
        last_name: text,
        attributes: fc.dictionary(fc.constantFrom('a', '=b', '"'), value),
      }),
      40,
    );
    await sendRows(
      people.map((person, i) =>
        row(`-round-${i}`, { ...person, allowed_ips: ['10.1.2.3/8'], roles: ['carrier_user'], carrier_id: 'round' }),
      ),
    );
    await service.loginAs({ carrier_id: 'round', first_name: '=1', phone: '+4312345678' });
    const state = () =>
      service.rows(`
        select
          to_jsonb(users) - '{created_by,updated_at,version,search_text,last_seen_at}'::text[] as u,
          (select password_hash from credentials where credentials.user_id = users.user_id) as hash
        from users
        where carrier_id = 'round'
        order by user_id`);
    for (const [format, type] of [
      ['ndjson&hashes=true', 'application/x-ndjson'],
      ['csv', 'text/csv'],
    ] as const) {
      const before = await state();
      expect(before.length).toBeGreaterThanOrEqual(40);
      const { text: file } = await service.get(`/user/export?carrier_id=round&format=${format}`, service.admin);
      await service.rows(`delete from users where carrier_id = 'round'`);
      // As in another installation, where these ids do not exist.
      await service.rows('delete from user_tombstones');
      const { status, body } = await send(file, '', type);
      expect([status, body.changed, body.skipped]).toEqual([200, before.length, []]);
      if (format !== 'csv') expect(await state()).toEqual(before);
      // A user without a password hash is not active.
      else
        expect(await state()).toEqual(
          before.map(({ u }) => ({ u: { ...(u as object), status: 'invited' }, hash: null })),
        );
    }
  });
});
