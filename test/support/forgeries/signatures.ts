import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Forgeries, ForgeryTable, TokenForger } from '../token-forger';
import { encode, es256 } from '../tokens';

/** The order of P-256 and the prime of its field. */
export const order = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');
const prime = BigInt('0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff');

/** Returns a number as bytes of the given length. */
export function bytesOf(number: bigint, length = 32): Buffer {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex');
}

/** Returns r and s of an ES256 signature. */
export function numbersOf(signature: string): [bigint, bigint] {
  const hex = Buffer.from(signature, 'base64url').toString('hex');
  return [BigInt(`0x${hex.slice(0, 64)}`), BigInt(`0x${hex.slice(64)}`)];
}

/** Returns the genuine header and payload with arbitrary signature bytes. */
function under(forger: TokenForger, signatures: Record<string, Buffer | string>): Forgeries {
  const text = (signature: Buffer | string) => (typeof signature === 'string' ? signature : encode(signature));
  return Object.fromEntries(
    Object.entries(signatures).map(([name, signature]) => [name, `${forger.signed}.${text(signature)}`]),
  );
}

/** Every combination of edge values as r and s, as in Wycheproof's ECDSA vectors. */
function edges(forger: TokenForger): Forgeries {
  const [r, s] = numbersOf(forger.parts[2]);
  const numbers: [string, bigint][] = [
    ...([
      ['0', 0n],
      ['1', 1n],
      ['2', 2n],
      ['n-1', order - 1n],
      ['n', order],
      ['n+1', order + 1n],
    ] as [string, bigint][]),
    ...([
      ['p-1', prime - 1n],
      ['p', prime],
      ['n/2', order / 2n],
      ['all bits', 2n ** 256n - 1n],
    ] as [string, bigint][]),
  ];
  const signatures: Record<string, Buffer> = {};
  for (const [first, a] of [...numbers, ['its r', r] as const]) {
    for (const [second, b] of [...numbers, ['its s', s] as const]) {
      if (a !== r || b !== s) signatures[`r ${first}, s ${second}`] = Buffer.concat([bytesOf(a), bytesOf(b)]);
    }
  }
  return under(forger, signatures);
}

function lengths(forger: TokenForger): Forgeries {
  const genuine = Buffer.from(forger.parts[2], 'base64url');
  const [r, s] = numbersOf(forger.parts[2]);
  const signatures: Record<string, Buffer> = {};
  for (const length of [0, 1, 2, 31, 32, 33, 48, 62, 63]) {
    signatures[`first ${length} bytes`] = genuine.subarray(0, length);
    if (length > 0) signatures[`last ${length} bytes`] = genuine.subarray(64 - length);
  }
  for (const more of [1, 2, 8, 32, 64, 68]) {
    for (const [name, byte] of [
      ['zeros', 0],
      ['ones', 255],
    ] as const) {
      signatures[`${more} ${name} behind`] = Buffer.concat([genuine, Buffer.alloc(more, byte)]);
      signatures[`${more} ${name} before`] = Buffer.concat([Buffer.alloc(more, byte), genuine]);
    }
  }
  for (const length of [33, 48, 66])
    signatures[`numbers of ${length} bytes`] = Buffer.concat([bytesOf(r, length), bytesOf(s, length)]);
  for (const [name, [a, b]] of Object.entries({ 'r+n': [r + order, s], 's+n': [r, s + order] })) {
    signatures[`${name} in 33 bytes`] = Buffer.concat([bytesOf(a as bigint, 33), bytesOf(b as bigint, 33)]);
  }
  signatures['text of hexadecimal'] = Buffer.from(genuine.toString('hex'));
  signatures['base64url twice'] = Buffer.from(forger.parts[2]);
  return under(forger, signatures);
}

function flipped(forger: TokenForger): Forgeries {
  const forgeries: Forgeries = {};
  forger.parts.forEach((part, which) => {
    const bytes = Buffer.from(part, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += Math.ceil((bytes.length * 8) / 24)) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      forgeries[`part ${which}, bit ${bit}`] = forger.parts
        .map((each, index) => (index === which ? encode(changed) : each))
        .join('.');
    }
  });
  return forgeries;
}

function encodings(forger: TokenForger): Forgeries {
  const genuine = Buffer.from(forger.parts[2], 'base64url');
  const [r, s] = [genuine.subarray(0, 32), genuine.subarray(32)];
  const number = (value: Buffer) => Buffer.concat([Buffer.from([2, value.length]), value]);
  const list = (...items: Buffer[]) => Buffer.concat([Buffer.from([0x30, Buffer.concat(items).length]), ...items]);
  const positive = (value: Buffer) => number((value[0] ?? 0) < 0x80 ? value : Buffer.concat([Buffer.alloc(1), value]));
  const der = list(positive(r), positive(s));
  return under(forger, {
    DER: der,
    'DER with long length': Buffer.concat([Buffer.from([0x30, 0x81]), der.subarray(1)]),
    'DER with more behind': Buffer.concat([der, Buffer.alloc(2)]),
    'DER of negative numbers': list(number(r), number(s)),
    'DER of unknown length': Buffer.concat([Buffer.from([0x30, 0x80]), der.subarray(2), Buffer.alloc(2)]),
    'DER with leading zeros': list(
      number(Buffer.concat([Buffer.alloc(2), r])),
      number(Buffer.concat([Buffer.alloc(2), s])),
    ),
    'DER in a bit string': Buffer.concat([Buffer.from([3, der.length + 1, 0]), der]),
    'DER of zeros': list(number(Buffer.alloc(1)), number(Buffer.alloc(1))),
    'DER that signs anew': sign('sha256', Buffer.from(forger.signed), { key: forger.key, dsaEncoding: 'der' }),
    'r and s exchanged': Buffer.concat([s, r]),
    'r twice': Buffer.concat([r, r]),
    's twice': Buffer.concat([s, s]),
    'bytes from behind': Buffer.from(genuine).reverse(),
    'least byte first': Buffer.concat([Buffer.from(r).reverse(), Buffer.from(s).reverse()]),
    'all bits turned': Buffer.from(genuine.map((byte) => byte ^ 255)),
    'negative r': Buffer.concat([bytesOf(order - numbersOf(forger.parts[2])[0]), s]),
  });
}

/** Signatures of other content by the service's key, or of the right content by another key. */
function otherwiseSigned(forger: TokenForger): Forgeries {
  const { key, parts, signed, service } = forger;
  const [head, payload] = parts;
  const decoded = (part: string) => Buffer.from(part, 'base64url').toString();
  const texts = {
    ...{
      nothing: '',
      'the header': head,
      'the payload': payload,
      'without the dot': head + payload,
      exchanged: `${payload}.${head}`,
    },
    ...{
      'with a last dot': `${signed}.`,
      'with a line end': `${signed}\n`,
      'in capitals': signed.toUpperCase(),
      token: forger.user.token,
    },
    ...{
      'what the parts say': `${decoded(head)}.${decoded(payload)}`,
      'its claims': decoded(payload),
      'two dots': `${head}..${payload}`,
    },
  };
  const digests = ['sha1', 'sha224', 'sha384', 'sha512', 'sha3-256', 'sha512-256'];
  const signatures: Record<string, Buffer | string> = {};
  for (const [name, text] of Object.entries(texts)) signatures[`of ${name}`] = es256(text, key);
  for (const digest of digests)
    signatures[digest] = sign(digest, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  signatures['digest of the digest'] = es256(Buffer.from(signed).toString('hex'), key);
  signatures['of another token'] = service.admin.token.split('.')[2] as string;
  for (const namedCurve of ['P-256', 'P-384', 'P-521', 'secp256k1']) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve });
    signatures[`a stranger on ${namedCurve}`] = sign('sha256', Buffer.from(signed), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    });
  }
  const strangers: Record<string, KeyObject> = {
    RSA: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey,
    'RSA-PSS': generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).privateKey,
  };
  for (const [name, stranger] of Object.entries(strangers))
    signatures[`a stranger by ${name}`] = sign('sha256', Buffer.from(signed), stranger);
  for (const kind of ['ed25519', 'ed448'] as const) {
    const { privateKey } = kind === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ed448');
    signatures[`a stranger by ${kind}`] = sign(null, Buffer.from(signed), privateKey);
  }
  const { admin } = service;
  const others = encode({ ...forger.claims, sub: admin.user_id, sid: admin.session_id });
  return { ...under(forger, signatures), 'changed payload': `${head}.${others}.${parts[2]}` };
}

/** HMACs with a public value as secret. */
async function hmacs(forger: TokenForger): Promise<Forgeries> {
  const { body } = await forger.service.get('/.well-known/jwks.json');
  const published = createPublicKey({ key: body.keys[0], format: 'jwk' });
  const pem = published.export({ type: 'spki', format: 'pem' }).toString();
  const der = published.export({ type: 'spki', format: 'der' });
  const [x, y] = [Buffer.from(body.keys[0].x, 'base64url'), Buffer.from(body.keys[0].y, 'base64url')];
  const lines = pem.split('\n').slice(1, -2);
  const secrets: Record<string, string | Buffer> = {
    ...{
      pem,
      'leading newline': `\n${pem}`,
      'leading space': ` ${pem}`,
      'two newlines': `${pem}\n`,
      'no newline': pem.trimEnd(),
    },
    ...{
      CRLF: pem.replaceAll('\n', '\r\n'),
      'escaped newlines': pem.replaceAll('\n', '\\n'),
      'pem in base64': Buffer.from(pem).toString('base64'),
    },
    ...{
      'without header': lines.join('\n'),
      'one line': lines.join(''),
      DER: der,
      'DER in hexadecimal': der.toString('hex'),
    },
    ...{
      point: Buffer.concat([x, y]),
      'marked point': Buffer.concat([Buffer.from([4]), x, y]),
      x,
      y,
      'x as text': body.keys[0].x,
    },
    ...{ 'short point': Buffer.concat([Buffer.from([2 + ((y[31] ?? 0) & 1)]), x]), jwk: JSON.stringify(body.keys[0]) },
    ...{
      'bare jwk': JSON.stringify(published.export({ format: 'jwk' })),
      jwks: JSON.stringify(body),
      kid: forger.header['kid'] ?? '',
    },
    ...{
      nothing: '',
      'a zero': Buffer.alloc(1),
      'zeros for a key': Buffer.alloc(32),
      secret: 'secret',
      null: 'null',
      undefined: 'undefined',
    },
    ...{ issuer: String(forger.claims['iss']), session: String(forger.claims['sid']), header: forger.parts[0] },
  };
  const algorithms = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512', ES256: 'sha256' };
  const forgeries: Forgeries = {};
  for (const [name, secret] of Object.entries(secrets)) {
    for (const [alg, digest] of Object.entries(algorithms)) {
      const text = `${encode({ ...forger.header, alg })}.${forger.parts[1]}`;
      forgeries[`${alg} by ${name}`] = `${text}.${createHmac(digest, secret).update(text).digest('base64url')}`;
    }
  }
  return forgeries;
}

/** Forgeries with a wrong signature. */
export const signatureForgeries: ForgeryTable[] = [
  ['rejects signatures of zeros, the order of the curve and its neighbours (J2)', edges],
  ['rejects signatures that are too short or too long (J2)', lengths],
  ['rejects a signature in another encoding or order (J2)', encodings],
  ['rejects a signature of other content or by another key (J2)', otherwiseSigned],
  ['rejects a token with one changed bit (J2)', flipped],
  ['rejects an HMAC with the public key or another public value as secret (J3)', hmacs],
];
