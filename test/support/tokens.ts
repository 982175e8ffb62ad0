import { type KeyObject, sign } from 'node:crypto';
import { SigningKeysService } from '../../src/signing-keys/signing-keys.service';
import type { TestAnswer, TestService } from './service';

/** base64url of a text, of bytes, or of the JSON of anything else. */
export function encode(part: unknown): string {
  const bytes = typeof part === 'string' || Buffer.isBuffer(part) ? part : JSON.stringify(part);
  return Buffer.from(bytes as string).toString('base64url');
}

/** What one of the three parts of a token says. */
export function decode(token: string, part: 0 | 1 = 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[part] ?? '', 'base64url').toString()) as Record<string, unknown>;
}

/** The ES256 signature of a text as JWS wants it (RFC 7518 §3.4). */
export function es256(text: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

/**
 * A token of these parts, rightly signed; texts are taken as they are, so that a part can be
 * malformed JSON.
 */
export function forge(header: unknown, payload: unknown, key: KeyObject): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${es256(signed, key)}`;
}

/**
 * The service's own key, and the header of its tokens: what only somebody who has stolen the key
 * can do.
 */
export function ownKey(service: TestService): { key: KeyObject; header: Record<string, string> } {
  const { kid, private_key } = service.app.get(SigningKeysService).signingKey();
  return { key: private_key, header: { alg: 'ES256', typ: 'at+jwt', kid } };
}

/**
 * All of an answer that a stranger can tell apart: status, headers in their order, body. Only what
 * names the request itself is left out.
 */
export function visiblePart({ status, headers, body }: TestAnswer): object {
  const shown = Object.entries(headers).filter(
    ([name]) => !['x-request-id', 'date', 'connection', 'keep-alive', 'content-length'].includes(name),
  );
  return { status, headers: shown, body: { ...body, request_id: undefined, instance: undefined } };
}
