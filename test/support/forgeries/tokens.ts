import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { type Forgeries, type ForgeryTable, named, type TokenForger, tokensOf } from '../logins/token-forger';
import { encode, es256, forge } from '../logins/tokens';

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
/** The order of P-256 and the prime of its field. */
const order = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');
const prime = BigInt('0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff');

/** Returns the genuine header and payload with other signature bytes. */
function under({ parts }: TokenForger, signatures: Record<string, Buffer | string>): Forgeries {
  const [head, payload] = parts;
  return tokensOf(signatures, (bytes) => `${head}.${payload}.${typeof bytes === 'string' ? bytes : encode(bytes)}`);
}

/** Returns r and s of the genuine signature. */
function numbersOf({ parts }: TokenForger): [Buffer, Buffer] {
  const genuine = Buffer.from(parts[2], 'base64url');
  return [genuine.subarray(0, 32), genuine.subarray(32)];
}

/** Edge values as r and s, as in Wycheproof's ECDSA vectors. */
function edges(forger: TokenForger): Forgeries {
  const [r, s] = numbersOf(forger);
  const numbers = { zero: 0n, one: 1n, 'n-1': order - 1n, n: order, 'n+1': order + 1n, p: prime, max: 2n ** 256n - 1n };
  const signatures = Object.entries(numbers).flatMap(([name, number]) => {
    const edge = Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
    return [`r ${name}`, `s ${name}`, `both ${name}`].map((title, index) => [
      ...[title, Buffer.concat([index === 1 ? r : edge, index === 0 ? s : edge])],
    ]);
  });
  return under(forger, Object.fromEntries(signatures));
}

function signatureEncodings(forger: TokenForger): Forgeries {
  const [r, s] = numbersOf(forger);
  const genuine = Buffer.concat([r, s]);
  const zeros = Buffer.alloc(1);
  const number = (value: Buffer) => Buffer.concat([Buffer.from([2, value.length + 1, 0]), value]);
  return under(forger, {
    none: Buffer.alloc(0),
    'r alone': r,
    'too short': genuine.subarray(0, 63),
    'a zero behind': Buffer.concat([genuine, zeros]),
    'a zero before': Buffer.concat([zeros, genuine]),
    DER: Buffer.concat([Buffer.from([0x30, 70]), number(r), number(s)]),
    'DER that signs anew': sign('sha256', Buffer.from(forger.parts.slice(0, 2).join('.')), forger.key),
    'r and s exchanged': Buffer.concat([s, r]),
  });
}

/** Signatures of other content by the service's key, or of the right content by another key. */
function otherwiseSigned(forger: TokenForger): Forgeries {
  const { key, parts, service } = forger;
  const [head, payload, signature] = parts;
  const signed = Buffer.from(`${head}.${payload}`);
  const others = encode({ ...forger.claims, sub: service.admin.user_id, sid: service.admin.session_id });
  return {
    ...under(forger, {
      'of the payload': es256(payload, key),
      'with a last dot': es256(`${head}.${payload}.`, key),
      'with SHA-384': sign('sha384', signed, { key, dsaEncoding: 'ieee-p1363' }),
      'of another token': service.admin.token.split('.')[2] as string,
      'a stranger on P-256': es256(`${head}.${payload}`, stranger.privateKey),
      'a stranger by RSA': sign('sha256', signed, generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey),
      'a stranger by Ed25519': sign(null, signed, generateKeyPairSync('ed25519').privateKey),
    }),
    'changed payload': `${head}.${others}.${signature}`,
    'changed bit': `${head}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
  };
}

/** HMACs with a public value as secret. */
async function hmacs({ service, header, parts }: TokenForger): Promise<Forgeries> {
  const { body } = await service.get('/.well-known/jwks.json');
  const published = createPublicKey({ key: body.keys[0], format: 'jwk' });
  const secrets: Record<string, string | Buffer> = {
    PEM: published.export({ type: 'spki', format: 'pem' }).toString(),
    DER: published.export({ type: 'spki', format: 'der' }),
    x: Buffer.from(body.keys[0].x, 'base64url'),
    JWK: JSON.stringify(body.keys[0]),
    kid: header['kid'] ?? '',
    nothing: '',
  };
  const forgeries: Forgeries = {};
  for (const [alg, digest] of Object.entries({ HS256: 'sha256', HS512: 'sha512', ES256: 'sha256' })) {
    const text = `${encode({ ...header, alg })}.${parts[1]}`;
    for (const [name, secret] of Object.entries(secrets))
      forgeries[`${alg} by ${name}`] = `${text}.${createHmac(digest, secret).update(text).digest('base64url')}`;
  }
  return forgeries;
}

/** The attack `jwt_tool -X a` in any spelling, with any third part. */
function unsigned({ header, parts }: TokenForger): Forgeries {
  const [, payload, signature] = parts;
  const headers = ['none', 'None', 'NONE', 'none ', 'none\u0000', ''].map((alg) => JSON.stringify({ ...header, alg }));
  headers.push('{"alg":"none"}', `{"alg":"n\\u006fne","typ":"at+jwt","kid":"${header['kid']}"}`);
  const forgeries: Forgeries = {};
  for (const text of headers)
    for (const end of ['', '.', `.${signature}`])
      forgeries[`${text} ${end.length}`] = `${encode(text)}.${payload}${end}`;
  return forgeries;
}

function algorithms(forger: TokenForger): Forgeries {
  const names = ['es256', 'ES256 ', 'ES256K', 'ES384', 'HS256', 'RS256', 'PS256', 'EdDSA', 'dir'];
  return forger.withHeader('alg', [...names, null, 0, -7, true, ['ES256'], { alg: 'ES256' }, 'ES256\u0000']);
}

/** The same header in other bytes: an attempt to get a second text for one token. */
function headerSpellings(forger: TokenForger): Forgeries {
  const { alg, typ, kid } = forger.header;
  const text = JSON.stringify(forger.header);
  const spellings = [` ${text}`, `\ufeff${text}`, `${text}{}`, 'ES256', text.replace('alg', '\\u0061lg')];
  spellings.push(text.replace('{', '{"alg":"none",'), text.replace('}', ',"x":1}'), text.replace('"alg"', '"ALG"'));
  spellings.push(text.replace('}', ',"__proto__":{"alg":"none"}}'));
  const headers = [{ kid, alg, typ }, { typ, kid }, { alg, kid }, { alg, typ }, {}];
  return forger.signedBy(forger.key, { ...named([...spellings, ...headers]), 'not UTF-8': Buffer.from([0x7b, 0xff]) });
}

function extensions(forger: TokenForger): Forgeries {
  const { header, claims, key } = forger;
  const extras: object[] = [
    { crit: ['exp2'], exp2: 1 },
    ...[[], ['exp2'], ['alg'], 'exp', null, [1]].map((crit) => ({ crit })),
    ...[{ crit: ['b64'], b64: false }, { crit: ['b64'], b64: true }, { b64: false }, { zip: 'DEF' }, { cty: 'JWT' }],
  ];
  const raw = `${encode({ ...header, crit: ['b64'], b64: false })}.${JSON.stringify(claims)}`;
  const headers = extras.map((extra) => ({ ...header, ...extra }));
  return { ...forger.signedBy(key, named(headers)), 'b64 with a bare payload': `${raw}.${es256(raw, key)}` };
}

/** Tokens of other types with a valid signature are no access tokens (RFC 8725 §3.11). */
function tokenTypes(forger: TokenForger): Forgeries {
  const names = ['JWT', 'at+JWT', 'application/at+jwt', 'at+jwt ', 'at%2Bjwt', 'id_token', 'rt+jwt', 'dpop+jwt'];
  return {
    ...forger.withHeader('typ', [...names, 'logout+jwt', 'reset', null, '', 0, true, ['at+jwt'], 'at+jwt\u0000']),
    'as cty': forge({ ...forger.header, typ: undefined, cty: 'at+jwt' }, forger.claims, forger.key),
  };
}

function keyIds(forger: TokenForger): Forgeries {
  const { header, url } = forger;
  const kid = header['kid'] ?? '';
  const paths = ['../../dev/null', '/proc/self/environ', 'file:///dev/null', url, 'x|/usr/bin/id', '$(id)'];
  const sql = ["' OR 1=1--", "a'||pg_sleep(60)||'", "x' UNION SELECT 'AA'--"];
  const names = ['', ' ', '__proto__', 'constructor', 'null', '0', '*', '%', 'a'.repeat(1_500)];
  const near = [kid.toUpperCase(), kid.slice(1), `${kid} `, `${kid}\u0000`, `${kid}=`];
  const strange = [null, 0, true, [kid], {}, { $ne: null }];
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
function ownKeys({ url, header, key, claims }: TokenForger): Forgeries {
  const jwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'mine', alg: 'ES256', use: 'sig' };
  const x5c = [stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')];
  const secret = { kty: 'oct', k: encode('secret'), alg: 'HS256' };
  const extras = [{ jwk }, { jwk: secret }, { jwk: { ...jwk, kid: header['kid'] } }, { jwks: { keys: [jwk] } }];
  const urls = [{ jku: url }, { x5u: url }, { x5c }, { kid: url }, { jwk, jku: url, x5u: url, x5c }];
  return Object.assign(
    {},
    ...[...extras, ...urls].map((extra, index) => ({
      [`${index} by the stranger`]: forge({ ...header, ...extra }, claims, stranger.privateKey),
      [`${index} without kid`]: forge({ ...header, kid: undefined, ...extra }, claims, stranger.privateKey),
      [`${index} by our key`]: forge({ ...header, ...extra }, claims, key),
    })),
  ) as Forgeries;
}

/** JSON serialisations, encrypted and nested tokens, and payloads without claims. */
function otherForms(forger: TokenForger): Forgeries {
  const { claims, user, key } = forger;
  const [head, payload, signature] = forger.parts;
  const flat = { protected: head, payload, signature };
  const encrypted = [{ alg: 'dir', enc: 'A256GCM', zip: 'DEF' }, { alg: 'none', enc: 'none' }, forger.header];
  encrypted.push({ alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2s: 'salt', p2c: '2147483648' });
  return {
    ...tokensOf(named(encrypted), (header) => `${encode(header)}.${encode('key')}.AA.${encode(user.token)}.AA`),
    flat: JSON.stringify(flat),
    general: JSON.stringify({ payload, signatures: [{ protected: head, signature }] }),
    'encoded flat': encode(flat),
    'one part': head,
    'two parts': `${head}.${payload}`,
    'four parts': `${user.token}.${signature}`,
    'empty payload': `${head}..${signature}`,
    'detached and signed': `${head}..${es256(`${head}.`, key)}`,
    ...forger.claiming({
      nested: user.token,
      compressed: deflateRawSync(JSON.stringify(claims)),
      list: [claims],
      'not UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
      'byte order mark': `\ufeff${JSON.stringify(claims)}`,
      'more behind': `${JSON.stringify(claims)}{}`,
      ...named(['null', {}, '{', `${'['.repeat(1_000)}${']'.repeat(1_000)}`]),
    }),
  };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Other encodings of the same bytes, with a valid signature over the changed text. */
function encodings({ key, user, claims, parts }: TokenForger): Forgeries {
  const [head, payload, signature] = parts;
  const lastBits = signature.slice(0, -1) + alphabet[alphabet.indexOf(signature.slice(-1)) ^ 1];
  expect(Buffer.from(lastBits, 'base64url').equals(Buffer.from(signature, 'base64url'))).toBe(true);
  const signedOver = (text: string) => `${text}.${es256(text, key)}`;
  const roomy = encode({ ...claims, note: '???>>>' });
  expect(roomy).toMatch(/[-_]/);
  const forgeries: Forgeries = {
    'trailing bits': `${head}.${payload}.${lastBits}`,
    'payload not url-safe': signedOver(`${head}.${roomy.replaceAll('_', '/').replaceAll('-', '+')}`),
    'escaped dots': user.token.replaceAll('.', '%2E'),
    'dot behind': `${user.token}.`,
    'twice, with a comma': `${user.token},${user.token}`,
    'cyrillic letter': user.token.replace('e', 'е'),
  };
  // Characters that decoders ignore, at places of each part.
  for (const sign of ['=', '\n', ' ', '\t', '\u0000', '\u200b', '\ufeff', '\u00a0', '!', '%3D', '+', '/', 'A'])
    Object.assign(forgeries, {
      [`${sign} behind header`]: signedOver(`${head}${sign}.${payload}`),
      [`${sign} before payload`]: signedOver(`${head}.${sign}${payload}`),
      [`${sign} behind payload`]: signedOver(`${head}.${payload}${sign}`),
      [`${sign} in signature`]: `${head}.${payload}.${signature.slice(0, 40)}${sign}${signature.slice(40)}`,
      ...(sign.trim() === sign && { [`${sign} behind signature`]: `${user.token}${sign}` }),
    });
  return forgeries;
}

/** Long tokens. The limit of a token is 4 KiB, that of request headers 64 KiB. */
function huge({ user, claims, header, key }: TokenForger): Forgeries {
  return {
    'many dots': '.'.repeat(32_000),
    'one letter': 'A'.repeat(4_096),
    'longer signature': `${user.token}${'A'.repeat(32_000)}`,
    // Valid signatures: only the length is wrong.
    'longer header': forge({ ...header, x: 'x'.repeat(32_000) }, claims, key),
    'longer payload': forge(header, { ...claims, x: 'x'.repeat(4_000) }, key),
  };
}

/** Each claim that is read, missing and with every wrong type; `%` stands for the right value. */
function claimTypes(forger: TokenForger): Forgeries {
  const wrong = ['null', 'true', '0', '-1', '""', '"x"', '[]', '{}', '[%]', '{"0":%}', '1e400'];
  const payloads: Record<string, unknown> = {};
  for (const name of ['iss', 'aud', 'sub', 'sid', 'iat', 'exp']) {
    const right = JSON.stringify(forger.claims[name]);
    payloads[`${name} missing`] = forger.without(name);
    payloads[`${name} under another name`] = { ...forger.without(name), [name.toUpperCase()]: forger.claims[name] };
    for (const text of wrong) payloads[`${name} ${text}`] = forger.saying(name, text.replace('%', right));
  }
  return forger.claiming(payloads);
}

/** Wrong values of claims. */
function wrongClaims(forger: TokenForger, wrong: Record<string, unknown>[]): Forgeries {
  return forger.claiming(named(wrong.map((other) => ({ ...forger.claims, ...other }))));
}

function times(forger: TokenForger): Forgeries {
  const now = Math.floor(Date.now() / 1_000);
  const texts = ['"9999999999"', '9999999999.5', '9007199254740993', '[9999999999]', '{"$gt":0}'];
  const said = ['exp', 'iat'].flatMap((name) => texts.map((text) => forger.saying(name, text)));
  return {
    ...forger.claiming(named([...said, forger.saying('nbf', '1e400')])),
    ...wrongClaims(forger, [
      ...[{ iat: now - 700, exp: now - 31 }, { iat: 1, exp: 2 }, { exp: -now }, { exp: 0 }],
      // The tests take less than an hour.
      ...[{ iat: now + 3_600, exp: now + 7_200 }, { iat: now * 1_000 }],
      ...[now + 3_600, now * 1_000, String(now), null, [now]].map((nbf) => ({ nbf })),
    ]),
  };
}

function issuers(forger: TokenForger): Forgeries {
  const { iss, aud } = forger.claims as { iss: string; aud: string };
  const near = [`${iss}/`, `${iss} `, ` ${iss}`, `${iss}\u0000`, `${iss}.evil.test`, `${iss}@evil.test`, `${iss}?`];
  const other = ['https://evil.test', forger.url, iss.toUpperCase(), iss.slice(0, -1), iss.replace('http', 'https')];
  const strange = [iss.replace('localhost', '127.0.0.1'), [iss, 'x'], { iss }];
  const audiences = ['other', aud.toUpperCase(), `${aud} `, `${aud},other`, aud.slice(1), iss, '*', { aud }];
  return wrongClaims(forger, [
    ...[...near, ...other, ...strange].map((each) => ({ iss: each })),
    ...[...audiences, ['other'], [aud], [aud, 'other']].map((each) => ({ aud: each })),
  ]);
}

/** Ids of other users, unknown ids, and the own ids in other spellings. At most one id is right. */
function subjects(forger: TokenForger): Forgeries {
  const { user, service } = forger;
  const unknown = '01940000-0000-7000-8000-000000000000';
  const spelt = (id: string) => [
    ...[id.toUpperCase(), `${id} `, ` ${id}`, `{${id}}`, `urn:uuid:${id}`, id.replaceAll('-', ''), `${id}0`],
    ...[`${id}\u0000`, `${id}'--`, `${id.slice(0, -1)}%`, '*', '../', unknown, { $ne: id }],
  ];
  return wrongClaims(forger, [
    ...[{ sub: service.admin.user_id }, { sid: service.admin.session_id }, { sub: unknown, sid: unknown }],
    ...[
      { sub: user.session_id, sid: user.user_id },
      { sub: undefined, name: 'administrator' },
    ],
    ...spelt(user.user_id).map((sub) => ({ sub })),
    ...spelt(user.session_id).map((sid) => ({ sid })),
  ]);
}

/** A repeated claim. The last one applies everywhere (RFC 8259 leaves it open). */
function twice(forger: TokenForger): Forgeries {
  const { claims, service } = forger;
  const { user_id: sub, session_id: sid } = service.admin;
  const wrong = { sub, sid, iss: 'https://evil.test', aud: 'other', exp: 1, iat: 9_999_999_999 };
  const text = JSON.stringify(claims);
  const payloads: Record<string, string> = {};
  for (const [name, value] of Object.entries(wrong)) {
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    payloads[`${name} twice`] = text.replace(/}$/, `,"${name}":${JSON.stringify(value)}}`);
    payloads[`${name} twice, by escapes`] = text.replace(/}$/, `,"${escaped}":${JSON.stringify(value)}}`);
    const prototype = `{"__proto__":${JSON.stringify({ [name]: claims[name] })},`;
    payloads[`${name} of the prototype`] = JSON.stringify(forger.without(name)).replace('{', prototype);
  }
  return forger.claiming(payloads);
}

/** Forged tokens: titles of tests, and functions that create the tokens. */
export const forgeries: ForgeryTable[] = [
  ['rejects signatures of zeros, the order of the curve and its neighbours (J2)', edges],
  ['rejects a signature of another length, encoding or order (J2)', signatureEncodings],
  ['rejects a signature of other content or by another key (J2)', otherwiseSigned],
  ['rejects an HMAC with the public key or another public value as secret (J3)', hmacs],
  ['rejects the algorithm none in any spelling, with and without the last dot (J1)', unsigned],
  ['rejects other algorithms, even with a valid signature (J4)', algorithms],
  ['rejects the same header in other bytes (J4)', headerSpellings],
  ['rejects unknown critical extensions and unencoded payloads (J7)', extensions],
  ['rejects a valid signature for another type of token (J8)', tokenTypes],
  ['rejects a key id that is a path, SQL or a URL (J5)', keyIds],
  ['rejects keys of the sender in jwk, jku, x5u and x5c (J6)', ownKeys],
  ['rejects JSON serialisation, encrypted, nested and unsecured tokens (J14)', otherForms],
  ['rejects non-canonical encodings of the right bytes (J15)', encodings],
  ['rejects huge tokens (J17)', huge],
  ['rejects each claim of another type or missing (J9)', claimTypes],
  ['rejects expired, future and impossible times (J9)', times],
  ['rejects wrong, several and similar issuers and audiences (J10)', issuers],
  ['rejects other, missing and differently spelt subjects (J11)', subjects],
  ['rejects a repeated claim whose last value is wrong (J16)', twice],
];
