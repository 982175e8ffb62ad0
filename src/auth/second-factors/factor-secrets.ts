import { deriveKey } from '../../platform/random';
import { seal, unseal } from '../../platform/sealing';
import type { Config } from '../../platform/config/config';

const keyIdBytes = 4;

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
    return Buffer.concat([this.current.id, seal(this.current.key, secret, textOf(owner))]);
  }

  /**
   * Returns the secret. Returns null if it was altered, belongs to another factor, or was encrypted
   * with another `APP_SECRET`.
   */
  decrypt(owner: SecretOwner, stored: Buffer): Buffer | null {
    const id = stored.subarray(0, keyIdBytes);
    const used = [this.current, this.previous].find((key) => key?.id.equals(id));
    return used ? unseal(used.key, stored.subarray(keyIdBytes), textOf(owner)) : null;
  }
}

function keyOf(secret: string): SecretKey {
  const id = deriveKey(secret, 'factor-secrets-key-id').subarray(0, keyIdBytes);
  return { id, key: deriveKey(secret, 'factor-secrets') };
}

function textOf({ user_id, factor_id }: SecretOwner): string {
  return `${user_id}:${factor_id}`;
}
