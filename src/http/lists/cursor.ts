import { AppError } from '../errors/app-error';
import { Signer } from '../../platform/signer';

/** End of a page: the sort value of the last row as text (null for SQL null) and its id. */
export interface CursorPosition {
  value: string | null;
  id: string;
  /** the first page contains all changes of transactions with a smaller id */
  since?: string | undefined;
}

/**
 * Encodes and decodes cursors. A cursor is opaque, signed and bound to a caller, filter and sort.
 * The signature keeps a forged position out of the SQL (compare Ory Hydra GHSA-r9w3-57w2-gch2).
 */
export class CursorCodec {
  private readonly signer: Signer;

  constructor(key: Buffer) {
    this.signer = new Signer(key);
  }

  /** Returns a cursor. `context` is what the cursor is bound to: caller, list, filter and sort. */
  encode(position: CursorPosition, context: string): string {
    const { value, id, since } = position;
    return this.signer.sign(since === undefined ? [value, id] : [value, id, since], context);
  }

  /**
   * Returns the position of a cursor.
   * @throws page.cursor_invalid if the cursor was altered or belongs to another context
   */
  decode(cursor: string, context: string): CursorPosition {
    const position = this.signer.open<[string | null, string, string?]>(cursor, context);
    if (position === null) throw new AppError('page.cursor_invalid');
    const [value, id, since] = position;
    return { value, id, since };
  }
}
