import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors/app-error';
import { parseBody, readJson, registerBodyParsers } from './body-parsers';

const json = 'application/json';
const formType = 'application/x-www-form-urlencoded';

/** Returns the parsed body, or the errors or code of its rejection. */
function parsed(
  body: string | Buffer,
  type: string | undefined = json,
  config: { form?: true | 'only' } = {},
): unknown {
  const request = {
    unparsed: Buffer.from(body),
    headers: { 'content-type': type },
    routeOptions: { method: 'POST', url: '/user/create', config },
  } as unknown as FastifyRequest;
  parseBody(request);
  const { bodyFault } = request;
  return bodyFault === undefined ? request.body : (bodyFault.extras.errors ?? bodyFault.code);
}

/** Returns the first error of a rejected JSON text, or null. */
function faultIn(text: string): unknown {
  const errors = parsed(text);
  return Array.isArray(errors) ? errors[0] : null;
}

const list = (count: number, item: (index: number) => string) => Array.from({ length: count }, (_, i) => item(i));
const keys = (count: number) => list(count, (index) => `"k${index}":0`).join();

/** Malformed values, after the ideas of JSONTestSuite. */
const noValues = [
  ...['', ' ', '\t', '\u00a0', '\u2060', '\f', '\\', '\\n', '&', '<null>', 'undefined', 'NaN', '-NaN', 'Infinity'],
  ...['-Infinity', '+1', '++1', '-', '--1', '- 1', '01', '-01', '00', '.5', '-.5', '1.', '-1.', '1.e1', '.e1', '1e'],
  ...['1e+', '1E-', '1e1.5', '1.2.3', '1_000', '1 000', '0x1F', '0b1', '0o7', '1f', '1n', '１', 'True', 'TRUE', 'tru'],
  ...['truee', 'fals', 'nul', 'Null', 'nil', 'None', "'x'", '`x`', '"', '"x', 'x"', '"x"y', '"\\"', '"\\x41"', '"\\a"'],
  ...['"\\u12"', '"\\u12G4"', '"\\U0041"', '"\\é"', '"\t"', '"\n"', '"\0"', '"\u001f"', '"a" "b"', '/*x*/1', '1//x'],
  ...['#1', '1 2', 'new Date()', '[', ']', '{', '}', '[]]', '{}}', '[}', '{]', '[1', '["x"', '[1,', '[,', '[,1]'],
  ...['[1,]', '[1,,2]', '[1 2]', '["a":1]', '[:]', '[*]', '[a]', '[1;2]', '(1)', '{"a"}', '{"a":}', '{"a" 1}', '{:1}'],
  ...['{,}', '{"a":1,}', '{"a":1,,"b":2}', '{a:1}', "{'a':1}", '{1:1}', '{null:1}', '{"a"::1}', '{"a":1 "b":2}'],
  ...['{"a":1;"b":2}', '{"a","b"}', '{"a":1', '{"a":"b', '{"a":[1}', '{"a":1]', '{"a":/*x*/1}', '{[1]:1}', '{"a"="b"}'],
  ...['{"a":\u00a01}', '{..."a"}', '{"a":1}#', '{"a":1}{"b":2}', '{"a":1}\0', ")]}',\n{}", 'a({})', '\ufeff{}'],
];

describe('JSON bodies', () => {
  it.each([
    ['as the whole body', (text: string) => text],
    ['as the value of a field', (text: string) => `{"attributes":{"k":${text}}}`],
    ['as an item of a list', (text: string) => `{"attributes":{"k":["x",${text}]}}`],
    ['after a right body', (text: string) => `{"first_name":"x"}${text}`],
  ])('are rejected with a malformed value %s (I7)', (_where, place) => {
    // Some texts happen to be valid in their place.
    const bodies = noValues.map(place).filter((body) => body !== '' && !isJson(body));
    expect(bodies.length).toBeGreaterThan(80);
    expect(bodies.filter((body) => parsed(body) !== 'request.malformed_json')).toEqual([]);
  });

  it('are rejected if they end too early (I7)', () => {
    const whole = '{"first_name":"Ada","attributes":{"k":[1,"x"]}}';
    const cut = list(whole.length - 1, (index) => whole.slice(0, index + 1));
    expect(cut.filter((body) => parsed(body) !== 'request.malformed_json')).toEqual([]);
    expect(parsed(`\n ${whole} \r\n`)).toEqual(JSON.parse(whole));
  });

  it.each(['[]', '[{}]', '"x"', '1', 'null', 'true'])('are rejected if they are no object: %s (I10)', (text) => {
    expect(faultIn(text)).toMatchObject({ pointer: '', code: 'field.wrong_type' });
  });

  it.each([
    ['NUL in a value', '{"a":"x\\u0000y"}', '/a'],
    ['NUL in a nested value', '{"a":[1,{"b":"\\u0000"}]}', '/a/1/b'],
    ['a lone high surrogate', '{"a":"\\ud800"}', '/a'],
    ['a lone low surrogate', '{"a":"\\udfff"}', '/a'],
    ['surrogates in the wrong order', '{"a":["\\udc00\\ud800"]}', '/a/0'],
    ['a number that becomes Infinity', '{"a":1e400}', '/a'],
    ['a number that becomes -Infinity', '{"a":{"b":-1e400}}', '/a/b'],
    ['an integer that a double changes', '{"a":9007199254740993}', '/a'],
    ['a negative integer that a double changes', '{"a":[-9007199254740993]}', '/a/0'],
    ['an integer beyond 64 bits', '{"a":18446744073709551616}', '/a'],
    ['a huge double, which is an unsafe integer', '{"a":1.7976931348623159e308}', '/a'],
  ])('are rejected with %s (I1, I2, I9)', (_what, text, pointer) => {
    expect(faultIn(text)).toMatchObject({ pointer, code: 'field.malformed' });
  });

  it.each([
    ['NUL', '{"a\\u0000b":1}'],
    ['a lone surrogate', '{"k":{"a\\uDBFFb":1}}'],
    ...['__proto__', 'constructor', 'prototype'].flatMap((key): [string, string][] => [
      [`the name ${key}`, `{"${key}":{"polluted":1}}`],
      [`the name ${key}, nested`, `{"k":[{"a":{"${key}":null}}]}`],
      [
        `the name ${key} in escapes`,
        `{"${[...key].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join('')}":1}`,
      ],
    ]),
  ])('are rejected with a key that contains %s (I1, I2, I4)', (_what, text) => {
    expect(faultIn(text)).toMatchObject({ code: 'field.unknown' });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ['lists', (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`],
    ['objects', (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`],
  ])('have at most 32 levels of nested %s (I5)', (_kind, nested) => {
    expect(faultIn(nested(32))).toBeNull();
    expect(faultIn(nested(33))).toMatchObject({ code: 'field.too_deep', params: { max: 32 } });
    expect(faultIn(nested(2_400))).toMatchObject({ code: 'field.too_deep' });
  });

  it('have at most 200 fields and 2,500 keys, which are counted before the body is parsed (I6, H30)', () => {
    const tooMany = (max: number, unit: string) => ({ pointer: '', code: 'field.too_many', params: { max, unit } });
    expect(faultIn(`{${keys(200)}}`)).toBeNull();
    expect(faultIn(`{${keys(201)}}`)).toMatchObject(tooMany(200, 'fields'));
    expect(faultIn(`{"attributes":{${keys(2_499)}}}`)).toBeNull();
    expect(faultIn(`{"attributes":{${keys(2_500)}}}`)).toMatchObject(tooMany(2_500, 'keys'));
    // A parser would find the syntax error first.
    expect(faultIn(`{"":: ${keys(3_000)}`)).toMatchObject(tooMany(2_500, 'keys'));
  });

  it.each<[text: string, value: unknown]>([
    ['""', ''],
    ['\r\n\t"x" ', 'x'],
    ['"\\u0041\\u00e4"', 'Aä'],
    ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
    ['"\\uD834\\uDD1E"', '\u{1D11E}'],
    ['"\u2028\\u2028\u007f\ufffe\uffff\u{10ffff}"', '\u2028\u2028\u007f\ufffe\uffff\u{10ffff}'],
    ['-0', -0],
    ['1.0', 1],
    ['123e2', 12_300],
    ['1E+2', 100],
    ['1e-7', 1e-7],
    ['5e-324', 5e-324],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['[[],{},null,""]', [[], {}, null, '']],
    ['{"":0}', { '': 0 }],
    ['{"a b/~c":"{\\"}"}', { 'a b/~c': '{"}' }],
    ['{"a":1,"\\u0061":2}', { a: 2 }],
    ['[{"a":1,"a":null}]', [{ a: null }]],
  ])('keep %s unchanged, and the last of duplicate keys (I7, I8, I9)', (text, value) => {
    expect(readJson(`{"k":${text}}`)).toEqual({ k: value });
  });

  const text = '{"first_name":"Ada"}';
  const within = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"first_name":"'), Buffer.from(bytes), Buffer.from('"}')]);
  it.each<[string, Buffer]>([
    ['ff fe', within(0xff, 0xfe)],
    ['a lone continuation byte', within(0x80)],
    ['an overlong slash', within(0xc0, 0xaf)],
    ['an overlong NUL', within(0xc0, 0x80)],
    ['three bytes overlong', within(0xe0, 0x80, 0xaf)],
    ['an encoded surrogate', within(0xed, 0xa0, 0x80)],
    ['a character beyond U+10FFFF', within(0xf4, 0x90, 0x80, 0x80)],
    ['a cut sequence', within(0xe2, 0x82)],
    ['Latin-1', within(0xe4)],
    ['a byte order mark', Buffer.from(`\uFEFF${text}`)],
    ['UTF-16LE', Buffer.from(text, 'utf16le')],
    ['UTF-16LE with a byte order mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['UTF-16BE', Buffer.from(text, 'utf16le').swap16()],
    ['UTF-32BE', Buffer.from([...text].flatMap((character) => [0, 0, 0, character.charCodeAt(0)]))],
  ])('are rejected with bytes that are not plain UTF-8: %s (I3)', (_what, bytes) => {
    expect(parsed(bytes)).toBe('request.malformed_json');
  });
});

describe('the media type of a body', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'Application/Json; Charset=UTF-8',
    'application/json;charset=utf-8',
    'application/json ; charset="utf-8"',
    'application/json\t',
  ])('is JSON in the spelling "%s" (H1)', (type) => {
    expect(parsed('{"a":1}', type)).toEqual({ a: 1 });
  });

  it.each([
    ...['application/jsonx', 'application/json-patch+json', 'application/merge-patch+json', 'application/vnd.api+json'],
    ...['application/problem+json', 'text/json', 'json', 'application/json garbage', 'application/json, text/plain'],
    ...['text/plain, application/json', 'application/json;charset=utf-16', 'application/json; charset=iso-8859-1'],
    ...[
      'application/json;charset=utf-8;charset=utf-16',
      'application/json; boundary=x',
      'application/json;',
      'text/xml',
    ],
    ...['application', '/', '*/*', 'application/*', ' ', '', 'application/json\u00a0', 'application/octet-stream'],
    ...['multipart/form-data; boundary=application/json', formType, 'a'.repeat(5_000)],
  ])('is no JSON in the spelling "%s" (H1, I3)', (type) => {
    expect(parsed('{"a":1}', type)).toBe('request.unsupported_media_type');
  });
});

describe('form bodies', () => {
  const form = (body: string, config: { form?: true | 'only' } = { form: true }) => parsed(body, formType, config);

  it('are accepted only where the route takes forms (H2)', () => {
    expect(form('password=a+b%C3%A4')).toEqual({ password: 'a bä' });
    expect(form('password=x', {})).toBe('request.unsupported_media_type');
    expect(parsed('{"a":1}', json, { form: true })).toEqual({ a: 1 });
    expect(parsed('{"a":1}', json, { form: 'only' })).toBe('request.unsupported_media_type');
  });

  it.each(['a=1&a=2', '__proto__=x&b=y', 'a=%00'])(
    'are rejected if a field repeats or is unsafe: %s (H2, I4)',
    (body) => {
      expect(form(body)).toEqual([expect.objectContaining({ code: 'field.malformed' })]);
    },
  );

  it('have at most 200 fields, which are counted before one is decoded (H30)', () => {
    expect(Object.keys(form(list(200, (index) => `f${index}=1`).join('&')) as object)).toHaveLength(200);
    // Decoding would find the repeated field first.
    expect(form(list(201, () => 'f=%C3%A4').join('&'))).toEqual([expect.objectContaining({ code: 'field.too_many' })]);
  });
});

it('are kept unparsed until the guards have run (H30)', () => {
  type Parser = (request: object, body: Buffer, done: (error: null, body: unknown) => void) => void;
  const parsers = new Map<string, Parser>();
  registerBodyParsers(
    {
      removeAllContentTypeParsers: () => undefined,
      addContentTypeParser: (types: string[], ...rest: unknown[]) =>
        types.forEach((type) => parsers.set(type, rest.at(-1) as Parser)),
    } as unknown as FastifyInstance,
    Infinity,
  );
  for (const type of [json, '*']) {
    const request: { unparsed?: Buffer; bodyFault?: AppError } = {};
    const done = (error: null, body: unknown) => expect([error, body]).toEqual([null, undefined]);
    parsers.get(type)?.(request, Buffer.from('{'), done);
    expect(request).toEqual({ unparsed: Buffer.from('{') });
  }
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
