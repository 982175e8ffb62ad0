import { AppError } from '../errors/app-error';
import { Signer } from '../signer';

/**
 * Where a page ended: the sort value of its last row as text (null for SQL null), and the row's id.
 */
export interface CursorPosition {
  value: string | null;
  id: string;
}

/**
 * Makes and reads cursors: opaque, signed, and good only for the caller, filter and sort they were
 * made for. The signature keeps a forged position out of the SQL (compare Ory Hydra
 * GHSA-r9w3-57w2-gch2).
 */
export class CursorCodec {
  private readonly signer: Signer;

  constructor(key: Buffer) {
    this.signer = new Signer(key);
  }

  /** `context` is everything the cursor must be bound to: caller, list, filter, sort. */
  encode(position: CursorPosition, context: string): string {
    return this.signer.sign([position.value, position.id], context);
  }

  /** @throws page.cursor_invalid when it was altered, or made for something else */
  decode(cursor: string, context: string): CursorPosition {
    const position = this.signer.open<[string | null, string]>(cursor, context);
    if (position === null) throw new AppError('page.cursor_invalid');
    const [value, id] = position;
    return { value, id };
  }
}
