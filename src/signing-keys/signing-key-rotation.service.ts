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

/** What a rotation did. */
export interface Rotation {
  /** `none`: a successor was there already, and will sign soon enough */
  done: 'made' | 'advanced' | 'none';
  /** the key that signs next */
  kid: string;
  signs_from: Date;
  /** how many keys were revoked */
  revoked: number;
}

/** How a rotation is to be done. */
export interface RotationOptions {
  /** the successor signs as soon as every instance has it, not in a day */
  now?: boolean;
  /** all other keys stop verifying at once, and the successor signs at once */
  revoke?: boolean;
}

/**
 * Makes signing keys: one instance at a time, under a lock. Those that run learn of them by loading
 * the table (`SigningKeysService`).
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
   * At start: makes the first key, and encrypts those under the previous secret anew. @throws
   * ConfigError when a key that is to sign cannot be opened
   */
  @Transactional()
  async prepare(): Promise<void> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    if (stored.length === 0) await this.make(0);
    const signing = signersOf(stored);
    for (const key of stored) {
      const opened = this.encryption.open(key.private_key);
      if (opened === null && signing.includes(key))
        throw new ConfigError(['APP_SECRET: is not the one with which the signing key in this database was encrypted']);
      if (opened?.outdated === true)
        await this.signingKeys.updateEncryption(key.kid, this.encryption.encrypt(opened.private_key));
    }
  }

  /**
   * When the last key has signed for 29 days, makes its successor, which signs a day later; deletes
   * the rows of old ones.
   */
  @Transactional()
  async rotateIfDue(): Promise<void> {
    await this.signingKeys.lock();
    await this.signingKeys.deleteDispensable();
    const [last] = await this.signingKeys.list();
    if (last === undefined) await this.make(0);
    else if (last.signs_in_ms <= -rotateAfterSeconds * 1_000) await this.succeed(last.kid, announcedBeforeSeconds);
  }

  /** Makes a successor, or lets the one that is there sign sooner. */
  @Transactional()
  async rotate({ now = false, revoke = false }: RotationOptions): Promise<Rotation> {
    await this.signingKeys.lock();
    const stored = await this.signingKeys.list();
    const [last] = stored;
    const current = signersOf(stored).at(-1)?.kid ?? null;
    if (revoke) return this.revokeAll(current);
    if (last === undefined || last.signs_in_ms <= 0)
      return this.succeed(current, now ? publishedBeforeSeconds : announcedBeforeSeconds);
    const signs_from = now ? await this.signingKeys.advance(last.kid, publishedBeforeSeconds) : null;
    if (signs_from === null) return { done: 'none', kid: last.kid, signs_from: last.signs_from, revoked: 0 };
    await this.announce(current, { kid: last.kid, signs_from });
    return { done: 'advanced', kid: last.kid, signs_from, revoked: 0 };
  }

  /** Whoever has stolen the key that signs may have the one that was to follow, too. */
  private async revokeAll(current: string | null): Promise<Rotation> {
    const made = await this.make(0);
    const revoked = await this.signingKeys.deleteOthers(made.kid);
    await this.announce(current, made, revoked);
    return { done: 'made', ...made, revoked };
  }

  private async succeed(current: string | null, seconds: number): Promise<Rotation> {
    const made = await this.make(seconds);
    await this.announce(current, made);
    return { done: 'made', ...made, revoked: 0 };
  }

  private async make(seconds: number): Promise<Pick<Rotation, 'kid' | 'signs_from'>> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const public_jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(public_jwk);
    const key = { kid, public_jwk: { ...public_jwk }, private_key: this.encryption.encrypt(privateKey) };
    return { kid, signs_from: await this.signingKeys.insert(key, seconds) };
  }

  /** In the transaction of the change; a trigger tells the instances. */
  private async announce(
    before: string | null,
    { kid, signs_from }: Pick<Rotation, 'kid' | 'signs_from'>,
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
 * Of keys in the order of the repository, those that sign later, and at last the one that signs
 * now.
 */
export function signersOf(stored: SigningKeyRecord[]): SigningKeyRecord[] {
  const current = stored.findIndex(({ signs_in_ms }) => signs_in_ms <= 0);
  return current < 0 ? stored : stored.slice(0, current + 1);
}
