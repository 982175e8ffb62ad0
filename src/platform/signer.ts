import { createHmac, timingSafeEqual } from 'node:crypto';

/** Signs values that callers send back, with an HMAC-SHA256 over the value and its context. */
export class Signer {
  constructor(private readonly key: Buffer) {}

  /** Returns a signed text. `context` is everything that must be the same in `open`. */
  sign(value: unknown, context: string): string {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${payload}.${this.mac(payload, context).toString('base64url')}`;
  }

  /** Returns the signed value, or null if the text was altered or signed for another context. */
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
