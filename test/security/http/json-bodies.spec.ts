import { type BodyField, type BodyOperation, bodyOperations, queryOperations } from '../../support/body-operations';
import { requestHead } from '../../support/raw-connection';
import { rawRequest, statusOf } from '../../support/raw-request';
import { TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

const json = { 'content-type': 'application/json' };
const values: Record<BodyField['type'], unknown> = {
  string: '"x"',
  boolean: 'true',
  array: '["x"]',
  object: '{"k":"x"}',
  choice: '"x"',
};

describe('hostile JSON bodies', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  let operations: BodyOperation[];
  let port: number;
  const each = (): [BodyOperation, BodyField][] =>
    operations.flatMap((operation) => operation.fields.map((field) => [operation, field] as never));
  const send = (
    operation: Pick<BodyOperation, 'method' | 'url'>,
    body: string | Buffer,
    headers: Record<string, string> = json,
  ) => service.send(operation.method, operation.url, { token, body, headers });
  const patch = (body: string | Buffer) => send({ method: 'PATCH', url: `/user/${user_id}` }, body);
  const attributesNow = async () =>
    (await service.get(`/user/${user_id}`, { token })).body.attributes as Record<string, unknown>;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser({ attributes: { kept: 1 } }));
    operations = bodyOperations(user_id);
    ({ port } = await service.listen());
    expect(each().length).toBeGreaterThan(40);
  });
  afterAll(() => service.close());

  const is400 = ({ status }: { status: number }) => status === 400;
  const at = ([operation, field]: [BodyOperation, BodyField]) => `${operation.method} ${operation.url} ${field.name}`;

  it('rejects NUL in every field, query parameter, key and header (I1)', async () => {
    const nul = (text: unknown) =>
      String(text)
        .replace(/x|true/, '"a\\u0000b"')
        .replace('""', '"')
        .replace('""', '"');
    expect(
      await unexpectedResponses(
        each(),
        at,
        ([operation, { name, type }]) => send(operation, `{"${name}":${nul(values[type])}}`),
        is400,
      ),
    ).toEqual([]);
    const queries = queryOperations().flatMap(([method, path, names]) =>
      names.map((name) => ({ method, url: `${path}?${name}=abc%00d` })),
    );
    expect(queries.length).toBeGreaterThan(300);
    expect(
      await unexpectedResponses(
        queries,
        ({ method, url }) => `${method} ${url}`,
        (query) => send(query, query.method === 'PATCH' ? '{"locale":"en"}' : ''),
        is400,
      ),
    ).toEqual([]);
    expect(await patch('{"attributes":{"a\\u0000b":1}}')).toMatchObject({ status: 400 });
    expect(statusOf(await rawRequest(port, 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\0b\r\n\r\n'))).toBe(
      400,
    );
  });

  it('rejects lone surrogates in every field, key and query parameter (I2)', async () => {
    const lone = (text: unknown) => String(text).replace(/"x"|true/, '"\\ud800"');
    expect(
      await unexpectedResponses(
        each(),
        at,
        ([operation, { name, type }]) => send(operation, `{"${name}":${lone(values[type])}}`),
        is400,
      ),
    ).toEqual([]);
    for (const half of ['\\ud800', '\\udfff', '\\udc00\\ud800', 'a\\uDBFFb']) {
      expect(await patch(`{"first_name":"${half}"}`)).toMatchObject({ status: 400 });
      expect(await patch(`{"attributes":{"${half}":1}}`)).toMatchObject({ status: 400 });
    }
    for (const query of ['first_name=%ED%A0%80', 'first_name_ne=%ED%A0%80', 'q=%ED%BF%BF', 'attributes.k=%ED%A0%80'])
      expect(await service.get(`/user/list?${query}`, { token })).toMatchObject({ status: 400 });
    const pair = await patch('{"first_name":"\\ud83d\\ude00"}');
    expect(pair.body.first_name).toBe('\u{1F600}');
  });

  it('rejects bytes that are not UTF-8, other encodings and a byte order mark (I3)', async () => {
    const body = (...middle: number[]) =>
      Buffer.concat([Buffer.from('{"first_name":"'), Buffer.from(middle), Buffer.from('"}')]);
    const text = '{"first_name":"Ada"}';
    const utf32 = Buffer.from([...text].flatMap((character) => [0, 0, 0, character.charCodeAt(0)]));
    const bodies: [string, Buffer][] = [
      ['ff fe', body(0xff, 0xfe)],
      ['a lone continuation byte', body(0x80)],
      ['an overlong slash', body(0xc0, 0xaf)],
      ['an overlong NUL', body(0xc0, 0x80)],
      ['three bytes overlong', body(0xe0, 0x80, 0xaf)],
      ['an encoded surrogate', body(0xed, 0xa0, 0x80)],
      ['beyond U+10FFFF', body(0xf4, 0x90, 0x80, 0x80)],
      ['a cut sequence', body(0xe2, 0x82)],
      ['Latin-1', body(0xe4)],
      ['UTF-8 with BOM', Buffer.from(`\uFEFF${text}`)],
      ['UTF-16LE', Buffer.from(text, 'utf16le')],
      ['UTF-16LE with BOM', Buffer.from(`\uFEFF${text}`, 'utf16le')],
      ['UTF-16BE', Buffer.from(text, 'utf16le').swap16()],
      ['UTF-32BE', utf32],
    ];
    expect(
      await unexpectedResponses(
        bodies,
        ([label]) => label,
        ([, bytes]) => patch(bytes),
        is400,
      ),
    ).toEqual([]);
    for (const charset of ['utf-16', 'utf-16le', 'utf-32', 'iso-8859-1', 'utf-7'])
      expect(
        await send({ method: 'PATCH', url: `/user/${user_id}` }, text, {
          'content-type': `application/json; charset=${charset}`,
        }),
      ).toMatchObject({ status: 415 });
  });

  it('rejects prototype pollution in body, query and header (I4)', async () => {
    const shapes = ['__proto__', 'constructor', 'prototype'].flatMap((key) => [
      `{"${key}":{"polluted":1}}`,
      `{"${key}":{"prototype":{"polluted":1}}}`,
      `{"first_name":"x","${key}":null}`,
      `{"attributes":{"${key}":{"polluted":1}}}`,
      `{"attributes":{"a":{"${key}":{"polluted":1}}}}`,
      `{"attributes":{"a":[{"${key}":{"polluted":1}}]}}`,
      `{"roles":{"${key}":{"polluted":1}}}`,
      `{"${[...key].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join('')}":{"polluted":1}}`,
    ]);
    const probes = shapes.flatMap((body) => operations.map((operation) => ({ operation, body })));
    expect(
      await unexpectedResponses(
        probes,
        ({ operation, body }) => `${operation.url} ${body}`,
        ({ operation, body }) => send(operation, body),
        is400,
      ),
    ).toEqual([]);
    for (const key of [
      '__proto__',
      'constructor',
      '__proto__[polluted]',
      'constructor.prototype.polluted',
      '__proto__.polluted',
      'toString',
      'hasOwnProperty',
      '__proto___ne',
      'valueOf_in',
    ])
      expect(await service.get(`/user/list?${encodeURIComponent(key)}=1`, { token })).toMatchObject({ status: 400 });
    expect(
      (await service.get('/user/list?attributes.__proto__=x&attributes.constructor=x', { token })).body.items,
    ).toEqual([]);
    for (const header of ['__proto__: x', 'constructor: x', '__proto__: x\r\n__proto__: y'])
      expect(statusOf(await rawRequest(port, `GET /health/live HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`))).toBe(200);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(await attributesNow()).toEqual({ kept: 1 });
  });

  it('rejects more than 32 levels of nesting at once, in any kind of bracket (I5)', async () => {
    const began = process.cpuUsage();
    for (const bomb of [
      '['.repeat(65_000),
      '{"a":'.repeat(13_000),
      `{"attributes":${'['.repeat(32_000)}${']'.repeat(32_000)}}`,
      '[{"a":'.repeat(10_000),
    ])
      for (const operation of operations.slice(0, 4))
        expect(await send(operation, bomb)).toMatchObject({ status: 400 });
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 16_000).toBeLessThan(100);
    const nested = (levels: number) => `{"attributes":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
    expect((await patch(nested(6))).body.errors).toEqual([
      expect.objectContaining({ pointer: '/attributes', code: 'field.too_deep' }),
    ]);
    expect(await patch(nested(5))).toMatchObject({ status: 200 });
    expect(await patch('{"attributes":{"a":null}}')).toMatchObject({ status: 200 });
  });

  it('rejects huge bodies, key counts and lists with 413 or 400, and stops reading (I6)', async () => {
    const large = `{"first_name":"${'x'.repeat(65_536)}"}`;
    expect(
      await unexpectedResponses(
        operations,
        ({ url }) => url,
        (operation) => send(operation, large),
        ({ status }) => status === 413,
      ),
    ).toEqual([]);
    const keys = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":0`).join();
    expect(await patch(`{"attributes":{${keys(1_000_000)}}}`)).toMatchObject({ status: 413 });
    expect(await patch(`{"attributes":{${keys(4_000)}}}`)).toMatchObject({ status: 400 });
    expect(await patch(`{${keys(6_000)}}`)).toMatchObject({ status: 400 });
    const list = (count: number, item: (index: number) => string) =>
      JSON.stringify(Array.from({ length: count }, (_, index) => item(index)));
    expect(await patch(`{"roles":${list(21, (index) => `role${index}`)}}`)).toMatchObject({ status: 400 });
    expect(await patch(`{"allowed_ips":${list(51, (index) => `10.0.0.${index}`)}}`)).toMatchObject({ status: 400 });
    expect(await patch(`{"carrier_scope":${list(1_001, (index) => `c${index}`)}}`)).toMatchObject({ status: 400 });
    const head = requestHead('PATCH', `/user/${user_id}`, {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    });
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const endless = await rawRequest(port, head + chunk.repeat(400));
    expect([0, 413]).toContain(statusOf(endless));
    expect(await patch('{"first_name":"after"}')).toMatchObject({ status: 200 });
  });

  it('keeps users changeable when attributes reach the limit or grow in storage (I6)', async () => {
    const create = (name: string, attributes: string) =>
      send(
        { method: 'POST', url: '/user/create' },
        `{"user_type":"carrier","carrier_id":"c1","name":"${name}","email":"${name}@example.com",` +
          `"attributes":${attributes}}`,
      );
    const full = await create('full', `{"k":[${'1,'.repeat(8_100)}1]}`);
    expect(full.status).toBe(201);
    const disabled = await send({ method: 'PATCH', url: `/user/${full.body.user_id}` }, '{"status":"disabled"}');
    expect(disabled).toMatchObject({ status: 200 });
    const growing = `{"k":[${'1e-300,'.repeat(300)}1]}`;
    expect(await create('growing', growing)).toMatchObject({ status: 400 });
    expect(await patch(`{"attributes":${growing}}`)).toMatchObject({ status: 400 });
  });

  it('limits attributes to 100 keys in all, in requests, rows of imports and results of merges (B31)', async () => {
    const keys = (count: number, prefix = 'k') =>
      `"in":{"list":[{${Array.from({ length: count - 2 }, (_, index) => `"${prefix}${index}":"\\":"`).join()}}]}`;
    const tooMany = [expect.objectContaining({ pointer: '/attributes', code: 'field.too_many' })];
    expect((await patch(`{"attributes":{${keys(101)}}}`)).body.errors).toEqual(tooMany);
    expect(await patch(`{"attributes":{${keys(99)}}}`)).toMatchObject({ status: 200 });
    const merged = await patch('{"attributes":{"more":1,"evenMore":2}}');
    expect(merged.body.errors).toEqual([
      expect.objectContaining({ pointer: '/attributes', code: 'field.not_allowed' }),
    ]);
    expect(await patch('{"attributes":{"in":null}}')).toMatchObject({ status: 200 });
    const user = '"user_type":"carrier","carrier_id":"c1","name":"keys","email":"keys@example.com"';
    const row = `{${user},"attributes":{${keys(101)}}}`;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' };
    const answer = await fetch(`http://127.0.0.1:${port}/user/import`, { method: 'POST', headers, body: row });
    const { skipped } = (await answer.json()) as { skipped: { errors: unknown }[] };
    expect(skipped[0]?.errors).toEqual(tooMany);
  });

  it('stores and checks the last of duplicate keys, at any depth and in any spelling (I8)', async () => {
    const attributesOf = async (json: string) => (await patch(`{"attributes":${json}}`)).body.attributes as unknown;
    expect((await patch('{"first_name":"a","first\\u005fname":"b"}')).body).toMatchObject({ first_name: 'b' });
    expect(await attributesOf('{"k":1,"k":2}')).toEqual({ kept: 1, k: 2 });
    expect(await attributesOf('{"k":[{"a":1,"\\u0061":2}]}')).toEqual({ kept: 1, k: [{ a: 2 }] });
    expect(await attributesOf('{"k":1,"k":null}')).toEqual({ kept: 1 });
    expect(await patch('{"status":"active","status":"deleted"}')).toMatchObject({ status: 400 });
    const login = (passwords: string) =>
      send({ method: 'POST', url: '/auth/login' }, `{"login":"admin@example.com",${passwords}}`);
    const right = '"password":"correct horse battery staple"';
    expect(await login(`"password":"wrong",${right}`)).toMatchObject({ status: 200 });
    expect(await login(`${right},"password":"wrong"`)).toMatchObject({ status: 401 });
  });
});
