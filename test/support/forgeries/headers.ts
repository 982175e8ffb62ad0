import { generateKeyPairSync } from 'node:crypto';
import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';
import { encode, es256, forge } from '../tokens';

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const strangerJwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'mine', alg: 'ES256', use: 'sig' };

/** The attack `jwt_tool -X a` in any spelling, with any third part. */
function unsigned({ header, parts }: TokenForger): Forgeries {
  const [, payload, signature] = parts;
  const spellings = ['none', 'None', 'nOnE', 'NONE', 'none ', 'none\u0000', ''];
  const headers = [...spellings.map((alg) => JSON.stringify({ ...header, alg })), '{"alg":"none"}'];
  headers.push(`{"alg":"n\\u006fne","typ":"at+jwt","kid":"${header['kid']}"}`);
  const forgeries: Forgeries = {};
  for (const text of headers) {
    const start = `${encode(text)}.${payload}`;
    Object.assign(forgeries, {
      [text]: start,
      [`${text} empty`]: `${start}.`,
      [`${text} kept`]: `${start}.${signature}`,
    });
  }
  return forgeries;
}

function algorithms(forger: TokenForger): Forgeries {
  const names = ['es256', 'ES256 ', 'ES256K', 'ES384', 'HS256', 'RS256', 'PS256', 'EdDSA', 'ESP256', 'dir', 'A256KW'];
  return forger.withHeader('alg', [...names, null, 0, -7, true, ['ES256'], { alg: 'ES256' }, 'ES256\u0000']);
}

/** The same header in other bytes: an attempt to get a second text for one token. */
function spellings(forger: TokenForger): Forgeries {
  const { alg, typ, kid } = forger.header;
  const text = JSON.stringify(forger.header);
  return forger.signedBy(forger.key, {
    'other order': { kid, alg, typ },
    'blank before': ` ${text}`,
    'escaped name': text.replace('alg', '\\u0061lg'),
    'byte order mark': `\ufeff${text}`,
    'alg twice': text.replace('{', '{"alg":"none",'),
    'kid twice': text.replace('{', '{"kid":"other",'),
    'one more': text.replace('}', ',"x":1}'),
    prototype: text.replace('}', ',"__proto__":{"alg":"none"}}'),
    'more behind': `${text}{}`,
    'not UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
    'names in capitals': text.replace('"alg"', '"ALG"'),
    'no alg': { typ, kid },
    'no typ': { alg, kid },
    'no kid': { alg, typ },
    'empty object': {},
    'no JSON': 'ES256',
  });
}

function extensions(forger: TokenForger): Forgeries {
  const { header, claims, key } = forger;
  const extras: object[] = [
    { crit: ['exp2'], exp2: 1 },
    ...[[], ['exp2'], ['alg'], ['kid'], 'exp', null, [1]].map((crit) => ({ crit })),
    { crit: ['b64'], b64: false },
    { crit: ['b64'], b64: true },
    ...[{ b64: false }, { zip: 'DEF' }, { cty: 'JWT' }, { nonce: 'x' }, { enc: 'A256GCM' }, { ...claims }],
  ];
  const raw = `${encode({ ...header, crit: ['b64'], b64: false })}.${JSON.stringify(claims)}`;
  const headers = extras.map((extra) => [JSON.stringify(extra), { ...header, ...extra }]);
  return {
    ...forger.signedBy(key, Object.fromEntries(headers)),
    'b64 with a bare payload': `${raw}.${es256(raw, key)}`,
  };
}

/** Tokens of other types with a valid signature are no access tokens (RFC 8725 §3.11). */
function types(forger: TokenForger): Forgeries {
  const names = ['JWT', 'jwt', 'at+JWT', 'application/at+jwt', 'at+jwt ', 'at jwt', 'at%2Bjwt', 'access', 'id_token'];
  const kinds = ['rt+jwt', 'dpop+jwt', 'secevent+jwt', 'logout+jwt', 'token-introspection+jwt', 'refresh', 'reset'];
  return {
    ...forger.withHeader('typ', [...names, ...kinds, null, '', 0, true, ['at+jwt'], 'at+jwt\u0000']),
    'as cty': forge({ ...forger.header, typ: undefined, cty: 'at+jwt' }, forger.claims, forger.key),
  };
}

function keyIds(forger: TokenForger): Forgeries {
  const { header, url } = forger;
  const kid = header['kid'] ?? '';
  const paths = ['../../dev/null', '/proc/self/environ', 'file:///dev/null', url, 'x|/usr/bin/id', '$(id)'];
  const sql = ["' OR 1=1--", "a'||pg_sleep(60)||'", "x' UNION SELECT 'AA'--", '"; drop table signing_keys; --'];
  const names = ['', ' ', '__proto__', 'constructor', 'toString', 'null', '0', '*', '%', 'a'.repeat(1_500)];
  const near = [kid.toUpperCase(), kid.slice(1), `${kid} `, ` ${kid}`, `${kid}\u0000`, `${kid}=`];
  const strange = [null, 0, true, ['ES256'], [kid], {}, { $ne: null }, { kid }];
  return {
    ...forger.withHeader('kid', [...paths, ...sql, ...names, ...near, ...strange]),
    ...forger.signedBy(stranger.privateKey, {
      'its own': header,
      'none at all': { alg: 'ES256', typ: 'at+jwt' },
      mine: { ...header, kid: 'mine' },
    }),
  };
}

/** Keys that the sender includes or names by URL. */
function ownKeys(forger: TokenForger): Forgeries {
  const { url, header, key } = forger;
  const x5c = [stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')];
  const ways: Record<string, object> = {
    jwk: { jwk: strangerJwk },
    'secret jwk': { jwk: { kty: 'oct', k: encode('secret'), alg: 'HS256' } },
    'jwk with our kid': { jwk: { ...strangerJwk, kid: header['kid'] } },
    jwks: { jwks: { keys: [strangerJwk] } },
    jku: { jku: url },
    'jku of ours': { jku: 'http://localhost:3000/.well-known/jwks.json' },
    x5u: { x5u: url },
    x5c: { x5c },
    'kid as URL': { kid: url },
    'all at once': { jwk: strangerJwk, jku: url, x5u: url, x5c },
  };
  const forgeries: Forgeries = {};
  for (const [name, extra] of Object.entries(ways)) {
    forgeries[`${name} by the stranger`] = forge({ ...header, ...extra }, forger.claims, stranger.privateKey);
    forgeries[`${name} without kid`] = forge(
      { ...header, kid: undefined, ...extra },
      forger.claims,
      stranger.privateKey,
    );
    forgeries[`${name} by our key`] = forge({ ...header, ...extra }, forger.claims, key);
  }
  return forgeries;
}

/** Forgeries with a wrong header. */
export const headerForgeries: ForgeryTable[] = [
  ['rejects the algorithm none in any spelling, with and without the last dot (J1)', unsigned],
  ['rejects other algorithms, even with a valid signature (J4)', algorithms],
  ['rejects the same header in other bytes (J4)', spellings],
  ['rejects unknown critical extensions and unencoded payloads (J7)', extensions],
  ['rejects a valid signature for another type of token (J8)', types],
  ['rejects a key id that is a path, SQL or a URL (J5)', keyIds],
  ['rejects keys of the sender in jwk, jku, x5u and x5c (J6)', ownKeys],
];
