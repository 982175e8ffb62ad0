import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { type Forgeries, type ForgeryTable, type TokenForger, tokensOf } from '../token-forger';
import { encode, es256 } from '../tokens';

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
  const signatures: Record<string, Buffer> = {};
  for (const [name, number] of Object.entries(numbers)) {
    const edge = Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
    signatures[`r ${name}`] = Buffer.concat([edge, s]);
    signatures[`s ${name}`] = Buffer.concat([r, edge]);
    signatures[`both ${name}`] = Buffer.concat([edge, edge]);
  }
  return under(forger, signatures);
}

function encodings(forger: TokenForger): Forgeries {
  const [r, s] = numbersOf(forger);
  const genuine = Buffer.concat([r, s]);
  const zeros = Buffer.alloc(1);
  const number = (value: Buffer) => Buffer.concat([Buffer.from([2, value.length + 1, 0]), value]);
  const der = Buffer.concat([Buffer.from([0x30, 70]), number(r), number(s)]);
  return under(forger, {
    none: Buffer.alloc(0),
    'r alone': r,
    'too short': genuine.subarray(0, 63),
    'a zero behind': Buffer.concat([genuine, zeros]),
    'a zero before': Buffer.concat([zeros, genuine]),
    DER: der,
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
  const byCurve = (namedCurve: string) =>
    sign('sha256', signed, { key: generateKeyPairSync('ec', { namedCurve }).privateKey, dsaEncoding: 'ieee-p1363' });
  return {
    ...under(forger, {
      'of the header': es256(head, key),
      'of the payload': es256(payload, key),
      'with a last dot': es256(`${head}.${payload}.`, key),
      'with SHA-384': sign('sha384', signed, { key, dsaEncoding: 'ieee-p1363' }),
      'of another token': service.admin.token.split('.')[2] as string,
      'a stranger on P-256': byCurve('P-256'),
      'a stranger on P-384': byCurve('P-384'),
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
  const pem = published.export({ type: 'spki', format: 'pem' }).toString();
  const secrets: Record<string, string | Buffer> = {
    PEM: pem,
    'PEM without the last newline': pem.trimEnd(),
    DER: published.export({ type: 'spki', format: 'der' }),
    x: Buffer.from(body.keys[0].x, 'base64url'),
    JWK: JSON.stringify(body.keys[0]),
    JWKS: JSON.stringify(body),
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

/** Forgeries with a wrong signature. */
export const signatureForgeries: ForgeryTable[] = [
  ['rejects signatures of zeros, the order of the curve and its neighbours (J2)', edges],
  ['rejects a signature of another length, encoding or order (J2)', encodings],
  ['rejects a signature of other content or by another key (J2)', otherwiseSigned],
  ['rejects an HMAC with the public key or another public value as secret (J3)', hmacs],
];
