import { createKeyedHash, deriveKey, mintToken } from '../platform/random';
import { seal, unseal } from '../platform/sealing';
import type { Config } from '../platform/config/config';

const prefix = 'whsec_';

/** Encrypted secrets of a webhook. */
interface StoredSecrets {
  webhook_id: string;
  secret: Buffer;
  old_secret: Buffer | null;
}

/**
 * Mints, encrypts and uses the secrets of webhooks. A key derived from `APP_SECRET` encrypts them
 * (AES-256-GCM), like signing keys. The id of the webhook is authenticated with the ciphertext: a
 * ciphertext that was copied to another webhook cannot be decrypted.
 */
export class WebhookSecrets {
  private readonly key: Buffer;
  private readonly previous: Buffer | null;

  constructor({ APP_SECRET, APP_SECRET_PREVIOUS }: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>) {
    this.key = deriveKey(APP_SECRET, 'webhook-secrets');
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : deriveKey(APP_SECRET_PREVIOUS, 'webhook-secrets');
  }

  /** Returns a new secret, in the form for the receiver and encrypted. */
  mint(webhook_id: string): { secret: string; sealed: Buffer } {
    const bytes = Buffer.from(mintToken(), 'base64url');
    return { secret: prefix + bytes.toString('base64'), sealed: seal(this.key, bytes, webhook_id) };
  }

  /**
   * Returns the secrets encrypted with `APP_SECRET` if one of them was encrypted with
   * `APP_SECRET_PREVIOUS`, otherwise null.
   */
  renew({ webhook_id, secret, old_secret }: StoredSecrets): Omit<StoredSecrets, 'webhook_id'> | null {
    let isOutdated = false;
    const renewed = (stored: Buffer) => {
      const bytes = unseal(this.key, stored, webhook_id) === null ? this.open(webhook_id, stored) : null;
      if (bytes === null) return stored;
      isOutdated = true;
      return seal(this.key, bytes, webhook_id);
    };
    const secrets = { secret: renewed(secret), old_secret: old_secret && renewed(old_secret) };
    return isOutdated ? secrets : null;
  }

  /**
   * Returns the headers of a request, signed with each secret (Standard Webhooks 1.0). Returns null
   * if no secret can be decrypted.
   * @param seconds time of the attempt, in seconds since 1970
   * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
   */
  sign(
    { webhook_id, secret, old_secret }: StoredSecrets,
    id: string,
    seconds: number,
    body: string,
  ): Record<string, string> | null {
    const keys = [secret, old_secret].flatMap((stored) => (stored && this.open(webhook_id, stored)) ?? []);
    if (keys.length === 0) return null;
    const signature = (key: Buffer) => createKeyedHash(key).update(`${id}.${seconds}.${body}`).digest('base64');
    return {
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': keys.map((key) => `v1,${signature(key)}`).join(' '),
    };
  }

  private open(webhook_id: string, stored: Buffer): Buffer | null {
    return unseal(this.key, stored, webhook_id) ?? (this.previous && unseal(this.previous, stored, webhook_id));
  }
}
