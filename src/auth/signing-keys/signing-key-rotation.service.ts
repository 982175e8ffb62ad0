import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { calculateJwkThumbprint } from 'jose';
import { systemActor } from '../../access/actor';
import { CONFIG, type Config, ConfigError } from '../../platform/config/config';
import { deriveKey } from '../../platform/random';
import { seal, unseal } from '../../platform/sealing';
import { EventsService } from '../../audit/events.service';
import { announcedBeforeSeconds, isKept, publishedBeforeSeconds, rotateAfterSeconds } from './signing-key-times';
import { type SigningKeyRecord, SigningKeysRepository } from './signing-keys.repository';

/** Result of a rotation. */
export interface RotationResult {
  /** false if a scheduled key already signs soon enough */
  created: boolean;
  /** the key that signs next */
  kid: string;
  signs_from: Date;
  /** number of revoked keys */
  revoked: number;
}

/** Options of a rotation. */
export interface RotationOptions {
  /** the new key signs as soon as all instances have loaded it, instead of after a day */
  now?: boolean;
  /** the new key signs immediately, and all other keys are revoked */
  revoke?: boolean;
}

/**
 * Creates, encrypts and revokes signing keys, one instance at a time under a lock.
 * `SigningKeysService` loads the keys on all instances.
 */
@Injectable()
export class SigningKeyRotation {
  private readonly secret: Buffer;
  private readonly previousSecret: Buffer | null;

  constructor(
    private readonly signingKeys: SigningKeysRepository,
    private readonly events: EventsService,
    @Inject(CONFIG) { APP_SECRET, APP_SECRET_PREVIOUS }: Config,
  ) {
    this.secret = deriveKey(APP_SECRET, 'signing-keys');
    this.previousSecret = APP_SECRET_PREVIOUS === undefined ? null : deriveKey(APP_SECRET_PREVIOUS, 'signing-keys');
  }

  /**
   * Encrypts keys of `APP_SECRET_PREVIOUS` with `APP_SECRET`, at the start of the service.
   * @throws ConfigError if a key that signs now or later cannot be decrypted
   */
  @Transactional()
  async prepare(): Promise<void> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    if (signersOf(stored).some(({ private_key }) => this.unseal(private_key) === null))
      throw new ConfigError(['APP_SECRET: differs from the secret that encrypted the signing key in this database']);
    for (const { kid, private_key } of stored) {
      const outdated = unseal(this.secret, private_key) === null ? this.unseal(private_key) : null;
      if (outdated !== null) await this.signingKeys.updateEncryption(kid, seal(this.secret, outdated));
    }
  }

  /**
   * Creates the first key, which signs immediately. Once the last key has signed for 29 days,
   * creates the next key, which signs a day later. Deletes the rows of keys that `isKept` rejects.
   */
  @Transactional()
  async rotateIfDue(): Promise<void> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    await this.signingKeys.delete(stored.filter((key) => !isKept(key)).map(({ kid }) => kid));
    const [last] = stored;
    if (last === undefined) await this.create(stored, 0);
    else if (last.signs_in_ms <= -rotateAfterSeconds * 1_000) await this.create(stored, announcedBeforeSeconds);
  }

  /** Creates the next key, unless a scheduled key signs soon enough. */
  @Transactional()
  async rotate({ now = false, revoke = false }: RotationOptions): Promise<RotationResult> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    // A thief of the current key may also have stolen a scheduled key.
    if (revoke) return this.create(stored, 0, true);
    const seconds = now ? publishedBeforeSeconds : announcedBeforeSeconds;
    // Tolerates 5 s: `now()` is the start of the transaction, which may have waited for the lock.
    const isSoon = ({ signs_in_ms }: SigningKeyRecord) => signs_in_ms > 0 && signs_in_ms <= (seconds + 5) * 1_000;
    const next = stored.filter(isSoon).at(-1);
    if (next === undefined) return this.create(stored, seconds);
    return { created: false, kid: next.kid, signs_from: next.signs_from, revoked: 0 };
  }

  /** Returns a private key, or null if it was altered or encrypted with another secret. */
  decrypt(private_key: Buffer): KeyObject | null {
    const key = this.unseal(private_key);
    return key && createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  }

  private unseal(private_key: Buffer): Buffer | null {
    return unseal(this.secret, private_key) ?? (this.previousSecret && unseal(this.previousSecret, private_key));
  }

  /** Creates a key that signs after a number of seconds, and records it unless it is the first. */
  private async create(stored: SigningKeyRecord[], seconds: number, revokesOthers = false): Promise<RotationResult> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const public_jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(public_jwk);
    const private_key = seal(this.secret, privateKey.export({ type: 'pkcs8', format: 'der' }));
    const signs_from = await this.signingKeys.insert({ kid, public_jwk: { ...public_jwk }, private_key }, seconds);
    const revoked = revokesOthers ? stored.length : 0;
    if (revokesOthers) await this.signingKeys.delete(stored.map((key) => key.kid));
    const current = signersOf(stored).at(-1);
    if (current !== undefined)
      await this.events.record(
        systemActor,
        'signing_key.rotated',
        {},
        {
          kid: { before: current.kid, after: kid },
          signs_from: { after: signs_from },
          ...(revoked > 0 && { revoked: { after: revoked } }),
        },
      );
    return { created: true, kid, signs_from, revoked };
  }
}

/**
 * Returns the keys that sign later, followed by the key that signs now.
 * @param stored keys in the order of the repository
 */
export function signersOf(stored: SigningKeyRecord[]): SigningKeyRecord[] {
  const current = stored.findIndex(({ signs_in_ms }) => signs_in_ms <= 0);
  return current < 0 ? stored : stored.slice(0, current + 1);
}
