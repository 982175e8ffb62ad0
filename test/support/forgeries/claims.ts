import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';

/** Values of a wrong type as JSON texts; `%` stands for the right value. */
const otherTypes = ['null', 'true', 'false', '0', '-1', '""', '"x"', '[]', '{}', '[%]', '{"0":%}', '[[%]]', '1e400'];

/** Each claim that is read, with every wrong type and missing. */
function types(forger: TokenForger): Forgeries {
  const variants: Record<string, unknown> = {};
  for (const name of ['iss', 'aud', 'sub', 'sid', 'iat', 'exp']) {
    const right = JSON.stringify(forger.claims[name]);
    variants[`${name} missing`] = forger.without(name);
    variants[`${name} under another name`] = { ...forger.without(name), [name.toUpperCase()]: forger.claims[name] };
    for (const text of otherTypes) variants[`${name} ${text}`] = forger.saying(name, text.replace('%', right));
  }
  return forger.claiming(variants);
}

function times(forger: TokenForger): Forgeries {
  const { claims } = forger;
  const now = Math.floor(Date.now() / 1_000);
  const said = [
    '"9999999999"',
    '9999999999.5',
    '9007199254740993',
    '1e400',
    '-9999999999',
    '"2099-01-01T00:00:00Z"',
    '[9999999999]',
    '{"$gt":0}',
  ];
  const variants: Record<string, unknown> = {
    expired: { ...claims, iat: now - 700, exp: now - 31 },
    'expired long ago': { ...claims, iat: 1, exp: 2 },
    'expired before the epoch': { ...claims, exp: -now },
    'expires at the epoch': { ...claims, exp: 0 },
    'iat of the future': { ...claims, iat: now + 31, exp: now + 600 },
    'iat in milliseconds': { ...claims, iat: now * 1_000 },
    'nbf of the future': { ...claims, nbf: now + 31 },
    'nbf far away': { ...claims, nbf: now * 1_000 },
    'nbf as text': { ...claims, nbf: String(now) },
    'nbf null': { ...claims, nbf: null },
    'nbf list': { ...claims, nbf: [now] },
    'nbf beyond numbers': forger.saying('nbf', '1e400'),
  };
  for (const name of ['exp', 'iat']) for (const text of said) variants[`${name} ${text}`] = forger.saying(name, text);
  return forger.claiming(variants);
}

function issuers(forger: TokenForger): Forgeries {
  const { claims } = forger;
  const { iss, aud } = claims as { iss: string; aud: string };
  const issuer = [
    'https://evil.test',
    `${iss}/`,
    iss.toUpperCase(),
    `${iss} `,
    ` ${iss}`,
    `${iss}\u0000`,
    `${iss}.evil.test`,
    `${iss}@evil.test`,
    iss.slice(0, -1),
    forger.url,
  ];
  const strict = [
    iss.replace('http', 'https'),
    `${iss}?`,
    `${iss}#`,
    iss.replace('localhost', '127.0.0.1'),
    [iss, 'x'],
    { iss },
  ];
  const audience = [
    'other',
    aud.toUpperCase(),
    `${aud} `,
    `${aud}\u0000`,
    `${aud},other`,
    `${aud} other`,
    aud.slice(1),
    iss,
    '*',
    'account',
    [aud, 'other'],
    ['other', aud],
    ['other'],
    { aud },
  ];
  const variants: Record<string, unknown> = {};
  for (const each of [...issuer, ...strict]) variants[`iss ${JSON.stringify(each)}`] = { ...claims, iss: each };
  for (const each of audience) variants[`aud ${JSON.stringify(each)}`] = { ...claims, aud: each };
  return forger.claiming(variants);
}

/**
 * Ids of other users, unknown ids, and the ids of the user in other spellings. At most one of `sub`
 * and `sid` is right.
 */
function subjects(forger: TokenForger): Forgeries {
  const { claims, user, service } = forger;
  const unknown = '01940000-0000-7000-8000-000000000000';
  const spellings = (id: string): unknown[] => [
    ...[
      id.toUpperCase(),
      `${id} `,
      ` ${id}`,
      `{${id}}`,
      `urn:uuid:${id}`,
      id.replaceAll('-', ''),
      `${id}\u0000`,
      `${id}'--`,
      `${id.slice(0, -1)}%`,
    ],
    ...[
      id.slice(0, -1),
      `${id}0`,
      '0',
      'ada',
      '../',
      '*',
      unknown,
      { $ne: id },
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ],
  ];
  const variants: Record<string, unknown> = {
    'user of another': { ...claims, sub: service.admin.user_id },
    'session of another': { ...claims, sid: service.admin.session_id },
    exchanged: { ...claims, sub: user.session_id, sid: user.user_id },
    'session for a user': { ...claims, sub: user.session_id },
    'user for a session': { ...claims, sid: user.user_id },
    'unknown user and session': { ...claims, sub: unknown, sid: unknown },
    'user by name': { ...forger.without('sub'), name: 'administrator' },
  };
  for (const id of spellings(user.user_id)) variants[`sub ${JSON.stringify(id)}`] = { ...claims, sub: id };
  for (const id of spellings(user.session_id)) variants[`sid ${JSON.stringify(id)}`] = { ...claims, sid: id };
  return forger.claiming(variants);
}

/**
 * A repeated claim. The last one applies everywhere (RFC 8259 leaves it open), so a wrong last
 * value must be rejected.
 */
function twice(forger: TokenForger): Forgeries {
  const { claims, service } = forger;
  const wrong: Record<string, string> = {
    ...{
      sub: JSON.stringify(service.admin.user_id),
      sid: JSON.stringify(service.admin.session_id),
      iss: '"https://evil.test"',
      aud: '"other"',
      exp: '1',
      iat: '9999999999',
    },
  };
  const variants: Record<string, string> = {};
  for (const [name, value] of Object.entries(wrong)) {
    const text = JSON.stringify(claims);
    variants[`${name} twice`] = text.replace(/}$/, `,"${name}":${value}}`);
    variants[`${name} twice, by escapes`] = text.replace(
      /}$/,
      `,"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":${value}}`,
    );
    variants[`${name} and null`] = text.replace(/}$/, `,"${name}":null}`);
    variants[`${name} of the prototype`] =
      `{"__proto__":{"${name}":${JSON.stringify(claims[name])}},${JSON.stringify(forger.without(name)).slice(1)}`;
  }
  return forger.claiming(variants);
}

/** Forgeries with a genuine signature and wrong claims. */
export const claimForgeries: ForgeryTable[] = [
  ['rejects each claim of another type or missing (J9)', types],
  ['rejects expired, future and impossible times (J9)', times],
  ['rejects wrong, several and similar issuers and audiences (J10)', issuers],
  ['rejects other, missing and differently spelt subjects (J11)', subjects],
  ['rejects a repeated claim whose last value is wrong (J16)', twice],
];
