import { generateKeyPairSync, sign } from 'node:crypto';
import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';
import { encode, es256, forge } from '../tokens';

/** The attack `jwt_tool -X a` in any spelling, with any third part. */
function unsigned(forger: TokenForger): Forgeries {
  const [, payload, signature] = forger.parts;
  const forgeries: Forgeries = {};
  const spellings = ['none', 'None', 'nOnE', 'NONE', 'NoNe', 'none ', ' none', 'none\u0000', 'ｎｏｎｅ'];
  const headers = [...spellings, 'null', ''].map((alg) => JSON.stringify({ ...forger.header, alg }));
  headers.push(
    `{"alg":"n\\u006fne","typ":"at+jwt","kid":"${forger.header['kid']}"}`,
    '{"alg":"none"}',
    '{"typ":"JWT","alg":"none"}',
  );
  for (const header of headers) {
    const text = `${encode(header)}.${payload}`;
    Object.assign(forgeries, {
      [`${header} without`]: text,
      [`${header} empty`]: `${text}.`,
      [`${header} genuine`]: `${text}.${signature}`,
    });
    forgeries[`${header} a zero`] = `${text}.AA`;
  }
  return forgeries;
}

function algorithms(forger: TokenForger): Forgeries {
  const names = [
    'es256',
    'Es256',
    'ES256 ',
    ' ES256',
    'ES256K',
    'ES384',
    'ES512',
    'HS256',
    'hs256',
    'HS1',
    'HS512',
    'RS256',
    'PS256',
    'RS1',
  ];
  const others = [
    'EdDSA',
    'Ed25519',
    'ESP256',
    'dir',
    'A256KW',
    'RSA1_5',
    'SHA256withECDSA',
    'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  ];
  const strange = [null, 0, -7, true, ['ES256'], { alg: 'ES256' }, 'ES256\u0000', 'ＥＳ256', 'ES256,none'];
  const edwards = generateKeyPairSync('ed25519').privateKey;
  const text = `${encode({ ...forger.header, alg: 'EdDSA' })}.${forger.parts[1]}`;
  return {
    ...forger.withHeader('alg', [...names, ...others, ...strange]),
    'EdDSA by a stranger': `${text}.${sign(null, Buffer.from(text), edwards).toString('base64url')}`,
  };
}

/**
 * The same header in other bytes: an attempt to evade a byte comparison and to get a second text
 * for one token.
 */
function spellings(forger: TokenForger): Forgeries {
  const { alg, typ, kid = '' } = forger.header;
  const members = { alg: `"alg":"${alg}"`, typ: `"typ":"${typ}"`, kid: `"kid":"${kid}"` };
  const text = `{${members.alg},${members.typ},${members.kid}}`;
  const orders = [
    ['alg', 'kid', 'typ'],
    ['typ', 'alg', 'kid'],
    ['typ', 'kid', 'alg'],
    ['kid', 'alg', 'typ'],
    ['kid', 'typ', 'alg'],
  ] as const;
  const headers: Record<string, string | Buffer> = {};
  for (const order of orders) headers[order.join(' ')] = `{${order.map((name) => members[name]).join(',')}}`;
  for (const blank of [' ', '\n', '\t', '\r', '\r\n']) {
    headers[`blank ${JSON.stringify(blank)} before`] = blank + text;
    headers[`blank ${JSON.stringify(blank)} behind`] = text + blank;
    headers[`blank ${JSON.stringify(blank)} inside`] = text.replace(',', `,${blank}`);
  }
  return forger.signedBy(forger.key, {
    ...headers,
    ...{
      'escaped name': text.replace('alg', '\\u0061lg'),
      'escaped value': text.replace('ES256', '\\u0045S256'),
      'byte order mark': `\ufeff${text}`,
    },
    ...{
      'alg twice': text.replace('{', '{"alg":"none",'),
      'alg twice, the other way': text.replace('}', ',"alg":"none"}'),
    },
    ...{
      'kid twice': text.replace('{', '{"kid":"other",'),
      'typ twice': text.replace('{', '{"typ":"JWT",'),
      'same twice': text.replace('{', `{${members.alg},`),
    },
    ...{
      'one more': text.replace('}', ',"x":1}'),
      prototype: text.replace('}', ',"__proto__":{"alg":"none"}}'),
      'comma behind': text.replace('}', ',}'),
    },
    ...{
      comment: text.replace('{', '{/**/'),
      'NUL behind': `${text}\u0000`,
      'more behind': `${text}{}`,
      'single quotes': text.replaceAll('"', "'"),
    },
    ...{
      empty: {},
      'no object': '"ES256"',
      list: `[${text}]`,
      'no JSON': 'ES256',
      null: 'null',
      number: '1',
      'not UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
    },
    ...{
      'UTF-16': Buffer.from(text, 'utf16le'),
      'names in capitals': text.replace('"alg"', '"ALG"'),
      'no alg': `{${members.typ},${members.kid}}`,
    },
    ...{ 'no typ': `{${members.alg},${members.kid}}`, 'no kid': `{${members.alg},${members.typ}}` },
  });
}

function extensions(forger: TokenForger): Forgeries {
  const { header, claims, key } = forger;
  const extras: Record<string, object> = {
    ...{
      unknown: { crit: ['exp2'], exp2: 1 },
      empty: { crit: [] },
      'absent one': { crit: ['exp2'] },
      wrong: { crit: 'exp' },
      null: { crit: null },
      numbers: { crit: [1] },
    },
    ...{
      'registered one': { crit: ['alg'] },
      'kid critical': { crit: ['kid'] },
      'twice the same': { crit: ['exp', 'exp'], exp: 1 },
      object: { crit: { exp: 1 } },
    },
    ...{
      b64: { crit: ['b64'], b64: false },
      'b64 not critical': { b64: false },
      'b64 true': { crit: ['b64'], b64: true },
      'b64 as text': { b64: 'false' },
    },
    ...{
      DEF: { zip: 'DEF' },
      GZIP: { zip: 'GZIP' },
      cty: { cty: 'JWT' },
      'cty of a type': { cty: 'application/at+jwt' },
      'cty json': { cty: 'json' },
      nonce: { nonce: 'x' },
    },
    ...{
      'claims in header': { ...claims },
      enc: { enc: 'A256GCM' },
      epk: { epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } },
      'url of ACME': { url: forger.url },
      sealed: { ppt: 'shaken' },
    },
  };
  const raw = `${encode({ ...header, crit: ['b64'], b64: false })}.${JSON.stringify(claims)}`;
  return {
    ...forger.signedBy(
      key,
      Object.fromEntries(Object.entries(extras).map(([name, extra]) => [name, { ...header, ...extra }])),
    ),
    'b64 with a bare payload': `${raw}.${es256(raw, key)}`,
  };
}

/** Tokens of other types with a valid signature are no access tokens (RFC 8725 §3.11). */
function types(forger: TokenForger): Forgeries {
  const names = [
    'JWT',
    'jwt',
    'JWS',
    'JOSE',
    'JOSE+JSON',
    'at+JWT',
    'AT+JWT',
    'At+Jwt',
    'application/at+jwt',
    'at+jwt ',
    ' at+jwt',
    'at jwt',
    'at%2Bjwt',
    'at',
    'access',
  ];
  const kinds = [
    'rt+jwt',
    'dpop+jwt',
    'secevent+jwt',
    'logout+jwt',
    'token-introspection+jwt',
    'oauth-authz-req+jwt',
    'passport',
    'id_token',
    'refresh',
    'reset',
    'invite',
  ];
  const strange = [null, '', 0, true, ['at+jwt'], { typ: 'at+jwt' }, 'at+jwt\u0000', 'at+jwt;charset=utf-8', 'аt+jwt'];
  return {
    ...forger.withHeader('typ', [...names, ...kinds, ...strange]),
    'as cty': forge({ ...forger.header, typ: undefined, cty: 'at+jwt' }, forger.claims, forger.key),
  };
}

/** Forgeries with a wrong header. */
export const headerForgeries: ForgeryTable[] = [
  ['rejects the algorithm none in any spelling, with and without the last dot (J1)', unsigned],
  ['rejects other algorithms, even with a valid signature (J4)', algorithms],
  ['rejects the same header in other bytes (J4)', spellings],
  ['rejects unknown critical extensions and unencoded payloads (J7)', extensions],
  ['rejects a valid signature for another type of token (J8)', types],
];
