import {
  type BodyField,
  type BodyOperation,
  bodyOperations,
  queryOperations,
} from '../support/contract/body-operations';
import { importRow, importRows } from '../support/data/imports';
import { parseScrape } from '../support/metrics';
import { rawRequest, statusOf } from '../support/network/raw-request';
import { TestService } from '../support/service';
import { unexpectedResponses } from '../support/contract/unexpected-responses';

const METRICS_TOKEN = 'metrics-token-0123456789-abcdefghij';
const size = 60_000;
/**
 * Processor time of a few dozen requests. They take a tenth of it, and an expression that takes
 * quadratic time for one of them takes more.
 */
const budgetSeconds = 1.5;

/** Families of texts on which backtracking expressions take quadratic or exponential time. */
const families: [family: string, text: string][] = [
  ['letters', `${'a'.repeat(size)}!`],
  ['dotted words', `${'a.'.repeat(size / 2)}@`],
  ['beginnings of addresses', 'a@'.repeat(size / 2)],
  ['host labels', `a@${'a-'.repeat(size / 2)}`],
  ['dots', `a@${'.'.repeat(size)}b`],
  ['spaces', `a${' '.repeat(size)}x`],
  ['tabs', `\t${'\t'.repeat(size)}x`],
  ['digits', `+${'1'.repeat(size)}x`],
  ['hyphens', `${'en-'.repeat(size / 3)}!`],
  ['slashes', `${'A/'.repeat(size / 2)}!`],
  ['address groups', `${'1.'.repeat(size / 2)}/`],
  ['colons', `${':'.repeat(size)}1/129`],
  ['wildcards', '%_'.repeat(size / 2)],
  ['backslashes', '\\'.repeat(size / 2)],
  ['quotes', '"'.repeat(size / 2)],
  ['marks', '\u0301'.repeat(size / 3)],
];

const parameters = [
  ...['q', 'cursor', 'per_page', 'order_by', 'name', 'email_like', 'first_name_in', 'role_in', 'created_at_gt', 'x'],
  ...['last_login_ip', 'last_login_ip_in', 'user_id', 'user_id_in', 'online', 'attributes.k'],
];

const json = { 'content-type': 'application/json' };

/** Wrong types for a field of each type. */
const wrong: Record<BodyField['type'], unknown[]> = {
  string: [true, 0, 1.5, [], ['x'], {}, { $ne: '' }, { toString: 'x' }, { first: 'x', role: 'admin' }],
  boolean: ['true', '', 0, 1, [], [true], {}, { raw: 'now()' }],
  integer: ['1', '', true, 1.5, [], [1], {}, { $ne: 0 }],
  array: ['x', '', 0, true, {}, { 0: 'x' }, [1], [null], [[]], [{}], ['x', ['y']], [{ length: 3 }]],
  object: ['x', '{}', 0, true, [], [{}]],
  choice: [true, 0, 1.5, {}, { 0: 'x' }, [1], [null], [[]], [{}], [{ raw: 'now()' }]],
};

/** Bodies that the parser rejects. `body-parsers.spec.ts` proves the other forms. */
const hostile: [title: string, status: number, body: string | Buffer][] = [
  ['NUL in a key', 400, '{"attributes":{"a\\u0000b":1}}'],
  ['bytes that are not UTF-8', 400, Buffer.from('{"first_name":"\xff"}', 'latin1')],
  ['a key that reaches prototypes', 400, '{"attributes":{"a":[{"__proto__":{"polluted":1}}]}}'],
  ['60,000 open brackets', 400, '['.repeat(60_000)],
  ['more than 64 KiB', 413, `{"first_name":"${'x'.repeat(65_536)}"}`],
  ['a list instead of an object', 400, '[{}]'],
];

describe('input', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  let operations: BodyOperation[];
  const send = ({ method, url }: Pick<BodyOperation, 'method' | 'url'>, body: string | Buffer) =>
    service.send(method, url, { token, body, headers: json });
  const patch = (body: string | Buffer) => send({ method: 'PATCH', url: `/user/${user_id}` }, body);
  const storedUsers = () => service.rows('select * from users order by user_id');
  const is400 = ({ status }: { status: number }) => status === 400;

  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
    ({ token } = service.admin);
    ({ user_id } = await service.createUser({ attributes: { kept: 1 } }));
    operations = bodyOperations(user_id);
  });
  afterAll(() => service.close());

  it.each(hostile)(
    'rejects in every operation: %s (I1, I2, I3, I4, I5, I6, I7, I9, I10)',
    async (_title, status, body) => {
      const before = await storedUsers();
      const found = await unexpectedResponses(
        operations,
        ({ method, url }) => `${method} ${url}`,
        (operation) => send(operation, body),
        (answer) => answer.status === status,
      );
      expect(found).toEqual([]);
      expect(await storedUsers()).toEqual(before);
    },
  );

  it('rejects every wrong type in every field, by its pointer and without effect (I10, I21, L15)', async () => {
    const probes = operations.flatMap((operation) =>
      operation.fields.flatMap((field) =>
        [...wrong[field.type], ...(field.nullable ? [] : [null])].map((value) => ({ operation, field, value })),
      ),
    );
    expect(probes.length).toBeGreaterThan(300);
    const before = await storedUsers();
    const found: string[] = [];
    for (const { operation, field, value } of probes) {
      const answer = await send(operation, JSON.stringify({ [field.name]: value }));
      const errors = (answer.body?.errors ?? []) as { pointer: string; code: string }[];
      const named = errors.find(({ pointer }) => pointer === `/${field.name}`);
      if (answer.status !== 400 || named?.code !== 'field.wrong_type')
        found.push(`${operation.url} ${field.name}=${JSON.stringify(value)} → ${answer.text}`);
    }
    expect(found).toEqual([]);
    expect(await storedUsers()).toEqual(before);
  });

  it('rejects NUL in every query parameter, and lone surrogates and NUL in paths of attributes (I1, I2)', async () => {
    const queries = queryOperations().flatMap(([method, path, names]) =>
      names.map((name) => ({ method, url: `${path}?${name}=abc%00d` })),
    );
    expect(queries.length).toBeGreaterThan(300);
    const forms = ['first_name=%ED%A0%80', 'first_name_ne=%ED%A0%80', 'q=%ED%BF%BF', 'attributes.k=%ED%A0%80'];
    const found = await unexpectedResponses(
      [...queries, ...forms.map((query) => ({ method: 'GET', url: `/user/list?${query}` }))],
      ({ method, url }) => `${method} ${url}`,
      (query) => send(query, query.method === 'PATCH' ? '{"locale":"en"}' : ''),
      is400,
    );
    expect(found).toEqual([]);
    const head = 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\0b\r\n\r\n';
    expect(statusOf(await rawRequest(service.port, head))).toBe(400);
  });

  it('treats names of prototypes in queries and headers as ordinary names (I4)', async () => {
    const names = ['__proto__', 'constructor', '__proto__[polluted]', 'constructor.prototype.polluted', 'toString'];
    for (const name of [...names, '__proto__.polluted', 'hasOwnProperty', '__proto___ne', 'valueOf_in'])
      expect([name, (await service.get(`/user/list?${encodeURIComponent(name)}=1`, { token })).status]).toEqual([
        name,
        400,
      ]);
    const filtered = await service.get('/user/list?attributes.__proto__=x&attributes.constructor=x', { token });
    expect(filtered.body.items).toEqual([]);
    for (const header of ['__proto__: x', 'constructor: x', '__proto__: x\r\n__proto__: y']) {
      const head = `GET /health/live HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`;
      expect(statusOf(await rawRequest(service.port, head))).toBe(200);
    }
  });

  it('limits the levels of attributes to six (I5)', async () => {
    const nested = (levels: number) => `{"attributes":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
    expect((await patch(nested(6))).body.errors).toEqual([
      expect.objectContaining({ pointer: '/attributes', code: 'field.too_deep' }),
    ]);
    expect(await patch(nested(5))).toMatchObject({ status: 200 });
    expect(await patch('{"attributes":{"a":null}}')).toMatchObject({ status: 200 });
  });

  it('rejects lists with too many items (I6)', async () => {
    const list = (count: number, text: string) => Array.from({ length: count }, (_, index) => `${text}${index}`);
    for (const body of [
      { roles: list(21, 'r') },
      { allowed_ips: list(51, '10.0.0.') },
      { carrier_scope: list(1_001, 'c') },
    ])
      expect((await patch(JSON.stringify(body))).body.errors).toMatchObject([{ code: 'field.too_many' }]);
  });

  it('keeps users changeable when attributes reach the limit or grow in storage (I6)', async () => {
    const create = (name: string, attributes: string) => {
      const fields = `"user_type":"carrier","carrier_id":"c1","name":"${name}","email":"${name}@example.com"`;
      return send({ method: 'POST', url: '/user/create' }, `{${fields},"attributes":${attributes}}`);
    };
    const full = await create('full', `{"k":[${'1,'.repeat(8_100)}1]}`);
    expect(full.status).toBe(201);
    const disabled = await send({ method: 'PATCH', url: `/user/${full.body.user_id}` }, '{"status":"disabled"}');
    expect(disabled).toMatchObject({ status: 200 });
    const growing = `{"k":[${'1e-300,'.repeat(300)}1]}`;
    expect(await create('growing', growing)).toMatchObject({ status: 400 });
    expect(await patch(`{"attributes":${growing}}`)).toMatchObject({ status: 400 });
  });

  it('limits attributes to 100 keys in all, in requests, rows of imports and results of merges (B31)', async () => {
    // A text that contains `":` is no key.
    const keys = (count: number) =>
      `"in":{"list":[{${Array.from({ length: count - 2 }, (_, index) => `"k${index}":"\\":"`).join()}}]}`;
    const tooMany = [expect.objectContaining({ pointer: '/attributes', code: 'field.too_many' })];
    expect((await patch(`{"attributes":{${keys(101)}}}`)).body.errors).toEqual(tooMany);
    expect(await patch(`{"attributes":{${keys(99)}}}`)).toMatchObject({ status: 200 });
    const merged = await patch('{"attributes":{"more":1,"evenMore":2}}');
    expect(merged.body.errors).toEqual([
      expect.objectContaining({ pointer: '/attributes', code: 'field.not_allowed' }),
    ]);
    expect(await patch('{"attributes":{"in":null}}')).toMatchObject({ status: 200 });
    const row = importRow('keys', { attributes: JSON.parse(`{${keys(101)}}`) });
    const imported = await importRows(service, [row], service.admin);
    expect(imported.body.skipped[0].errors).toEqual(tooMany);
  });

  it('stores and returns unusual texts, numbers and keys unchanged (I2, I7, I9)', async () => {
    const attributes = {
      k: ['\u{1F600}\u2028\u007f', '"\\/\b\f', 5e-324, Number.MAX_SAFE_INTEGER, { 'a b/~c': null }],
    };
    expect(await patch(JSON.stringify({ attributes }))).toMatchObject({ status: 200 });
    expect((await service.get(`/user/${user_id}`, { token })).body.attributes).toMatchObject(attributes);
  });

  it('rejects integer overflow in page numbers, counts and versions (I12)', async () => {
    const never = [
      ...['-1', '2147483648', '4294967296', '9223372036854775807', '9223372036854775808', '1e3', '0x10', '1.0'],
      ...['%201', '%2B1', '01', '%EF%BC%91', 'NaN', 'Infinity', '-0', ''],
    ];
    const lists = [
      '/user/list?per_page=',
      '/user/list?per_page=1&page=',
      '/audit/list?page=',
      '/auth/session/list?per_page=',
    ];
    const reads = lists.flatMap((url) => [...never, '0'].map((value) => ({ method: 'GET', url: url + value })));
    const deletions = never.map((value) => ({
      method: 'DELETE',
      url: `/user/all?user_id=${user_id}&expected=${value}`,
    }));
    const found = await unexpectedResponses(
      [...reads, ...deletions],
      ({ url }) => url,
      ({ method, url }) => service.send(method, url, { token }),
      is400,
    );
    expect(found).toEqual([]);
    for (const version of ['2147483648', '9223372036854775808', '99999999999999999999', '-1', '1e0', '1.0'])
      expect(
        await service.patch(`/user/${user_id}`, {
          token,
          body: { first_name: 'x' },
          headers: { 'if-match': `"${version}"` },
        }),
      ).toMatchObject({ status: 412 });
    expect((await service.get(`/user/${user_id}`, { token })).status).toBe(200);
  });

  describe('that makes regular expressions backtrack', () => {
    const processorSeconds = async () => {
      const { text } = await service.get('/metrics', { token: METRICS_TOKEN });
      return parseScrape(text).get('process_cpu_seconds_total') ?? NaN;
    };

    /** Expects requests to stay within the budget once in three rounds: other work counts, too. */
    async function expectCheap(requests: (() => Promise<{ status: number }>)[]): Promise<void> {
      const costs: number[] = [];
      do {
        const before = await processorSeconds();
        for (const request of requests) expect((await request()).status).toBeLessThan(500);
        costs.push((await processorSeconds()) - before);
      } while (costs.length < 3 && Math.min(...costs) > budgetSeconds);
      expect(Math.min(...costs)).toBeLessThan(budgetSeconds);
    }

    it.each(families)('take no long time in fields: %s (I15)', async (_family, text) => {
      const all = operations.flatMap(({ method, url, fields }) => fields.map((field) => ({ method, url, ...field })));
      const fields = all.filter(
        ({ name, type }, index) => type !== 'boolean' && all.findIndex((other) => other.name === name) === index,
      );
      expect(fields.length).toBeGreaterThan(20);
      await expectCheap(
        fields.map(({ method, url, name, type }) => () => {
          const value = type === 'array' ? [text] : type === 'object' ? { [text.slice(0, 100)]: text } : text;
          return service.send(method, url, { token, body: { [name]: value } });
        }),
      );
    });

    it.each(families)('take no long time in query parameters, paths and headers: %s (I15)', async (_family, text) => {
      const escaped = encodeURIComponent(text).slice(0, 48_000).replace(/%.?$/, '');
      const plain = text.replace(/[^\x20-\x7e]/g, ' ');
      const headers: [name: string, value: string][] = [
        ['authorization', `Bearer ${plain}`],
        ['authorization', `Bearer${' '.repeat(size)}${plain.slice(0, 9)} x`],
        ['x-auth-token', plain],
        ['x-request-id', plain],
        ['if-match', `"${plain}", ${plain.slice(0, 100)}`],
        ['content-type', `application/json${plain}`],
        ['content-type', `application/json;${' '.repeat(size)}charset=utf-8;`],
        ['accept', plain],
        ['user-agent', plain],
        ['forwarded', plain],
      ];
      await expectCheap([
        ...parameters.map((name) => () => service.get(`/user/list?count=none&${name}=${escaped}`, { token })),
        () => service.get(`/console/a${escaped}/`),
        ...headers.map(([name, value]) => () => {
          const authorization = `Bearer ${token}`;
          return service.patch(`/user/${user_id}`, { headers: { authorization, [name]: value }, body: '{}' });
        }),
      ]);
    });
  });
});
