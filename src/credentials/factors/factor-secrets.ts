import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deriveKey } from '../../common/random';
import type { Config } from '../../config/config';

const keyIdBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

/** Identifies the factor that a secret belongs to. */
export interface SecretOwner {
  user_id: string;
  factor_id: string;
}

interface SecretKey {
  /** begins each ciphertext of the key, so that SQL can find the ciphertexts of another key */
  id: Buffer;
  key: Buffer;
}

/**
 * Encrypts the secrets of authenticator apps with a key derived from `APP_SECRET` (AES-256-GCM).
 * Also decrypts secrets that were encrypted with `APP_SECRET_PREVIOUS`.
 * The ids of the user and the factor are authenticated with the ciphertext. A ciphertext that was
 * copied to another factor cannot be decrypted.
 */
export class FactorSecrets {
  private readonly current: SecretKey;
  private readonly previous: SecretKey | null;

  constructor({ APP_SECRET, APP_SECRET_PREVIOUS }: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>) {
    this.current = keyOf(APP_SECRET);
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : keyOf(APP_SECRET_PREVIOUS);
  }

  /** Returns the id of the key that encrypts: the first bytes of its ciphertexts. */
  get keyId(): Buffer {
    return this.current.id;
  }

  /** Returns key id, nonce, tag and ciphertext of a secret. */
  encrypt(owner: SecretOwner, secret: Buffer): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.current.key, nonce).setAAD(ownerBytes(owner));
    const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
    return Buffer.concat([this.current.id, nonce, cipher.getAuthTag(), sealed]);
  }

  /**
   * Returns the secret. Returns null if it was altered, belongs to another factor, or was encrypted
   * with another `APP_SECRET`.
   */
  decrypt(owner: SecretOwner, stored: Buffer): Buffer | null {
    const id = stored.subarray(0, keyIdBytes);
    const used = [this.current, this.previous].find((key) => key?.id.equals(id));
    if (used === undefined || used === null) return null;
    const nonce = stored.subarray(keyIdBytes, keyIdBytes + nonceBytes);
    const rest = stored.subarray(keyIdBytes + nonceBytes);
    try {
      const decipher = createDecipheriv('aes-256-gcm', used.key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(ownerBytes(owner)).setAuthTag(rest.subarray(0, tagBytes));
      return Buffer.concat([decipher.update(rest.subarray(tagBytes)), decipher.final()]);
    } catch {
      return null;
    }
  }
}

function keyOf(secret: string): SecretKey {
  const id = deriveKey(secret, 'factor-secrets-key-id').subarray(0, keyIdBytes);
  return { id, key: deriveKey(secret, 'factor-secrets') };
}

function ownerBytes({ user_id, factor_id }: SecretOwner): Buffer {
  return Buffer.from(`${user_id}:${factor_id}`);
}
