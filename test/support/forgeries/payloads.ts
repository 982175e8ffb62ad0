import { deflateRawSync } from 'node:zlib';
import { type Forgeries, type ForgeryTable, named, type TokenForger, tokensOf } from '../token-forger';
import { encode, es256, forge } from '../tokens';

/** JSON serialisations, encrypted and nested tokens, and payloads without claims. */
function otherForms(forger: TokenForger): Forgeries {
  const { claims, user, key } = forger;
  const [head, payload, signature] = forger.parts;
  const flat = { protected: head, payload, signature };
  const general = { payload, signatures: [{ protected: head, signature }] };
  const encrypted = [
    { alg: 'dir', enc: 'A256GCM', zip: 'DEF' },
    { alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2s: 'salt', p2c: 2_147_483_648 },
    { alg: 'RSA-OAEP', enc: 'A128CBC-HS256' },
    { alg: 'none', enc: 'none' },
    forger.header,
  ];
  return {
    ...tokensOf(named(encrypted), (header) => `${encode(header)}.${encode('key')}.AA.${encode(user.token)}.AA`),
    flat: JSON.stringify(flat),
    general: JSON.stringify(general),
    'encoded flat': encode(flat),
    'one part': head,
    'two parts': `${head}.${payload}`,
    'four parts': `${user.token}.${signature}`,
    'empty payload': `${head}..${signature}`,
    'detached and signed': `${head}..${es256(`${head}.`, key)}`,
    dots: '....',
    ...forger.claiming({
      nested: user.token,
      compressed: deflateRawSync(JSON.stringify(claims)),
      null: 'null',
      list: [claims],
      'empty object': {},
      'no JSON': '{',
      'not UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
      'byte order mark': `\ufeff${JSON.stringify(claims)}`,
      'more behind': `${JSON.stringify(claims)}{}`,
      deep: `${'['.repeat(1_000)}${']'.repeat(1_000)}`,
    }),
  };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Other encodings of the same bytes, with a valid signature over the changed text. */
function encodings(forger: TokenForger): Forgeries {
  const { key, user, claims, parts } = forger;
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
  for (const sign of ['=', '==', '\n', ' ', '\t', '\u0000', '\u200b', '\ufeff', '\u00a0', '!', '%3D', '+', '/', 'A']) {
    const spelled = JSON.stringify(sign);
    forgeries[`${spelled} behind header`] = signedOver(`${head}${sign}.${payload}`);
    forgeries[`${spelled} before payload`] = signedOver(`${head}.${sign}${payload}`);
    forgeries[`${spelled} behind payload`] = signedOver(`${head}.${payload}${sign}`);
    forgeries[`${spelled} in signature`] = `${head}.${payload}.${signature.slice(0, 40)}${sign}${signature.slice(40)}`;
    if (sign.trim() === sign) forgeries[`${spelled} behind signature`] = `${user.token}${sign}`;
  }
  return forgeries;
}

/** Long tokens. The limit of a token is 4 KiB, that of request headers 64 KiB. */
function huge({ user, claims, header, key }: TokenForger): Forgeries {
  return {
    'many dots': '.'.repeat(32_000),
    'one letter': 'A'.repeat(4_096),
    'longer signature': `${user.token}${'A'.repeat(32_000)}`,
    'longer header': forge({ ...header, x: 'x'.repeat(32_000) }, claims, key),
    // A valid signature: only the length is wrong.
    'longer payload': forge(header, { ...claims, x: 'x'.repeat(4_000) }, key),
  };
}

/** Each claim that is read, missing and with every wrong type; `%` stands for the right value. */
function types(forger: TokenForger): Forgeries {
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

function times(forger: TokenForger): Forgeries {
  const { claims } = forger;
  const now = Math.floor(Date.now() / 1_000);
  const wrong = [
    ...[{ iat: now - 700, exp: now - 31 }, { iat: 1, exp: 2 }, { exp: -now }, { exp: 0 }],
    // The tests take less than an hour.
    ...[{ iat: now + 3_600, exp: now + 7_200 }, { iat: now * 1_000 }],
    ...[now + 3_600, now * 1_000, String(now), null, [now]].map((nbf) => ({ nbf })),
  ];
  const payloads: Record<string, unknown> = { 'nbf beyond numbers': forger.saying('nbf', '1e400') };
  for (const other of wrong) payloads[JSON.stringify(other)] = { ...claims, ...other };
  for (const name of ['exp', 'iat'])
    for (const text of ['"9999999999"', '9999999999.5', '9007199254740993', '[9999999999]', '{"$gt":0}'])
      payloads[`${name} ${text}`] = forger.saying(name, text);
  return forger.claiming(payloads);
}

function issuers(forger: TokenForger): Forgeries {
  const { claims, url } = forger;
  const { iss, aud } = claims as { iss: string; aud: string };
  const near = [`${iss}/`, `${iss} `, ` ${iss}`, `${iss}\u0000`, `${iss}.evil.test`, `${iss}@evil.test`, `${iss}?`];
  const other = ['https://evil.test', url, iss.toUpperCase(), iss.slice(0, -1), iss.replace('http', 'https')];
  const strange = [iss.replace('localhost', '127.0.0.1'), [iss, 'x'], { iss }];
  const audiences = ['other', aud.toUpperCase(), `${aud} `, `${aud},other`, aud.slice(1), iss, '*', { aud }];
  const payloads: Record<string, unknown> = {};
  for (const each of [...near, ...other, ...strange])
    payloads[`iss ${JSON.stringify(each)}`] = { ...claims, iss: each };
  for (const each of [...audiences, ['other'], [aud], [aud, 'other']])
    payloads[`aud ${JSON.stringify(each)}`] = { ...claims, aud: each };
  return forger.claiming(payloads);
}

/** Ids of other users, unknown ids, and the own ids in other spellings. At most one id is right. */
function subjects(forger: TokenForger): Forgeries {
  const { claims, user, service } = forger;
  const unknown = '01940000-0000-7000-8000-000000000000';
  const payloads: Record<string, unknown> = {
    'user of another': { ...claims, sub: service.admin.user_id },
    'session of another': { ...claims, sid: service.admin.session_id },
    exchanged: { ...claims, sub: user.session_id, sid: user.user_id },
    'unknown user and session': { ...claims, sub: unknown, sid: unknown },
    'user by name': { ...forger.without('sub'), name: 'administrator' },
  };
  for (const [name, id] of [
    ['sub', user.user_id],
    ['sid', user.session_id],
  ] as const) {
    const near = [id.toUpperCase(), `${id} `, ` ${id}`, `{${id}}`, `urn:uuid:${id}`, id.replaceAll('-', ''), `${id}0`];
    const strange = [`${id}\u0000`, `${id}'--`, `${id.slice(0, -1)}%`, '*', '../', unknown, { $ne: id }];
    for (const each of [...near, ...strange]) payloads[`${name} ${JSON.stringify(each)}`] = { ...claims, [name]: each };
  }
  return forger.claiming(payloads);
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

/** Forgeries with a genuine header and a wrong form or wrong claims. */
export const payloadForgeries: ForgeryTable[] = [
  ['rejects JSON serialisation, encrypted, nested and unsecured tokens (J14)', otherForms],
  ['rejects non-canonical encodings of the right bytes (J15)', encodings],
  ['rejects huge tokens (J17)', huge],
  ['rejects each claim of another type or missing (J9)', types],
  ['rejects expired, future and impossible times (J9)', times],
  ['rejects wrong, several and similar issuers and audiences (J10)', issuers],
  ['rejects other, missing and differently spelt subjects (J11)', subjects],
  ['rejects a repeated claim whose last value is wrong (J16)', twice],
];
