import { createCipheriv, createDecipheriv, createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { deriveKey } from '../common/random';
import type { Config } from '../config/config';

const nonceBytes = 12;
const tagBytes = 16;

/** A decrypted private key. */
export interface DecryptedKey {
  private_key: KeyObject;
  /** true if it is still encrypted with `APP_SECRET_PREVIOUS` */
  outdated: boolean;
}

/**
 * Encrypts private keys with a key derived from `APP_SECRET` (AES-256-GCM).
 * Also decrypts private keys that were encrypted with `APP_SECRET_PREVIOUS`.
 */
export class KeyEncryption {
  private readonly current: Buffer;
  private readonly previous: Buffer | null;

  constructor({ APP_SECRET, APP_SECRET_PREVIOUS }: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>) {
    this.current = deriveKey(APP_SECRET, 'signing-keys');
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : deriveKey(APP_SECRET_PREVIOUS, 'signing-keys');
  }

  /** Returns nonce, tag and ciphertext of a private key. */
  encrypt(key: KeyObject): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.current, nonce);
    const sealed = Buffer.concat([cipher.update(key.export({ type: 'pkcs8', format: 'der' })), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** Returns the private key, or null if it was altered or encrypted with another secret. */
  decrypt(stored: Buffer): DecryptedKey | null {
    const private_key = decryptWith(this.current, stored);
    if (private_key !== null) return { private_key, outdated: false };
    const previous = this.previous === null ? null : decryptWith(this.previous, stored);
    return previous === null ? null : { private_key: previous, outdated: true };
  }
}

function decryptWith(secret: Buffer, stored: Buffer): KeyObject | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', secret, stored.subarray(0, nonceBytes));
    decipher.setAuthTag(stored.subarray(nonceBytes, nonceBytes + tagBytes));
    const key = Buffer.concat([decipher.update(stored.subarray(nonceBytes + tagBytes)), decipher.final()]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  } catch {
    return null;
  }
}
