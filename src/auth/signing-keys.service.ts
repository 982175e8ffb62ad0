import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { calculateJwkThumbprint } from 'jose';
import { deriveKey } from '../common/random';
import { CONFIG, type Config, ConfigError } from '../config/config';
import type { SigningKeyEntity } from './signing-key.entity';
import { SigningKeysRepository } from './signing-keys.repository';

/** The key that signs, and the header that every token signed by it has. */
export interface SigningKey {
  kid: string;
  private_key: KeyObject;
}

const nonceBytes = 12;
const tagBytes = 16;

/** The ES256 key pair that signs access tokens: made once, private half encrypted at rest, public half in the JWKS. */
@Injectable()
export class SigningKeysService implements OnModuleInit {
  private readonly encryptionKey: Buffer;
  private readonly publicKeys = new Map<string, KeyObject>();
  private jwks: { keys: JsonWebKey[] } = { keys: [] };
  private current: SigningKey | null = null;

  constructor(
    private readonly keys: SigningKeysRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.encryptionKey = deriveKey(config.APP_SECRET, 'signing-keys');
  }

  async onModuleInit(): Promise<void> {
    const stored = await this.ensure();
    const [newest] = stored;
    if (newest === undefined) throw new Error('no signing key');
    this.current = { kid: newest.kid, private_key: this.decrypt(newest.private_key) };
    this.jwks = { keys: stored.map((key) => ({ ...key.public_jwk, kid: key.kid, alg: 'ES256', use: 'sig' })) };
    for (const key of stored) this.publicKeys.set(headerOf(key.kid), createPublicKey({ key: key.public_jwk as JsonWebKey, format: 'jwk' }));
  }

  /** The key that signs at this moment. */
  signingKey(): SigningKey {
    if (this.current === null) throw new Error('signing keys are not loaded');
    return this.current;
  }

  /**
   * The public key for the first part of a token. Only headers that we write ourselves are known, byte for byte, so that
   * `alg`, `typ`, `kid`, `jwk`, `jku`, `crit` and the like are never up to the sender (RFC 8725 §3.1, §3.10, §3.11).
   */
  publicKeyFor(header: string): KeyObject | null {
    return this.publicKeys.get(header) ?? null;
  }

  /** The public keys, as `/.well-known/jwks.json` shows them (RFC 7517). */
  publicKeySet(): { keys: JsonWebKey[] } {
    return this.jwks;
  }

  @Transactional()
  private async ensure(): Promise<SigningKeyEntity[]> {
    await this.keys.lock();
    const stored = await this.keys.list();
    if (stored.length > 0) return stored;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const public_jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(public_jwk);
    await this.keys.insert({ kid, public_jwk: { ...public_jwk }, private_key: this.encrypt(privateKey) });
    return this.keys.list();
  }

  private encrypt(key: KeyObject): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.encryptionKey, nonce);
    const sealed = Buffer.concat([cipher.update(key.export({ type: 'pkcs8', format: 'der' })), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  private decrypt(stored: Buffer): KeyObject {
    const decipher = createDecipheriv('aes-256-gcm', this.encryptionKey, stored.subarray(0, nonceBytes));
    decipher.setAuthTag(stored.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const key = Buffer.concat([decipher.update(stored.subarray(nonceBytes + tagBytes)), decipher.final()]);
      return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    } catch {
      throw new ConfigError(['APP_SECRET: is not the one with which the signing key in this database was encrypted']);
    }
  }
}

/** The first part of every token that a key signs. */
function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url');
}
