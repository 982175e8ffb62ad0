// The largest requests that clients can send, in shapes that are expensive to parse, validate or
// refuse. Part of `npm run bench:requests`.
const document = require('../openapi.json');

/** Bytes of a query or a header; the head may have 64 KiB. */
const HEAD = 64_000;
const BODY = 65_500;
const JSON_TYPE = { 'content-type': 'application/json' };
const UUID = '0191f0a0-0000-7000-8000-000000000000';
const FILE_PARTS = 4;

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

function resolved(value) {
  if (value?.$ref === undefined) return value;
  return resolved(
    value.$ref
      .slice(2)
      .split('/')
      .reduce((found, key) => found[key], document),
  );
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
  return filled(length, (index) => `${valueOf(items, index)},`, 500).slice(0, -1);
}

function queriesFor(parameters) {
  const wide = '%F0%9F%9A%80';
  const known = parameters.map(resolved).filter((one) => one.in === 'query');
  const lists = known.filter(({ name }) => name.endsWith('_in'));
  const texts = known.filter(({ schema }) => resolved(schema).type === 'string');
  return {
    'query of %&': filled(HEAD, () => '%&'),
    'query of unknown names': filled(HEAD, (index) => `a${index}&`),
    'query of 200 broken escapes': filled(HEAD, (index) => `${index}=${'%ff'.repeat(100)}&`, 200),
    'query of 200 long names': filled(HEAD, (index) => `${'%00'.repeat(100)}${index}&`, 200),
    'query of one long name': `${wide.repeat(HEAD / wide.length)}=1`,
    'query of one repeated name': filled(HEAD, () => 'q=1&', 200),
    ...Object.fromEntries(lists.map((one) => [`${one.name} of 500`, `${one.name}=${valuesOf(one, HEAD)}`])),
    ...Object.fromEntries(
      lists.map(({ name }) => [`${name} of many`, `${name}=${filled(HEAD, (index) => `${index},`)}`]),
    ),
    ...Object.fromEntries(texts.map(({ name }) => [`long ${name}`, `${name}=${wide.repeat(5_000)}%E2%80%AE`])),
    'all lists': lists
      .map((one) => `${one.name}=${valuesOf(one, 2_000)}`)
      .join('&')
      .slice(0, HEAD),
  };
}

const headers = {
  'Cookie of a=%;': { cookie: filled(HEAD, () => 'a=%;') },
  'Cookie of a=1;': { cookie: filled(HEAD, (index) => `a${index}=1;`) },
  'X-Forwarded-For of proxies': { 'x-forwarded-for': filled(HEAD, () => '127.0.0.1,').slice(0, -1) },
  'If-Match of versions': { 'if-match': filled(HEAD, () => '"1",').slice(0, -1) },
  'If-None-Match of tags': { 'if-none-match': filled(HEAD, () => '"1",').slice(0, -1) },
  'Range of bytes': { range: `bytes=${filled(HEAD, (index) => `${index}-,`).slice(0, -1)}` },
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

/** Bodies for a schema, of which `example` is an example. */
function bodiesFor(fields, example) {
  const json = (value) => JSON.stringify(value);
  const texts = { text: 'a'.repeat(BODY - 9_000), wide: '🚀'.repeat(14_000), escapes: '\u202e'.repeat(18_000) };
  const lists = {
    'empty lists': '[],',
    'empty objects': '{},',
    'short texts': '"a",',
    'deep lists': `${'['.repeat(24)}${']'.repeat(24)},`,
  };
  const listOf = (item) => `[${filled(BODY - 9_000, () => item).slice(0, -1)}]`;
  const shapes = {
    'body of unknown fields': `{${filled(BODY, (index) => `"${index}":1,`).slice(0, -1)}}`,
    'body of unknown escapes': `{${filled(BODY, (index) => `"\\u0041${index}":1,`).slice(0, -1)}}`,
    'body of spaces': `{"a"${' '.repeat(BODY - 8)}:1}`,
    'body of backslashes': `{"a":"${'\\\\'.repeat(BODY / 2 - 8)}"}`,
    'body of quotes': `{"a":"${'\\"'.repeat(BODY / 2 - 8)}"}`,
    'body of a number': `{"a":${'9'.repeat(BODY - 8)}}`,
    'body of one key twice': `{${filled(BODY, () => '"a":1,').slice(0, -1)}}`,
    'body, long token': json({ token: 'A'.repeat(BODY - 20) }),
  };
  for (const name of [...Object.keys(fields), 'unknown']) {
    for (const [kind, text] of Object.entries(texts)) shapes[`${name}: ${kind}`] = json({ ...example, [name]: text });
    for (const [kind, item] of Object.entries(lists))
      shapes[`${name}: ${kind}`] = json({ ...example, [name]: 0 }).replace(
        `"${name}":0`,
        () => `"${name}":${listOf(item)}`,
      );
    shapes[`${name}: keys`] = json({ ...example, [name]: 0 }).replace(
      `"${name}":0`,
      () => `"${name}":{${filled(BODY - 9_000, (index) => `"k${index}":1,`).slice(0, -1)}}`,
    );
  }
  return shapes;
}

const files = {
  'CSV of one line': { type: 'text/csv', body: filled(BODY * FILE_PARTS, () => 'a,') },
  'CSV of columns': {
    type: 'text/csv',
    body: `name,${filled(100_000, (index) => `attributes.k${index},`)}\n${','.repeat(9_000)}`,
  },
  'CSV of short rows': { type: 'text/csv', body: `name,email\n${filled(BODY * FILE_PARTS, () => 'a,b\n')}` },
  'NDJSON of one line': { type: 'application/x-ndjson', body: `{"a":[${filled(BODY * 2, () => '{},').slice(0, -1)}]}` },
  'NDJSON of short rows': { type: 'application/x-ndjson', body: filled(BODY * FILE_PARTS, () => '{}\n') },
};

/** Returns the shapes for one operation: query, headers and body by name. */
function shapesFor(operation) {
  const content = resolved(operation.requestBody)?.content ?? {};
  const schema = resolved(content['application/json']?.schema ?? content['application/x-www-form-urlencoded']?.schema);
  const fields = Object.fromEntries(
    Object.entries(schema?.properties ?? {}).map(([name, one]) => [name, resolved(one)]),
  );
  const required = (schema?.required ?? []).map((name) => [name, fields[name].example]);
  const example = Object.fromEntries(required.filter(([, value]) => value !== undefined));
  const shapes = [['plain', {}]];
  for (const [name, query] of Object.entries(queriesFor(operation.parameters ?? []))) shapes.push([name, { query }]);
  for (const [name, own] of Object.entries(headers)) shapes.push([name, { headers: own }]);
  for (const [name, body] of Object.entries(bodiesFor(fields, example)))
    shapes.push([name, { body, headers: JSON_TYPE }]);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [name, part] of Object.entries({ 'form of %&': () => '%&', 'form of names': (index) => `a${index}&` }))
    shapes.push([name, { body: filled(BODY, part), headers: form }]);
  if (content['text/csv'] !== undefined)
    for (const [name, { type, body }] of Object.entries(files))
      shapes.push([name, { body, headers: { 'content-type': type } }]);
  return shapes;
}

module.exports = { shapesFor, UUID };
