import type { QueryConfig } from 'pg';
import type { CursorPosition } from '../../http/lists/cursor';
import type { Queries } from '../../http/lists/page';
import type { Snapshot } from './snapshot';

/** A moment at which all transactions with a smaller id than `tx` were finished. */
export interface Horizon {
  tx: string;
  at: Date;
}

/** A position of the primary in its WAL. */
export interface Position {
  /** time, by `monotonicMs`, before which all acknowledged commits are included */
  since: number;
  /** number of bytes of WAL before the position */
  lsn: number;
  timeline: number;
  /** all transactions with a smaller id had ended, and are included */
  horizon: Horizon;
}

/** A caller who reads lists. */
export interface Reader {
  user_id: string;
}

/** Runs the queries of a list or an export on one server. */
export interface Reads extends Queries {
  /** the server shows all changes before it; null = on the primary, read it before the list */
  horizon: Horizon | null;
  /** @see Database.openSnapshot */
  openSnapshot: (holder: string, signal: AbortSignal) => Promise<Snapshot>;
}

/** Sends a statement. */
export type Send = <Row>(query: QueryConfig, values: unknown[]) => Promise<Row[]>;

/** A server for lists beside the primary. */
export interface ReadServer {
  /** Returns null if the primary must be read. */
  reads: (reader: Reader, after?: CursorPosition) => Reads | null;
  noteChange: (reader: Reader) => void;
}
