import { createCipheriv, createDecipheriv, createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { deriveKey } from '../common/random';
import type { Config } from '../config/config';

const nonceBytes = 12;
const tagBytes = 16;

/** A private key that was encrypted at rest. */
export interface OpenedKey {
  private_key: KeyObject;
  /** encrypted under `APP_SECRET_PREVIOUS`, not under `APP_SECRET` */
  outdated: boolean;
}

/**
 * Encrypts private keys under a key from `APP_SECRET` (AES-256-GCM), and opens those under
 * `APP_SECRET_PREVIOUS` too.
 */
export class KeyEncryption {
  private readonly current: Buffer;
  private readonly previous: Buffer | null;

  constructor({ APP_SECRET, APP_SECRET_PREVIOUS }: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>) {
    this.current = deriveKey(APP_SECRET, 'signing-keys');
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : deriveKey(APP_SECRET_PREVIOUS, 'signing-keys');
  }

  /** Nonce, tag and ciphertext of a key. */
  encrypt(key: KeyObject): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.current, nonce);
    const sealed = Buffer.concat([cipher.update(key.export({ type: 'pkcs8', format: 'der' })), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** The key again; null when it was encrypted under neither secret, or altered. */
  open(stored: Buffer): OpenedKey | null {
    const private_key = decrypt(this.current, stored);
    if (private_key !== null) return { private_key, outdated: false };
    const earlier = this.previous === null ? null : decrypt(this.previous, stored);
    return earlier === null ? null : { private_key: earlier, outdated: true };
  }
}

function decrypt(secret: Buffer, stored: Buffer): KeyObject | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', secret, stored.subarray(0, nonceBytes));
    decipher.setAuthTag(stored.subarray(nonceBytes, nonceBytes + tagBytes));
    const key = Buffer.concat([decipher.update(stored.subarray(nonceBytes + tagBytes)), decipher.final()]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  } catch {
    return null;
  }
}
