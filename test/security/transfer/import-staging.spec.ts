import { Readable } from 'node:stream';
import { until } from '../../support/until';
import { TestService } from '../../support/service';

const secret = 'never-to-be-stored';
const long = secret.repeat(1_000);
const rows = 1_500;

describe('the staging of invalid import rows', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const good = { user_type: 'carrier', name: 'staged', email: 'staged@example.com', carrier_id: 'c1' };
  const bad: [string, string, string, string][] = [
    ['a text that is too long', JSON.stringify({ ...good, first_name: long }), '/first_name', 'field.too_long'],
    ['an unknown field', JSON.stringify({ ...good, unknown: long }), '/unknown', 'field.unknown'],
    ['an unknown field with a long name', JSON.stringify({ ...good, [long]: 1 }), '', 'field.unknown'],
    [
      'a key that is not allowed, deep in a long one',
      `{"attributes":{"${long}":{"__proto__":1}}}`,
      '',
      'field.unknown',
    ],
    ['a value of another type', JSON.stringify({ ...good, roles: { [long]: 1 } }), '/roles', 'field.wrong_type'],
    [
      'a hash of no known form',
      JSON.stringify({ ...good, password_hash: secret }),
      '/password_hash',
      'field.not_allowed',
    ],
    [
      'a carrier of a System User',
      JSON.stringify({ ...good, user_type: 'system' }),
      '/carrier_id',
      'field.not_allowed',
    ],
    [
      'a time to come',
      JSON.stringify({ ...good, created_at: '2999-01-01T00:00:00.000Z' }),
      '/created_at',
      'field.not_allowed',
    ],
    ['no JSON', `{"name":"${long}`, '', 'field.malformed'],
  ];

  it.each(bad)(
    'stores only the fault of a row with %s, however long the row is (H21)',
    async (_what, text, pointer, code) => {
      let staged: { rows: number; bytes: number; content: boolean } | undefined;
      const staging = () =>
        service.rows<{ rows: number; bytes: number; content: boolean }>(
          `
            select
              coalesce(sum(jsonb_array_length(rows)), 0)::integer as rows,
              coalesce(sum(length(rows::text)), 0)::integer as bytes,
              coalesce(bool_or(rows::text ~ 'never-to-be-stored|example.com'), false) as content
            from operation_batches`,
        );
      async function* file() {
        for (let sent = 0; sent < rows; sent += 10) yield `${text}\n`.repeat(10);
        await until(async () => {
          [staged] = await staging();
          return staged !== undefined && staged.rows >= 1_000;
        });
      }
      const answer = await service.app.inject({
        method: 'POST',
        url: '/user/import',
        payload: Readable.from(file()),
        headers: { authorization: `Bearer ${service.admin.token}`, 'content-type': 'application/x-ndjson' },
      });
      const body = answer.json<{ failed_count: number; failed: { pointer: string; code: string }[] }>();
      expect([answer.statusCode, body.failed_count]).toEqual([200, rows]);
      expect([body.failed[0]?.pointer, body.failed[0]?.code]).toEqual([pointer, code]);
      expect(staged?.content).toBe(false);
      expect((staged?.bytes ?? Infinity) / (staged?.rows ?? 1)).toBeLessThan(250);
      const [kept] = await service.rows<{ bytes: number }>(
        `select max(length(skipped::text)) as bytes from operations`,
      );
      expect(kept?.bytes).toBeLessThan(250 * rows);
    },
  );
});
