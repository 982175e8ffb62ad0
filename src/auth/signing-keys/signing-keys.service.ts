import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Notifications } from '../../platform/database/notifications.service';
import { SharedRuns } from '../../platform/shared-runs';
import type { JwkResponse, JwksResponse } from '../auth.dto';
import { isKept, reloadEverySeconds, rotateAfterSeconds, verifies } from './signing-key-times';
import { SigningKeyRotation, signersOf } from './signing-key-rotation.service';
import { type SigningKeyRecord, SigningKeysRepository } from './signing-keys.repository';

/** The private key that signs access tokens, and its id. */
export interface SigningKey {
  kid: string;
  private_key: KeyObject;
}

/**
 * Provides the ES256 keys that sign and verify access tokens.
 * Loads them at the start, when a key is added or removed, and every 30 s (ADR 0009).
 */
@Injectable()
export class SigningKeysService implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(SigningKeysService.name);
  /** all keys, by the encoded header of their tokens */
  private publicKeys = new Map<string, { key: KeyObject; verifies: boolean }>();
  private jwks: JwksResponse = { keys: [] };
  /** in descending order of `signsAt`, a time of the monotonic clock */
  private signers: (SigningKey & { signsAt: number })[] = [];
  private changeCount = 0;
  private readonly loads = new SharedRuns(() => this.tryLoad());
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly signingKeys: SigningKeysRepository,
    private readonly rotation: SigningKeyRotation,
    notifications: Notifications,
  ) {
    notifications.on('signing_keys_changed', () => void this.reload());
    notifications.onGap(() => void this.reload());
  }

  async onModuleInit(): Promise<void> {
    await this.rotation.prepare();
    await this.load();
    this.timer = setInterval(() => void this.reload(), reloadEverySeconds * 1_000).unref();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.reload();
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
   * @param retired also accepts a key that was retired by a rotation, but not a revoked key
   */
  publicKeyFor(header: string, retired = false): KeyObject | null {
    const found = this.publicKeys.get(header);
    return found !== undefined && (found.verifies || retired) ? found.key : null;
  }

  /** Returns the public keys for `/.well-known/jwks.json` (RFC 7517). */
  publicKeySet(): JwksResponse {
    return this.jwks;
  }

  /** Loads the keys from the database, in a load that starts after this call. Logs a failure. */
  reload(): Promise<void> {
    return this.loads.run();
  }

  private async tryLoad(): Promise<void> {
    if (this.stopped) return;
    await this.load().catch((error: unknown) => this.logger.error(`signing keys: could not load: ${String(error)}`));
  }

  private async load(): Promise<void> {
    const stored = await this.signingKeys.list();
    this.adopt(stored);
    const lastSignsInMs = stored[0]?.signs_in_ms ?? -Infinity;
    if (lastSignsInMs > -rotateAfterSeconds * 1_000 && stored.every(isKept)) return;
    await this.rotation.rotateIfDue();
    this.adopt(await this.signingKeys.list());
  }

  private adopt(stored: SigningKeyRecord[]): void {
    const now = performance.now();
    this.signers = signersOf(stored).flatMap(({ kid, private_key, signs_in_ms }) => {
      const decrypted = this.decrypt(kid, private_key);
      return decrypted === null ? [] : [{ kid, private_key: decrypted, signsAt: now + signs_in_ms }];
    });
    this.publicKeys = new Map(
      stored.map((key) => [headerOf(key.kid), { key: importPublic(key), verifies: verifies(key) }]),
    );
    const jwks = { keys: stored.filter(verifies).map(publicJwkOf) };
    if (isDeepStrictEqual(jwks, this.jwks)) return;
    this.jwks = jwks;
    this.changeCount++;
  }

  /** Returns null and logs an error if the key was encrypted with another `APP_SECRET`. */
  private decrypt(kid: string, private_key: Buffer): KeyObject | null {
    const decrypted = this.rotation.decrypt(private_key);
    if (decrypted === null)
      this.logger.error(
        `signing keys: ${kid} was encrypted with another APP_SECRET: this instance cannot sign with it`,
      );
    return decrypted;
  }
}

function importPublic({ public_jwk }: SigningKeyRecord): KeyObject {
  return createPublicKey({ key: public_jwk as JsonWebKey, format: 'jwk' });
}

function publicJwkOf({ kid, public_jwk }: SigningKeyRecord): JwkResponse {
  return { ...(public_jwk as Pick<JwkResponse, 'kty' | 'crv' | 'x' | 'y'>), kid, alg: 'ES256', use: 'sig' };
}

/** Returns the encoded header of the tokens that a key signs. */
function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url');
}
