import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Makes texts that come back from callers unaltered or not at all: JSON with an HMAC-SHA256 over it
 * and what it is bound to.
 */
export class Signer {
  constructor(private readonly key: Buffer) {}

  /** `context` is everything that must be the same when the text comes back. */
  sign(value: unknown, context: string): string {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${payload}.${this.mac(payload, context).toString('base64url')}`;
  }

  /** What was signed; null when it was altered, or made for another context. */
  open<Value>(text: string, context: string): Value | null {
    const [payload = '', signature = '', ...rest] = text.split('.');
    const expected = this.mac(payload, context);
    const given = Buffer.from(signature, 'base64url');
    // eslint-disable-next-line house/secret-compares -- the text is compared with itself
    const canonical = given.toString('base64url') === signature;
    if (rest.length > 0 || !canonical || given.length !== expected.length || !timingSafeEqual(given, expected))
      return null;
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Value;
  }

  private mac(payload: string, context: string): Buffer {
    return createHmac('sha256', this.key).update(`${payload}\n${context}`).digest().subarray(0, 16);
  }
}
