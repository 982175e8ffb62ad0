import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { deriveKey } from '../common/random';

const idBytes = 16;
const secretBytes = 32;
const macBytes = 16;
const form = /^[A-Za-z0-9_-]{86}$/;

/**
 * Refresh tokens: session id, 256-bit secret, and a MAC over both. The MAC tells an old token of ours, which is reuse,
 * from somebody's guess, which must not be able to end a session. Callers see an opaque text (ADR 0005).
 */
export class RefreshTokens {
  private readonly macKey: Buffer;
  private readonly chainKey: Buffer;

  constructor(appSecret: string) {
    this.macKey = deriveKey(appSecret, 'refresh-mac');
    this.chainKey = deriveKey(appSecret, 'refresh-chain');
  }

  /** The first token of a session. */
  mint(session_id: string): string {
    return this.assemble(sessionBytes(session_id), randomBytes(secretBytes));
  }

  /** The next token after one: always the same, and nobody without the key can compute it (nothing recoverable is stored). */
  successor(token: string): string {
    const bytes = Buffer.from(token, 'base64url');
    return this.assemble(bytes.subarray(0, idBytes), createHmac('sha256', this.chainKey).update(bytes).digest());
  }

  /** The session a token of ours belongs to; null when we never made it. */
  sessionOf(token: string): string | null {
    if (!form.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    const signed = bytes.subarray(0, idBytes + secretBytes);
    const genuine = bytes.length === idBytes + secretBytes + macBytes && timingSafeEqual(bytes.subarray(signed.length), this.mac(signed));
    if (!genuine || bytes.toString('base64url') !== token) return null;
    return signed.toString('hex', 0, idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  private assemble(id: Buffer, secret: Buffer): string {
    const signed = Buffer.concat([id, secret]);
    return Buffer.concat([signed, this.mac(signed)]).toString('base64url');
  }

  private mac(signed: Buffer): Buffer {
    return createHmac('sha256', this.macKey).update(signed).digest().subarray(0, macBytes);
  }
}

function sessionBytes(session_id: string): Buffer {
  return Buffer.from(session_id.replaceAll('-', ''), 'hex');
}
