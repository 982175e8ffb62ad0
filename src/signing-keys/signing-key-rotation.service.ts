import { generateKeyPairSync } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { calculateJwkThumbprint } from 'jose';
import { systemActor } from '../access/actor';
import { CONFIG, type Config, ConfigError } from '../config/config';
import { EventsService } from '../events/events.service';
import { KeyEncryption } from './signing-key-encryption';
import { announcedBeforeSeconds, publishedBeforeSeconds, rotateAfterSeconds } from './signing-key-times';
import { type SigningKeyRecord, SigningKeysRepository } from './signing-keys.repository';

/** Result of a rotation. */
export interface RotationResult {
  /** `none`: the existing successor already signs soon enough */
  done: 'created' | 'advanced' | 'none';
  /** the key that signs next */
  kid: string;
  signs_from: Date;
  /** number of revoked keys */
  revoked: number;
}

/** Options of a rotation. */
export interface RotationOptions {
  /** the successor signs as soon as all instances have loaded it, instead of after a day */
  now?: boolean;
  /** the successor signs immediately, and all other keys are revoked */
  revoke?: boolean;
}

/**
 * Creates and revokes signing keys, one instance at a time under a lock.
 * `SigningKeysService` loads the keys on all instances.
 */
@Injectable()
export class SigningKeyRotation {
  private readonly encryption: KeyEncryption;

  constructor(
    private readonly signingKeys: SigningKeysRepository,
    private readonly events: EventsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.encryption = new KeyEncryption(config);
  }

  /**
   * Creates the first key at the start of the service. Re-encrypts keys of the previous secret.
   * @throws ConfigError if a key that signs now or later cannot be decrypted
   */
  @Transactional()
  async prepare(): Promise<void> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    if (stored.length === 0) await this.create(0);
    const signing = signersOf(stored);
    for (const key of stored) {
      const decrypted = this.encryption.decrypt(key.private_key);
      if (decrypted === null && signing.includes(key))
        throw new ConfigError(['APP_SECRET: differs from the secret that encrypted the signing key in this database']);
      if (decrypted?.outdated === true)
        await this.signingKeys.updateEncryption(key.kid, this.encryption.encrypt(decrypted.private_key));
    }
  }

  /**
   * Creates the next key once the last key has signed for 29 days; the next key signs a day later.
   * Deletes the rows of keys that were retired long ago.
   */
  @Transactional()
  async rotateIfDue(): Promise<void> {
    await this.signingKeys.lock();
    await this.signingKeys.deleteRetired();
    const [last] = await this.signingKeys.list();
    if (last === undefined) await this.create(0);
    else if (last.signs_in_ms <= -rotateAfterSeconds * 1_000)
      await this.createSuccessor(last.kid, announcedBeforeSeconds);
  }

  /** Creates a successor, or lets the existing successor sign earlier. */
  @Transactional()
  async rotate({ now = false, revoke = false }: RotationOptions): Promise<RotationResult> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    const [last] = stored;
    const current = signersOf(stored).at(-1)?.kid ?? null;
    if (revoke) return this.revokeAll(current);
    if (last === undefined || last.signs_in_ms <= 0)
      return this.createSuccessor(current, now ? publishedBeforeSeconds : announcedBeforeSeconds);
    const signs_from = now ? await this.signingKeys.advance(last.kid, publishedBeforeSeconds) : null;
    if (signs_from === null) return { done: 'none', kid: last.kid, signs_from: last.signs_from, revoked: 0 };
    await this.record(current, { kid: last.kid, signs_from });
    return { done: 'advanced', kid: last.kid, signs_from, revoked: 0 };
  }

  /**
   * Creates a key that signs immediately, and revokes all others: a thief of the current key may
   * also have the scheduled successor.
   */
  private async revokeAll(current: string | null): Promise<RotationResult> {
    const created = await this.create(0);
    const revoked = await this.signingKeys.deleteOthers(created.kid);
    await this.record(current, created, revoked);
    return { done: 'created', ...created, revoked };
  }

  private async createSuccessor(current: string | null, seconds: number): Promise<RotationResult> {
    const created = await this.create(seconds);
    await this.record(current, created);
    return { done: 'created', ...created, revoked: 0 };
  }

  private async create(seconds: number): Promise<Pick<RotationResult, 'kid' | 'signs_from'>> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const public_jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(public_jwk);
    const key = { kid, public_jwk: { ...public_jwk }, private_key: this.encryption.encrypt(privateKey) };
    return { kid, signs_from: await this.signingKeys.insert(key, seconds) };
  }

  private async record(
    before: string | null,
    { kid, signs_from }: Pick<RotationResult, 'kid' | 'signs_from'>,
    revoked = 0,
  ): Promise<void> {
    const changes = {
      kid: { before, after: kid },
      signs_from: { after: signs_from },
      ...(revoked === 0 ? {} : { revoked: { after: revoked } }),
    };
    await this.events.record(systemActor, 'signing_key.rotated', { type: 'signing_key' }, changes);
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
