import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { deriveKey, hashToken } from '../../platform/random';

const idBytes = 16;
const secretBytes = 32;
const macBytes = 16;
const form = /^[A-Za-z0-9_-]{86}$/;

/**
 * Mints and reads refresh tokens: session id, 256-bit secret and a MAC over both.
 * The MAC distinguishes a reused token, which ends the session, from a guessed one, which must not.
 * Clients see an opaque text (ADR 0005).
 */
export class RefreshTokens {
  private readonly current: Keys;
  private readonly accepted: Keys[];

  /** @param otherSecret accepted as well while `APP_SECRET` is rotated; mints no tokens */
  constructor(appSecret: string, otherSecret?: string) {
    this.current = keysFrom(appSecret);
    this.accepted = [this.current, ...(otherSecret === undefined ? [] : [keysFrom(otherSecret)])];
  }

  /** Mints the first token of a session. */
  mint(session_id: string): string {
    return assemble(this.current, sessionBytes(session_id), randomBytes(secretBytes));
  }

  /**
   * Returns the successor of a token. It is always the same, and only the key can compute it, so no
   * token needs to be stored.
   */
  successor(token: string): string {
    return successorUnder(this.current, token);
  }

  /**
   * Returns the successor of a token that has a hash, or null.
   * Another instance may have minted the successor with the other secret.
   */
  successorWith(hash: Buffer, token: string): string | null {
    return (
      this.accepted.map((keys) => successorUnder(keys, token)).find((successor) => hashToken(successor).equals(hash)) ??
      null
    );
  }

  /** Returns the session id of a token, or null if the service did not mint the token. */
  sessionOf(token: string): string | null {
    if (!form.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    const signed = bytes.subarray(0, idBytes + secretBytes);
    const genuine = this.accepted.some((keys) => timingSafeEqual(bytes.subarray(signed.length), mac(keys, signed)));
    // eslint-disable-next-line house/secret-compares -- the text is compared with itself
    if (!genuine || bytes.toString('base64url') !== token) return null;
    return signed.toString('hex', 0, idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
}

/** Keys derived from one secret. */
interface Keys {
  mac: Buffer;
  chain: Buffer;
}

function keysFrom(secret: string): Keys {
  return { mac: deriveKey(secret, 'refresh-mac'), chain: deriveKey(secret, 'refresh-chain') };
}

function successorUnder(keys: Keys, token: string): string {
  const bytes = Buffer.from(token, 'base64url');
  return assemble(keys, bytes.subarray(0, idBytes), createHmac('sha256', keys.chain).update(bytes).digest());
}

function assemble(keys: Keys, id: Buffer, secret: Buffer): string {
  const signed = Buffer.concat([id, secret]);
  return Buffer.concat([signed, mac(keys, signed)]).toString('base64url');
}

function mac(keys: Keys, signed: Buffer): Buffer {
  return createHmac('sha256', keys.mac).update(signed).digest().subarray(0, macBytes);
}

function sessionBytes(session_id: string): Buffer {
  return Buffer.from(session_id.replaceAll('-', ''), 'hex');
}
