import { Readable } from 'node:stream';
import { skippedLimits } from '../../../src/operations/operations.service';
import { errorsIn } from '../../support/imports';
import { until } from '../../support/until';
import { TestService } from '../../support/service';

const secret = 'never-to-be-stored';
const long = secret.repeat(1_000);
const rows = 1_500;

describe('the staging of invalid import rows', () => {
  let service: TestService;
  beforeAll(async () => {
    Object.assign(skippedLimits, { rows: 200, bytes: 60_000 });
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
    'keeps little of many rows with %s, however long they are, and no secret (B26, P10)',
    async (what, text, pointer, code) => {
      let staged: { rows: number; bytes: number; secrets: number } | undefined;
      const staging = () =>
        service.rows<{ rows: number; bytes: number; secrets: number }>(
          `
            select
              coalesce(sum(jsonb_array_length(rows)), 0)::integer as rows,
              coalesce(sum(length(rows::text)), 0)::integer as bytes,
              (count(*) filter (where rows::text ~ 'never-to-be-stored'))::integer as secrets
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
      const body = answer.json();
      expect([answer.statusCode, body.skipped_count, body.skipped.length]).toEqual([200, rows, 100]);
      const [first] = errorsIn(body);
      expect([first?.pointer, first?.code]).toEqual([pointer, code]);
      // Values of known columns are kept for correction, within the limit.
      const isKept = ['/first_name', '/roles'].includes(pointer);
      expect([what, (staged?.secrets ?? 0) > 0]).toEqual([what, isKept]);
      expect(staged?.bytes).toBeLessThan(skippedLimits.bytes + text.length + 250 * (staged?.rows ?? 0));
      const [kept] = await service.rows<{ rows: number; bytes: number; secrets: number }>(
        `
          select
            count(*)::integer as rows,
            sum(length(errors::text) + coalesce(length(cells::text), 0))::integer as bytes,
            (count(*) filter (where s::text ~ 'never-to-be-stored'))::integer as secrets
          from operation_skipped s
          where operation_id = $1`,
        [body.operation_id],
      );
      expect(kept?.rows).toBeGreaterThan(1);
      expect(kept?.rows).toBeLessThanOrEqual(skippedLimits.rows);
      expect(kept?.bytes).toBeLessThanOrEqual(skippedLimits.bytes);
      expect([what, (kept?.secrets ?? 0) > 0]).toEqual([what, isKept]);
      const [listed] = await service.rows<{ bytes: number; secrets: boolean }>(
        `select length(skipped::text) as bytes, skipped::text ~ 'never-to-be-stored' as secrets
         from operations where operation_id = $1`,
        [body.operation_id],
      );
      expect([listed?.secrets, (listed?.bytes ?? Infinity) < 30_000]).toEqual([false, true]);
    },
  );
});
