import { generateKeyPairSync } from 'node:crypto';
import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';
import { encode } from '../tokens';

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const strangerJwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'mine', alg: 'ES256', use: 'sig' };

function keyIds(forger: TokenForger): Forgeries {
  const { kid = '' } = forger.header;
  const ids: unknown[] = [
    ...[
      '../../dev/null',
      '../../../../etc/passwd',
      '/proc/self/environ',
      'C:\\Windows\\win.ini',
      'file:///dev/null',
      forger.url,
      'x|/usr/bin/id',
      '$(id)',
      '`id`',
    ],
    ...[
      "' OR 1=1--",
      "a'||pg_sleep(5)||'",
      "x' UNION SELECT 'AA'--",
      '"; drop table signing_keys; --',
      '{{7*7}}',
      '${jndi:ldap://127.0.0.1/a}',
      '',
      ' ',
    ],
    ...[
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'null',
      'undefined',
      '0',
      '*',
      '%',
      '../keys/private.pem',
      'a'.repeat(1_500),
    ],
    ...[
      null,
      0,
      -1,
      true,
      ['ES256'],
      [kid],
      {},
      { $ne: null },
      { kid },
      `${kid} `,
      ` ${kid}`,
      `${kid}\u0000`,
      `${kid}%00`,
      kid.toUpperCase(),
      kid.slice(1),
      `${kid}=`,
    ],
  ];
  const byStranger = forger.signedBy(stranger.privateKey, {
    'its own': forger.header,
    'none at all': { alg: 'ES256', typ: 'at+jwt' },
    mine: { ...forger.header, kid: 'mine' },
  });
  return { ...forger.withHeader('kid', ids), ...byStranger };
}

/** Keys that the sender includes or names by URL. */
function ownKeys(forger: TokenForger): Forgeries {
  const { url, header } = forger;
  const der = stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const secret = { kty: 'oct', k: encode('secret'), alg: 'HS256' };
  const ways: Record<string, object> = {
    ...{
      jwk: { jwk: strangerJwk },
      'jwk as text': { jwk: JSON.stringify(strangerJwk) },
      'private jwk': { jwk: stranger.privateKey.export({ format: 'jwk' }) },
    },
    ...{
      'secret jwk': { jwk: secret },
      'jwk of nothing': { jwk: {} },
      jwks: { jwks: { keys: [strangerJwk] } },
      'jwk with our kid': { jwk: { ...strangerJwk, kid: header['kid'] } },
    },
    ...{
      jku: { jku: url },
      'jku of ours': { jku: 'http://localhost:3000/.well-known/jwks.json' },
      'jku with user': { jku: url.replace('//', '//localhost:3000@') },
    },
    ...{
      'jku list': { jku: [url] },
      'jku to a file': { jku: 'file:///etc/passwd' },
      x5u: { x5u: url },
      x5c: { x5c: [der] },
      'x5c as text': { x5c: der },
      'x5c twice': { x5c: [der, der] },
    },
    ...{
      x5t: { x5t: 'mine' },
      'x5t#S256': { 'x5t#S256': 'mine' },
      'kid as URL': { kid: url },
      'iss in header': { iss: url },
      'all at once': { jwk: strangerJwk, jku: url, x5u: url, x5c: [der] },
    },
  };
  const headers = Object.entries(ways).flatMap(([name, extra]) => [
    [name, { ...header, ...extra }],
    [`${name} without kid`, { alg: 'ES256', typ: 'at+jwt', ...extra }],
  ]);
  const signedBy = (key: typeof forger.key, whose: string) =>
    Object.entries(forger.signedBy(key, Object.fromEntries(headers))).map(([name, token]) => [
      `${name} ${whose}`,
      token,
    ]);
  return Object.fromEntries([
    ...signedBy(stranger.privateKey, 'by the stranger'),
    ...signedBy(forger.key, 'by our key'),
  ]);
}

/** Forgeries that name or include a wrong key. */
export const keyForgeries: ForgeryTable[] = [
  ['rejects a key id that is a path, SQL or a URL, without delay (J5)', keyIds],
  ['rejects keys of the sender in jwk, jku, x5u and x5c (J6)', ownKeys],
];
