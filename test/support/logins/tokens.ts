import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { deriveKey } from '../../../src/platform/random';
import { unseal } from '../../../src/platform/sealing';
import type { TestAnswer, TestService } from '../service';

/** Returns the base64url form of a text, of bytes, or of any other value as JSON. */
export function encode(part: unknown): string {
  const bytes = typeof part === 'string' || Buffer.isBuffer(part) ? part : JSON.stringify(part);
  return Buffer.from(bytes as string).toString('base64url');
}

/** Returns the content of a part of a token. */
export function decode(token: string, part: 0 | 1 = 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[part] ?? '', 'base64url').toString()) as Record<string, unknown>;
}

/** Returns the ES256 signature of a text (RFC 7518 §3.4). */
export function es256(text: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

/**
 * Returns a token of these parts with a valid signature. A text is used as is, so that a part can
 * be malformed JSON.
 */
export function forge(header: unknown, payload: unknown, key: KeyObject): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${es256(signed, key)}`;
}

/**
 * Returns the signing key of the service and the header of its tokens, as after a theft of the key.
 */
export async function ownKey({
  sql,
  config,
}: TestService): Promise<{ key: KeyObject; header: Record<string, string> }> {
  const { rows } = await sql.query<{ kid: string; private_key: Buffer }>(`
    select kid, private_key
    from signing_keys
    where signs_from <= now()
    order by signs_from desc
    limit 1`);
  const { kid, private_key } = rows[0] as (typeof rows)[0];
  const key = unseal(deriveKey(config.APP_SECRET, 'signing-keys'), private_key) as Buffer;
  return {
    key: createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
    header: { alg: 'ES256', typ: 'at+jwt', kid },
  };
}

/**
 * Returns all distinguishable parts of a response: status, ordered headers and body, without the
 * request id.
 */
export function visiblePart({ status, headers, body }: TestAnswer): object {
  const shown = Object.entries(headers).filter(
    ([name]) => !['x-request-id', 'date', 'connection', 'keep-alive', 'content-length'].includes(name),
  );
  return { status, headers: shown, body: { ...body, request_id: undefined, instance: undefined } };
}

/** Order of the group of P-256 (FIPS 186-5). */
const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * Returns the other valid text of an ES256 token: with the signature `(r, n - s)`. Half of all
 * signatures have a high `s`, so both forms must be accepted.
 */
export function withOtherSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = p256Order - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
  return `${header}.${payload}.${other.toString('base64url')}`;
}
