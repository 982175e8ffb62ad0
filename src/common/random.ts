import { createHash, createHmac, type Hmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { v7 } from 'uuid';

/**
 * A new UUIDv7 (RFC 9562 §5.7): sorts by the time of its making, so that inserts stay local in the
 * primary key.
 */
export function newId(): string {
  return v7();
}

/** A name for a request: random, and several times as cheap as a UUIDv7. */
export function newRequestId(): string {
  return randomUUID();
}

/**
 * 256 random bits as 43 characters of base64url: a token for a link (OWASP ASVS 11.5.1 asks for
 * 128).
 */
export function mintToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * SHA-256 of a random token, for storage. Right for tokens of 256 random bits only; passwords go
 * through Argon2id.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * A 256-bit key for one purpose, derived from `APP_SECRET` by HKDF-SHA256 (RFC 5869), so that no
 * two uses share a key.
 */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'carrier-identity', purpose, 32));
}

/**
 * 53 bits of SHA-256 as a number: a text in eight bytes, where millions are remembered. Of ten
 * million, two have the same once in two hundred times.
 */
export function shortHash(text: string): number {
  const digest = createHash('sha256').update(text).digest();
  return digest.readUIntBE(0, 6) * 32 + ((digest[6] ?? 0) >> 3);
}

/**
 * HMAC-SHA256 (RFC 2104) of what may be guessed, such as texts that people chose: without the key
 * nobody can try guesses on it.
 */
export function createKeyedHash(key: Buffer): Hmac {
  return createHmac('sha256', key);
}
