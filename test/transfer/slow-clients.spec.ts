import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { errorsIn, importRow } from '../support/data/imports';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { TestService } from '../support/service';
import { until } from '../support/until';

const header = 'user_type,name,email,carrier_id\n';
const limits = {
  body: { bodyMs: 1_500, uploadGraceMs: 1_500, uploadBytesPerSecond: 500, uploadMaxBytes: 3_000_000 },
  pace: { patienceMs: 1_000, bytesPerSecond: 50_000_000 },
  skipped: { rows: 200, bytes: 60_000 },
};
const csvRows = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `carrier,${prefix}-${i},${prefix}-${i}@example.com,c1\n`).join('');

/** A service with low limits. `test/http/hostile-clients.long.spec.ts` has the real ones. */
describe('slow and large transfers', () => {
  let service: TestService;
  let unauthorised: string;
  const connections: RawConnection[] = [];
  beforeAll(async () => {
    service = await TestService.start({
      NODE_OPTIONS: `--require=${join(__dirname, '../support/process/small-limits.js')}`,
      SMALL_LIMITS: JSON.stringify(limits),
    });
    unauthorised = `Bearer ${(await service.loginAs()).token}`;
  });
  afterEach(() => connections.splice(0).forEach(({ socket }) => socket.destroy()));
  afterAll(() => service.close());

  const begin = async (headers: Record<string, string | undefined>, body = '') => {
    const connection = await RawConnection.open(service.port);
    connections.push(connection);
    await connection.send(requestHead('POST', '/user/import', headers) + body);
    return connection;
  };
  const upload = (headers: Record<string, string | undefined> = {}) => ({
    authorization: `Bearer ${service.admin.token}`,
    'content-type': 'text/csv',
    'transfer-encoding': 'chunked',
    ...headers,
  });
  const left = () =>
    service.rows(`
      select 'operation' as kind from operations where status = 'receiving'
      union all
      select 'batch' from operation_batches`);

  it('disconnects slow bodies without access at the deadline, for any token, type and length (H18, H21)', async () => {
    const tokens = [undefined, 'Bearer not.a.token', unauthorised];
    const types = ['application/json', undefined, 'text/csv', 'application/octet-stream', 'text/csv; charset=utf-16'];
    const slow = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        begin(
          {
            authorization: tokens[index % tokens.length],
            'content-type': types[index % types.length],
            ...(index % 2 === 0 ? { 'content-length': '4000' } : { 'transfer-encoding': 'chunked' }),
          },
          index % 2 === 0 ? '{' : chunk('{'),
        ),
      ),
    );
    slow.forEach((connection, index) => void connection.trickle(index % 2 === 0 ? ' ' : chunk(' '), 250));
    expect((await service.get('/health/live')).status).toBe(200);
    await Promise.all(slow.map(({ closed }) => closed));
    expect(slow.filter(({ status }) => ![400, 401, 403].includes(status))).toEqual([]);
  });

  it('receives an accepted upload for longer than the deadline as long as data flows (H21)', async () => {
    const connection = await begin(upload(), chunk(header));
    const { bodyMs, uploadGraceMs } = limits.body;
    const rounds = (bodyMs + uploadGraceMs + 1_000) / 250;
    await connection.trickle((round) => chunk(csvRows(`flowing-${round}`, 30)), 250, rounds);
    await connection.send('0\r\n\r\n');
    await until(() => connection.status > 0);
    expect([connection.status, connection.error]).toEqual([200, null]);
    expect(connection.received).toContain(`"changed":${rounds * 30},`);
  });

  it('ends an accepted upload that falls below the minimum rate, and stores no part of it (H21)', async () => {
    const connection = await begin(upload(), chunk(header + csvRows('slow', 1_100)));
    void connection.trickle(chunk('c'), 250);
    await connection.closed;
    expect(connection.status).toBe(400);
    await until(async () => (await left()).length === 0);
    expect(await service.rows(`select 1 from users where name like 'slow-%'`)).toEqual([]);
  });

  it('rejects an upload with a length above the limit after the guard and before it is read (H21)', async () => {
    const length = String(limits.body.uploadMaxBytes + 1);
    for (const [authorization, status] of [
      [undefined, 401],
      [unauthorised, 403],
      [`Bearer ${service.admin.token}`, 413],
    ] as const) {
      const large = { 'transfer-encoding': undefined, 'content-length': length, authorization };
      const connection = await begin(upload(large));
      await until(() => connection.status > 0);
      expect(connection.status).toBe(status);
    }
    expect(await left()).toEqual([]);
  });

  it('rejects an upload that exceeds the limit while it is sent, and stores no part of it (H21)', async () => {
    for (const headers of [{}, { 'idempotency-key': 'large' }]) {
      const connection = await begin(upload(headers), chunk(header + csvRows('large', 1_000)));
      const part = `carrier,${'x'.repeat(100_000)},large@example.com,c1\n`;
      for (let sent = 0; sent <= limits.body.uploadMaxBytes; sent += part.length) await connection.send(chunk(part));
      // The client has not sent the end of the file.
      await until(() => connection.status > 0);
      expect(connection.status).toBe(413);
      expect(connection.received).toContain('"code":"request.too_large"');
      expect(await left()).toEqual([]);
      expect(await service.rows(`select 1 from users where name like 'large-%'`)).toEqual([]);
      expect(await service.rows('select 1 from idempotency_keys')).toEqual([]);
    }
  });

  describe('with invalid rows', () => {
    const secret = 'never-to-be-stored';
    const long = secret.repeat(100);
    const count = 1_100;
    const good = importRow('staged');
    it.each<[string, string, string, string]>([
      ['a text that is too long', JSON.stringify({ ...good, first_name: long }), '/first_name', 'field.too_long'],
      ['an unknown field with a long name', JSON.stringify({ ...good, [long]: 1 }), '', 'field.unknown'],
      ['a value of another type', JSON.stringify({ ...good, roles: { [long]: 1 } }), '/roles', 'field.wrong_type'],
      ['an unknown hash', JSON.stringify({ ...good, password_hash: secret }), '/password_hash', 'field.not_allowed'],
      ['no JSON', `{"name":"${long}`, '', 'field.malformed'],
    ])(
      'keeps little of many rows with %s, however long they are, and no secret (B26, P10)',
      async (_what, text, pointer, code) => {
        // The values of known columns are kept for correction, within the limits.
        const isKept = ['/first_name', '/roles'].includes(pointer);
        const connection = await begin(
          upload({ 'content-type': 'application/x-ndjson' }),
          chunk(`${text}\n`.repeat(count)),
        );
        const staging = async () =>
          (
            await service.rows<{ rows: number; bytes: number; secrets: boolean }>(`
            select
              coalesce(sum(jsonb_array_length(rows)), 0)::integer as rows,
              coalesce(sum(length(rows::text)), 0)::integer as bytes,
              bool_or(rows::text ~ 'never-to-be-stored') as secrets
            from operation_batches`)
          )[0];
        await until(async () => ((await staging())?.rows ?? 0) >= 1_000);
        const staged = await staging();
        expect(staged?.secrets).toBe(isKept);
        expect(staged?.bytes).toBeLessThan(limits.skipped.bytes + text.length + 250 * (staged?.rows ?? 0));
        await connection.send('0\r\n\r\n');
        await until(() => connection.received.endsWith('}'), 60_000);
        const body = JSON.parse(connection.received.split('\r\n\r\n')[1] ?? '');
        expect([connection.status, body.skipped_count, body.skipped.length]).toEqual([200, count, 100]);
        const [first] = errorsIn(body);
        expect([first?.pointer, first?.code]).toEqual([pointer, code]);
        const [kept] = await service.rows<{ rows: number; bytes: number; secrets: boolean }>(
          `
          select
            count(*)::integer as rows,
            sum(length(errors::text) + coalesce(length(cells::text), 0))::integer as bytes,
            bool_or(s::text ~ 'never-to-be-stored') as secrets
          from operation_skipped s
          where operation_id = $1`,
          [body.operation_id],
        );
        expect(kept?.rows).toBeGreaterThan(1);
        expect(kept?.rows).toBeLessThanOrEqual(limits.skipped.rows);
        expect(kept?.bytes).toBeLessThanOrEqual(limits.skipped.bytes);
        expect(kept?.secrets).toBe(isKept);
        const [listed] = await service.rows<{ bytes: number; secrets: boolean }>(
          `select length(skipped::text) as bytes, skipped::text ~ 'never-to-be-stored' as secrets
         from operations where operation_id = $1`,
          [body.operation_id],
        );
        expect(listed?.secrets).toBe(false);
        expect(listed?.bytes).toBeLessThan(30_000);
      },
    );
  });

  it('disconnects readers that trickle, so that two actors cannot occupy both places forever', async () => {
    // More data than all buffers between service and client hold.
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status, attributes)
      select
        uuid_v7(), 'carrier', 'big-' || i, 'big-' || i || '@example.com', 'big', 'invited',
        jsonb_build_object('pad', repeat('x', 10000))
      from generate_series(1, 2500) i`);
    const { token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const read = (by: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${by}` };
        get(`${service.url}/user/export?format=ndjson`, { headers, agent: false }, resolve).on('error', reject);
      });
    const slow = [await read(service.admin.token), await read(token)];
    const ended = slow.map((answer) => new Promise((resolve) => answer.on('error', resolve)));
    const reading = setInterval(() => slow.forEach((answer) => answer.read(1_000)), 20);
    const snapshots = `
      select 1
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity snapshot'`;
    await until(async () => (await service.rows(snapshots)).length === 0).finally(() => clearInterval(reading));
    // The client reads the buffered data first. Then the connection ends before the body does.
    slow.forEach((answer) => answer.resume());
    await Promise.all(ended);
    expect(slow.map(({ complete }) => complete)).toEqual([false, false]);
    expect((await service.get('/user/export?carrier_id=nowhere', service.admin)).status).toBe(200);
  });
});
