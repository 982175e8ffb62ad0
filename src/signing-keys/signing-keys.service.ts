import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config';
import { Notifications } from '../database/notifications.service';
import { KeyEncryption } from './signing-key-encryption';
import { reloadEverySeconds } from './signing-key-times';
import { SigningKeyRotation, signersOf } from './signing-key-rotation.service';
import { type SigningKeyRecord, SigningKeysRepository } from './signing-keys.repository';

/** The private key that signs access tokens, and its id. */
export interface SigningKey {
  kid: string;
  private_key: KeyObject;
}

/** A public key of the JWKS (RFC 7517). */
export interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y: string;
  kid: string;
  alg: string;
  use: string;
}

/** Minimum time between two reloads that tokens with unknown keys cause. */
const unknownReloadMs = 1_000;
/** Matches the header of our own tokens. */
const ownHeader = /^\{"alg":"ES256","typ":"at\+jwt","kid":"([A-Za-z0-9_-]{43})"\}$/;

/**
 * Provides the ES256 keys that sign and verify access tokens.
 * Loads them at the start, when a key is added or removed, and every 30 s (ADR 0009).
 */
@Injectable()
export class SigningKeysService implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(SigningKeysService.name);
  private readonly encryption: KeyEncryption;
  private publicKeys = new Map<string, KeyObject>();
  private jwks: { keys: PublicJwk[] } = { keys: [] };
  /** in descending order of `signsAt`, a time of the monotonic clock */
  private signers: (SigningKey & { signsAt: number })[] = [];
  private changeCount = 0;
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;
  private unknownReload: Promise<void> | null = null;
  private unknownReloadAt = -unknownReloadMs;
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly signingKeys: SigningKeysRepository,
    private readonly rotation: SigningKeyRotation,
    notifications: Notifications,
    @Inject(CONFIG) config: Config,
  ) {
    this.encryption = new KeyEncryption(config);
    notifications.on('signing_keys_changed', () => void this.tryReload());
    notifications.onGap(() => void this.tryReload());
  }

  async onModuleInit(): Promise<void> {
    await this.rotation.prepare();
    await this.reload();
    this.timer = setInterval(() => void this.tryReload(), reloadEverySeconds * 1_000).unref();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await (this.next ?? this.running)?.catch(() => undefined);
  }

  /**
   * Returns a number that increases when a key is added or removed. A verification that was cached
   * with another number is invalid.
   */
  get version(): number {
    return this.changeCount;
  }

  /** Returns the key that signs now. */
  signingKey(): SigningKey {
    const now = performance.now();
    const current = this.signers.find(({ signsAt }) => signsAt <= now) ?? this.signers.at(-1);
    if (current === undefined) throw new Error('there is no signing key that this instance can decrypt');
    return current;
  }

  /**
   * Returns the public key for the encoded header of a token, or null.
   * Accepts only the exact headers of our own tokens, so that the sender cannot choose `alg`,
   * `typ`, `kid`, `jwk`, `jku` or `crit` (RFC 8725 §3.1, §3.10, §3.11).
   */
  publicKeyFor(header: string): KeyObject | null {
    return this.publicKeys.get(header) ?? null;
  }

  /**
   * Returns the public key for the encoded header of a token. Includes retired keys.
   * Returns null if the key was revoked or never existed.
   */
  async findKey(header: string): Promise<KeyObject | null> {
    await this.learn(header);
    const kid = this.unknownKid(header);
    if (kid === null) return this.publicKeyFor(header);
    const public_jwk = await this.signingKeys.findPublicKey(kid);
    return public_jwk === null ? null : importPublic({ public_jwk });
  }

  /** Returns the public keys for `/.well-known/jwks.json` (RFC 7517). */
  publicKeySet(): { keys: PublicJwk[] } {
    return this.jwks;
  }

  /**
   * Reloads the keys if the header of a token has our format but an unknown key: another instance
   * may already sign with a new key. Reloads at most once per second, so that forged key ids cannot
   * overload the database.
   */
  async learn(header: string): Promise<void> {
    if (this.unknownKid(header) === null) return;
    if (performance.now() - this.unknownReloadAt >= unknownReloadMs) {
      this.unknownReloadAt = performance.now();
      this.unknownReload = this.reload();
    }
    await this.unknownReload;
  }

  /**
   * Loads the keys from the database. Calls during a load share the next load, because the current
   * load may have started before the change that the callers wait for.
   */
  reload(): Promise<void> {
    if (this.running === null) {
      this.running = this.load().finally(() => (this.running = null));
      return this.running;
    }
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = null;
        return this.reload();
      });
    return this.next;
  }

  /** Returns the key id in an encoded header if it has our format and the key is unknown. */
  private unknownKid(header: string): string | null {
    const text = Buffer.from(header, 'base64url');
    if (this.publicKeys.has(header) || text.toString('base64url') !== header) return null;
    return ownHeader.exec(text.toString())?.[1] ?? null;
  }

  private async tryReload(): Promise<void> {
    if (this.stopped) return;
    await this.reload().catch((error: unknown) => this.logger.error(`signing keys: could not load: ${String(error)}`));
  }

  private async load(): Promise<void> {
    const stored = await this.signingKeys.list();
    this.adopt(stored);
    if (stored.length > 0 && !stored.some(({ rotation_due }) => rotation_due)) return;
    await this.rotation.rotateIfDue();
    this.adopt(await this.signingKeys.list());
  }

  private adopt(stored: SigningKeyRecord[]): void {
    const publicKeys = new Map(
      stored.map((key) => [headerOf(key.kid), this.publicKeys.get(headerOf(key.kid)) ?? importPublic(key)]),
    );
    const changed =
      publicKeys.size !== this.publicKeys.size || [...publicKeys.keys()].some((header) => !this.publicKeys.has(header));
    const now = performance.now();
    this.signers = signersOf(stored).flatMap((key) => {
      const private_key = this.decryptKey(key);
      return private_key === null ? [] : [{ kid: key.kid, private_key, signsAt: now + key.signs_in_ms }];
    });
    if (!changed) return;
    this.publicKeys = publicKeys;
    this.jwks = { keys: stored.map(publicJwkOf) };
    this.changeCount++;
  }

  /**
   * Returns null for a key that this instance cannot decrypt. This happens while `APP_SECRET` is
   * being changed; the instance then signs with the other keys.
   */
  private decryptKey({ kid, private_key }: SigningKeyRecord): KeyObject | null {
    const known = this.signers.find((signer) => signer.kid === kid);
    if (known !== undefined) return known.private_key;
    const decrypted = this.encryption.decrypt(private_key);
    if (decrypted === null)
      this.logger.error(
        `signing keys: ${kid} was encrypted with another APP_SECRET: this instance cannot sign with it`,
      );
    return decrypted?.private_key ?? null;
  }
}

function importPublic({ public_jwk }: Pick<SigningKeyRecord, 'public_jwk'>): KeyObject {
  return createPublicKey({ key: public_jwk as JsonWebKey, format: 'jwk' });
}

function publicJwkOf({ kid, public_jwk }: SigningKeyRecord): PublicJwk {
  return { ...(public_jwk as Pick<PublicJwk, 'kty' | 'crv' | 'x' | 'y'>), kid, alg: 'ES256', use: 'sig' };
}

/** Returns the encoded header of the tokens that a key signs. */
function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url');
}
