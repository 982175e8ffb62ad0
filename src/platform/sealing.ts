import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts a secret with AES-256-GCM. Returns nonce, tag and ciphertext.
 * @param owner authenticated with the ciphertext, which cannot be decrypted for another owner
 */
export function seal(key: Buffer, secret: Buffer, owner = ''): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Decrypts a secret. Returns null if it was altered, or encrypted for another key or owner. */
export function unseal(key: Buffer, stored: Buffer, owner = ''): Buffer | null {
  const [nonce, rest] = [stored.subarray(0, nonceBytes), stored.subarray(nonceBytes)];
  try {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(owner)).setAuthTag(rest.subarray(0, tagBytes));
    return Buffer.concat([decipher.update(rest.subarray(tagBytes)), decipher.final()]);
  } catch {
    return null;
  }
}
