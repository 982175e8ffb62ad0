// The largest requests that clients can send, in shapes that are expensive to parse, validate or
// refuse. Part of `npm run bench:requests`.
const document = require('../openapi.json');

/** Bytes of a query or a header; the head may have 64 KiB. */
const HEAD = 64_000;
const BODY = 65_500;
/** Bytes of a field beside an example of the other fields. */
const FIELD = BODY - 9_000;
const UUID = '0191f0a0-0000-7000-8000-000000000000';
const ROCKET = '%F0%9F%9A%80';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Joins `part(0)`, `part(1)`, … to a text of at most `length` characters. */
function filled(length, part, most = Infinity) {
  const texts = [];
  for (let size = 0; texts.length < most;) {
    const text = part(texts.length);
    size += text.length;
    if (size > length) break;
    texts.push(text);
  }
  return texts.join('');
}

const trimmed = (text) => text.slice(0, -1);

function resolved(value) {
  if (value?.$ref === undefined) return value;
  const keys = value.$ref.slice(2).split('/');
  return resolved(keys.reduce((found, key) => found[key], document));
}

/** Returns distinct values of a filter, as short as possible. */
function valueOf(schema, index) {
  const { type, format, enum: values, pattern = '' } = resolved(schema);
  if (type === 'boolean') return String(index % 2 === 0);
  if (values !== undefined) return values[index % values.length];
  if (format === 'uuid') return UUID.slice(0, -6) + index.toString(16).padStart(6, '0');
  if (format === 'date-time') return `2026-01-01T00:00:00.${index}Z`;
  return pattern.includes('25[0-5]') ? `::${index.toString(16)}` : `v${index}`;
}

/** Returns up to 500 values of a list. */
function valuesOf({ schema }, length) {
  const { items } = resolved(schema);
  return trimmed(filled(length, (index) => `${valueOf(items, index)},`, 500));
}

function queriesFor(parameters) {
  const known = parameters.map(resolved).filter((one) => one.in === 'query');
  const lists = known.filter(({ name }) => name.endsWith('_in'));
  const texts = known.filter(({ schema }) => resolved(schema).type === 'string');
  const shapes = {
    'query of %&': filled(HEAD, () => '%&'),
    'query of unknown names': filled(HEAD, (index) => `a${index}&`),
    'query of 200 broken escapes': filled(HEAD, (index) => `${index}=${'%ff'.repeat(100)}&`, 200),
    'query of 200 long names': filled(HEAD, (index) => `${'%00'.repeat(100)}${index}&`, 200),
    'query of one long name': `${ROCKET.repeat(HEAD / ROCKET.length)}=1`,
    'query of one repeated name': filled(HEAD, () => 'q=1&', 200),
    'all lists': lists
      .map((one) => `${one.name}=${valuesOf(one, 2_000)}`)
      .join('&')
      .slice(0, HEAD),
  };
  for (const one of lists) {
    shapes[`${one.name} of 500`] = `${one.name}=${valuesOf(one, HEAD)}`;
    shapes[`${one.name} of many`] = `${one.name}=${filled(HEAD, (index) => `${index},`)}`;
  }
  for (const { name } of texts) shapes[`long ${name}`] = `${name}=${ROCKET.repeat(5_000)}%E2%80%AE`;
  return shapes;
}

const HEADERS = {
  'Cookie of a=%;': { cookie: filled(HEAD, () => 'a=%;') },
  'Cookie of a=1;': { cookie: filled(HEAD, (index) => `a${index}=1;`) },
  'X-Forwarded-For of proxies': { 'x-forwarded-for': trimmed(filled(HEAD, () => '127.0.0.1,')) },
  'If-Match of versions': { 'if-match': trimmed(filled(HEAD, () => '"1",')) },
  'If-None-Match of tags': { 'if-none-match': trimmed(filled(HEAD, () => '"1",')) },
  'Range of bytes': { range: `bytes=${trimmed(filled(HEAD, (index) => `${index}-,`))}` },
  'Accept, long': { accept: filled(HEAD, () => 'a/b;q=1,') },
  'Accept-Encoding, long': { 'accept-encoding': filled(HEAD, () => 'gzip;q=0 ,') },
  'Accept-Language, long': { 'accept-language': filled(HEAD, () => 'a-b;q=1,') },
  'User-Agent, long': { 'user-agent': filled(HEAD, () => 'Chrome/1 (') },
  'Authorization, Basic': { authorization: `Basic ${'A'.repeat(HEAD)}` },
  'Authorization, dots': { authorization: `Bearer ${'.'.repeat(HEAD)}` },
  'Authorization, key': { authorization: `Bearer ci_${'A'.repeat(HEAD)}` },
  'X-Auth-Token, long': { 'x-auth-token': `${'A'.repeat(4_000)}.e30.${'A'.repeat(4_000)}` },
  'Idempotency-Key, long': { 'idempotency-key': 'a'.repeat(HEAD) },
  'Origin, long': { origin: 'http://'.repeat(HEAD / 7), 'access-control-request-headers': '' },
  'Content-Type, long': { 'content-type': `application/json;${' '.repeat(HEAD)}charset` },
  '1,900 headers': Object.fromEntries(Array.from({ length: 1_900 }, (_, index) => [`h${index}`, 'a'.repeat(20)])),
};

/** Values of a field, in JSON. */
const VALUES = {
  text: JSON.stringify('a'.repeat(FIELD)),
  wide: JSON.stringify('🚀'.repeat(14_000)),
  escapes: JSON.stringify('\u202e'.repeat(18_000)),
  'empty lists': listOf('[],'),
  'empty objects': listOf('{},'),
  'short texts': listOf('"a",'),
  'deep lists': listOf(`${'['.repeat(24)}${']'.repeat(24)},`),
  keys: `{${trimmed(filled(FIELD, (index) => `"k${index}":1,`))}}`,
};

function listOf(item) {
  return `[${trimmed(filled(FIELD, () => item))}]`;
}

/** Returns bodies for a schema, of which `example` is an example. */
function bodiesFor(fields, example) {
  const shapes = {
    'body of unknown fields': `{${trimmed(filled(BODY, (index) => `"${index}":1,`))}}`,
    'body of unknown escapes': `{${trimmed(filled(BODY, (index) => `"\\u0041${index}":1,`))}}`,
    'body of spaces': `{"a"${' '.repeat(BODY - 8)}:1}`,
    'body of backslashes': `{"a":"${'\\\\'.repeat(BODY / 2 - 8)}"}`,
    'body of quotes': `{"a":"${'\\"'.repeat(BODY / 2 - 8)}"}`,
    'body of a number': `{"a":${'9'.repeat(BODY - 8)}}`,
    'body of one key twice': `{${trimmed(filled(BODY, () => '"a":1,'))}}`,
    'body, long token': JSON.stringify({ token: 'A'.repeat(BODY - 20) }),
  };
  for (const name of [...Object.keys(fields), 'unknown'])
    for (const [kind, value] of Object.entries(VALUES)) {
      const text = JSON.stringify({ ...example, [name]: 0 });
      shapes[`${name}: ${kind}`] = text.replace(`"${name}":0`, () => `"${name}":${value}`);
    }
  return shapes;
}

const FILES = {
  'CSV of one line': ['text/csv', filled(BODY * 4, () => 'a,')],
  'CSV of columns': ['text/csv', `name,${filled(100_000, (index) => `attributes.k${index},`)}\n${','.repeat(9_000)}`],
  'CSV of short rows': ['text/csv', `name,email\n${filled(BODY * 4, () => 'a,b\n')}`],
  'NDJSON of one line': ['application/x-ndjson', `{"a":[${trimmed(filled(BODY * 2, () => '{},'))}]}`],
  'NDJSON of short rows': ['application/x-ndjson', filled(BODY * 4, () => '{}\n')],
};

/** Returns the shapes for one operation: query, headers and body by name. */
function shapesFor(operation) {
  const content = resolved(operation.requestBody)?.content ?? {};
  const schema = resolved(content['application/json']?.schema ?? content[FORM_TYPE]?.schema);
  const fields = schema?.properties ?? {};
  const required = (schema?.required ?? []).map((name) => [name, resolved(fields[name]).example]);
  const example = Object.fromEntries(required.filter(([, value]) => value !== undefined));
  const shapes = [['plain', {}]];
  const add = (texts, toShape) => shapes.push(...Object.entries(texts).map(([name, text]) => [name, toShape(text)]));
  const bodyOf = (type) => (body) => ({ body, headers: { 'content-type': type } });
  add(queriesFor(operation.parameters ?? []), (query) => ({ query }));
  add(HEADERS, (headers) => ({ headers }));
  add(bodiesFor(fields, example), bodyOf('application/json'));
  const forms = { 'form of %&': filled(BODY, () => '%&'), 'form of names': filled(BODY, (index) => `a${index}&`) };
  add(forms, bodyOf(FORM_TYPE));
  if (content['text/csv'] !== undefined) add(FILES, ([type, body]) => bodyOf(type)(body));
  return shapes;
}

module.exports = { shapesFor, UUID };
