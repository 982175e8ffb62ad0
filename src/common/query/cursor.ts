import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../errors/app-error';

/** Where a page ended: the sort value of its last row as text (null for SQL null), and the row's id. */
export interface CursorPosition {
  value: string | null;
  id: string;
}

/**
 * Makes and reads cursors: opaque, signed, and good only for the caller, filter and sort they were made for.
 * The signature keeps a forged position out of the SQL (compare Ory Hydra GHSA-r9w3-57w2-gch2).
 */
export class CursorCodec {
  constructor(private readonly key: Buffer) {}

  /** `context` is everything the cursor must be bound to: caller, list, filter, sort. */
  encode(position: CursorPosition, context: string): string {
    const payload = Buffer.from(JSON.stringify([position.value, position.id])).toString('base64url');
    return `${payload}.${this.sign(payload, context).toString('base64url')}`;
  }

  /** @throws page.cursor_invalid when it was altered, or made for something else */
  decode(cursor: string, context: string): CursorPosition {
    const [payload = '', signature = '', ...rest] = cursor.split('.');
    const expected = this.sign(payload, context);
    const given = Buffer.from(signature, 'base64url');
    const canonical = given.toString('base64url') === signature;
    if (rest.length > 0 || !canonical || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new AppError('page.cursor_invalid');
    }
    const [value, id] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [string | null, string];
    return { value, id };
  }

  private sign(payload: string, context: string): Buffer {
    return createHmac('sha256', this.key).update(`${payload}\n${context}`).digest().subarray(0, 16);
  }
}
