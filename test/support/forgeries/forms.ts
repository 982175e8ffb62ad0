import { deflateRawSync } from 'node:zlib';
import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';
import { encode, es256, forge } from '../tokens';

/** JSON serialisations, encrypted and nested tokens, and payloads without claims. */
function otherForms(forger: TokenForger): Forgeries {
  const { header, key, claims, user } = forger;
  const [protectedHeader, payload, signature] = forger.parts;
  const flat = { protected: protectedHeader, payload, signature };
  const general = { payload, signatures: [{ protected: protectedHeader, signature }] };
  const jwe = (head: object, text: Buffer | string = Buffer.alloc(512)) =>
    `${encode(head)}.${encode('key')}.${encode('nonce')}.${encode(text)}.${encode('tag')}`;
  const bomb = deflateRawSync(Buffer.alloc(1_000_000));
  const pbes2 = { alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2s: 'salt' };
  return {
    ...{
      flat: JSON.stringify(flat),
      general: JSON.stringify(general),
      'encoded flat': encode(flat),
      'encoded general': encode(general),
    },
    ...{
      'flat with header': JSON.stringify({ ...flat, header: { alg: 'none' } }),
      'flat list': JSON.stringify([flat]),
      'as text of JSON': JSON.stringify(user.token),
    },
    ...{
      'two signatures': JSON.stringify({ payload, signatures: [{ signature: 'x' }, ...general.signatures] }),
      'no signatures': JSON.stringify({ payload, signatures: [] }),
    },
    ...{
      'one part': protectedHeader,
      'two parts': forger.signed,
      'four parts': `${user.token}.${signature}`,
      'five parts': `${user.token}.${payload}.${signature}`,
    },
    ...{
      'six parts': `${user.token}.${user.token}`,
      'empty payload': `${protectedHeader}..${signature}`,
      'detached and signed': `${protectedHeader}..${es256(`${protectedHeader}.`, key)}`,
    },
    ...{
      'JWE dir': jwe({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' }),
      'JWE PBES2': jwe({ ...pbes2, p2c: 2_147_483_648 }),
      'JWE PBES2 once': jwe({ ...pbes2, p2c: 1 }),
    },
    ...{
      'JWE with our header': jwe(header),
      'JWE of our token': jwe({ alg: 'dir', enc: 'A256GCM', cty: 'JWT' }, user.token),
      'JWE RSA': jwe({ alg: 'RSA-OAEP', enc: 'A128CBC-HS256' }),
    },
    ...{
      'JWE ECDH': jwe({ alg: 'ECDH-ES', enc: 'A128GCM', epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }),
      'JWE bomb': jwe({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' }, bomb),
    },
    ...{
      'JWE none': jwe({ alg: 'none', enc: 'none' }),
      'JWE empty': '....',
      PASETO: `v4.public.${payload}`,
      Fernet: 'gAAAAAA',
      macaroon: encode('location x'),
    },
    ...{
      nested: forge(header, user.token, key),
      'nested in JSON': forge(header, JSON.stringify(user.token), key),
      'payload compressed': forge(header, deflateRawSync(JSON.stringify(claims)), key),
    },
    ...{
      'payload null': forge(header, 'null', key),
      'payload list': forge(header, [claims], key),
      'payload number': forge(header, '1', key),
      'payload true': forge(header, 'true', key),
    },
    ...{
      'payload empty list': forge(header, '[]', key),
      'payload empty object': forge(header, {}, key),
      'payload no JSON': forge(header, '{', key),
      'payload text': forge(header, '"x"', key),
    },
    ...{
      'payload not UTF-8': forge(header, Buffer.from([0x7b, 0xff, 0x7d]), key),
      'payload UTF-16': forge(header, Buffer.from(JSON.stringify(claims), 'utf16le'), key),
    },
    ...{
      'payload BOM': forge(header, `\ufeff${JSON.stringify(claims)}`, key),
      'payload with more': forge(header, `${JSON.stringify(claims)}{}`, key),
    },
    ...{
      'payload as query': forge(
        header,
        new URLSearchParams({ sub: user.user_id, sid: user.session_id }).toString(),
        key,
      ),
      'payload deep': forge(header, `${'['.repeat(1_000)}${']'.repeat(1_000)}`, key),
    },
  };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Other encodings of the same bytes for each part, with a valid signature over the changed text.
 */
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
    ...{
      'ideographic dots': user.token.replaceAll('.', '。'),
      'fullwidth dots': user.token.replaceAll('.', '．'),
      'middle dots': user.token.replaceAll('.', '·'),
    },
    ...{
      'escaped dots': user.token.replaceAll('.', '%2E'),
      'escaped letter': user.token.replace('e', '%65'),
      'commas for dots': user.token.replaceAll('.', ','),
    },
    ...{
      'dot before': `.${user.token}`,
      'dot behind': `${user.token}.`,
      'two dots': user.token.replace('.', '..'),
      dots: '..',
      comma: `${user.token},${user.token}`,
    },
    ...{
      quoted: `"${user.token}"`,
      bracketed: `<${user.token}>`,
      'scheme before': `Bearer:${user.token}`,
      semicolon: `${user.token};`,
      'in hexadecimal': Buffer.from(user.token).toString('hex'),
    },
    ...{
      'fullwidth letters': user.token.replace('e', 'ｅ'),
      'cyrillic letter': user.token.replace('e', 'е'),
      'token in base64': Buffer.from(user.token).toString('base64'),
      'in capitals': user.token.toUpperCase(),
    },
  };
  // Characters that decoders ignore, at four places of each part.
  const overlooked = [
    '=',
    '==',
    '\n',
    ' ',
    '\t',
    '\u0000',
    '\u200b',
    '\ufeff',
    '\u00a0',
    '!',
    '*',
    '~',
    '#',
    '\\',
    '%3D',
    '+',
    '/',
    'A',
    'AA',
  ];
  for (const sign of overlooked) {
    const spelled = JSON.stringify(sign);
    forgeries[`${spelled} behind header`] = signedOver(`${head}${sign}.${payload}`);
    forgeries[`${spelled} before payload`] = signedOver(`${head}.${sign}${payload}`);
    forgeries[`${spelled} behind payload`] = signedOver(`${head}.${payload}${sign}`);
    forgeries[`${spelled} inside signature`] =
      `${head}.${payload}.${signature.slice(0, 40)}${sign}${signature.slice(40)}`;
    if (sign.trim() === sign) forgeries[`${spelled} behind signature`] = `${user.token}${sign}`;
  }
  return forgeries;
}

/** Long tokens. The limit of a token is 4 KiB, that of request headers 64 KiB. */
function huge(forger: TokenForger): Forgeries {
  const { user, claims, header, key } = forger;
  const forgeries: Forgeries = {
    'many dots': '.'.repeat(4_000),
    'more dots': '.'.repeat(32_000),
    'one letter': 'A'.repeat(4_096),
  };
  for (const length of [2_000, 8_000, 32_000]) {
    forgeries[`signature longer by ${length}`] = `${user.token}${'A'.repeat(length)}`;
    forgeries[`header longer by ${length}`] = forge({ ...header, x: 'x'.repeat(length) }, claims, key);
  }
  // A valid signature: only the length is wrong.
  for (const length of [4_000, 8_000])
    forgeries[`payload longer by ${length}`] = forge(header, { ...claims, x: 'x'.repeat(length) }, key);
  return forgeries;
}

/** Forgeries with a wrong form. */
export const formForgeries: ForgeryTable[] = [
  ['rejects JSON serialisation, encrypted, nested and unsecured tokens (J14)', otherForms],
  ['rejects non-canonical encodings of the right bytes (J15)', encodings],
  ['rejects huge tokens (J17)', huge],
];
