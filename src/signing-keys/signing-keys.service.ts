import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config';
import { Notifications } from '../database/notifications.service';
import { KeyEncryption } from './signing-key-encryption';
import { reloadEverySeconds } from './signing-key-times';
import { SigningKeyRotation, signersOf } from './signing-key-rotation.service';
import { type SigningKeyRecord, SigningKeysRepository } from './signing-keys.repository';

/** The key that signs, and the header that every token signed by it has. */
export interface SigningKey {
  kid: string;
  private_key: KeyObject;
}

/** Unknown headers make this instance look for new keys at most once in this time. */
const learnEveryMs = 1_000;
const ownHeader = /^\{"alg":"ES256","typ":"at\+jwt","kid":"([A-Za-z0-9_-]{43})"\}$/;

/**
 * The ES256 key pairs that sign and verify access tokens, as this instance knows them: loaded at
 * start, when one is added or removed, and every 30 s (ADR 0009).
 */
@Injectable()
export class SigningKeysService implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(SigningKeysService.name);
  private readonly encryption: KeyEncryption;
  private publicKeys = new Map<string, KeyObject>();
  private jwks: { keys: JsonWebKey[] } = { keys: [] };
  /**
   * the last to sign first, each with the moment from which it signs, by a clock that nobody sets
   */
  private signers: (SigningKey & { signsAt: number })[] = [];
  private changes = 0;
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;
  private learning: Promise<void> | null = null;
  private learnedAt = -learnEveryMs;
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
   * Grows whenever a key is added or removed: what was verified under another number is to be
   * verified anew.
   */
  get version(): number {
    return this.changes;
  }

  /** The key that signs at this moment. */
  signingKey(): SigningKey {
    const now = performance.now();
    const current = this.signers.find(({ signsAt }) => signsAt <= now) ?? this.signers.at(-1);
    if (current === undefined) throw new Error('there is no signing key that this instance can open');
    return current;
  }

  /**
   * The public key for the first part of a token. Only headers that we write ourselves are known,
   * byte for byte, so that `alg`, `typ`, `kid`, `jwk`, `jku`, `crit` and the like are never up to
   * the sender (RFC 8725 §3.1, §3.10, §3.11).
   */
  publicKeyFor(header: string): KeyObject | null {
    return this.publicKeys.get(header) ?? null;
  }

  /**
   * Returns the key that the first part of a token names, retired keys included.
   * Returns null if the key was revoked or never existed.
   */
  async findKey(header: string): Promise<KeyObject | null> {
    await this.learn(header);
    const kid = this.unknownKid(header);
    if (kid === null) return this.publicKeyFor(header);
    const public_jwk = await this.signingKeys.findPublicKey(kid);
    return public_jwk === null ? null : importPublic({ public_jwk });
  }

  /** The public keys, as `/.well-known/jwks.json` shows them (RFC 7517). */
  publicKeySet(): { keys: JsonWebKey[] } {
    return this.jwks;
  }

  /**
   * Looks for new keys when the first part of a token is not known although it has our form:
   * another instance may have begun to sign with one. All who ask within a second share one load,
   * so that forged ids of keys cannot load the database.
   */
  async learn(header: string): Promise<void> {
    if (this.unknownKid(header) === null) return;
    if (performance.now() - this.learnedAt >= learnEveryMs) {
      this.learnedAt = performance.now();
      this.learning = this.reload();
    }
    await this.learning;
  }

  /**
   * Loads the keys as they are in the database now. Calls that come while one is under way share
   * the one after it, since that one may have begun too early.
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

  /**
   * Returns the key id in the first part of a token if the part has our form and the key is
   * unknown.
   */
  private unknownKid(header: string): string | null {
    const text = Buffer.from(header, 'base64url');
    if (this.publicKeys.has(header) || text.toString('base64url') !== header) return null;
    return ownHeader.exec(text.toString())?.[1] ?? null;
  }

  private async tryReload(): Promise<void> {
    if (this.stopped) return;
    await this.reload().catch((error: unknown) => this.logger.error(`signing keys: not loaded: ${String(error)}`));
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
      const private_key = this.openKey(key);
      return private_key === null ? [] : [{ kid: key.kid, private_key, signsAt: now + key.signs_in_ms }];
    });
    if (!changed) return;
    this.publicKeys = publicKeys;
    this.jwks = { keys: stored.map((key) => ({ ...key.public_jwk, kid: key.kid, alg: 'ES256', use: 'sig' })) };
    this.changes++;
  }

  /**
   * While `APP_SECRET` is changed, an instance may meet a key that it cannot open: it goes on with
   * those that it has.
   */
  private openKey({ kid, private_key }: SigningKeyRecord): KeyObject | null {
    const known = this.signers.find((signer) => signer.kid === kid);
    if (known !== undefined) return known.private_key;
    const opened = this.encryption.open(private_key);
    if (opened === null)
      this.logger.error(
        `signing keys: ${kid} was encrypted under another APP_SECRET: this instance cannot sign with it`,
      );
    return opened?.private_key ?? null;
  }
}

function importPublic({ public_jwk }: Pick<SigningKeyRecord, 'public_jwk'>): KeyObject {
  return createPublicKey({ key: public_jwk as JsonWebKey, format: 'jwk' });
}

/** The first part of every token that a key signs. */
function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url');
}
