import { createHash, createHmac, type Hmac, hkdfSync, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { v7 } from 'uuid';

/**
 * Returns a new UUIDv7 (RFC 9562 §5.7).
 * Ids sort by time, which keeps inserts local in the index.
 */
export function newId(): string {
  return v7();
}

/** Returns a random request id. Several times cheaper than a UUIDv7. */
export function newRequestId(): string {
  return randomUUID();
}

/** Returns a token of 256 random bits in base64url (OWASP ASVS 11.5.1 requires 128 bits). */
export function mintToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 of a random token, for storage. Not for passwords, which need Argon2id. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Returns whether two random secrets are the same. Takes the same time wherever they differ, and
 * for any length of the expected secret (CWE-208).
 */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(expected));
}

/** Derives a 256-bit key for one purpose from `APP_SECRET` (HKDF-SHA256, RFC 5869). */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'carrier-identity', purpose, 32));
}

/**
 * Creates an HMAC-SHA256 (RFC 2104) for guessable texts, such as text that people chose.
 * Guesses cannot be tested without the key.
 */
export function createKeyedHash(key: Buffer): Hmac {
  return createHmac('sha256', key);
}
