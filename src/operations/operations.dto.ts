import { PageResponse } from '../common/http/page.dto';
import type { OperationKind, OperationStatus } from './operation.entity';
import type { OperationRecord } from './operations.repository';

/** A user or row that was skipped. */
export class SkippedResponse {
  /** id of the user; absent for rows of a file */
  user_id?: string;
  /** line of the file, from 1 */
  line?: number;
  /** JSON pointer to the invalid field */
  pointer?: string;
  /**
   * error code of the rule that protects the user; for an invalid field or row its code, as in
   * `errors` of a problem
   */
  reason!: string;
  /** explanation of the error in a row, for people */
  detail?: string;
}

/** A bulk change, the undo of a bulk change, or an import, with its progress. */
export class OperationResponse {
  /** UUIDv7 */
  operation_id!: string;
  /** `change`, `delete`, `undo` or `import` */
  kind!: OperationKind;
  /**
   * `receiving` (the file is still being uploaded), `waiting`, `running`, `done`, `canceled` or
   * `failed`
   */
  status!: OperationStatus;
  /** kind of the actor: `user` or `key` */
  actor_type!: 'user' | 'key';
  /** id of the user or API key that requested the operation */
  actor_id!: string;
  /** filters and change as they were sent, or the options of an import */
  request!: Record<string, unknown>;
  /** number of matching users, or of rows of the file; fixed when the operation was accepted */
  matched!: number;
  /** number of users or rows that have been processed */
  processed!: number;
  /** users that were changed, deleted, restored or created */
  changed!: number;
  /** users that already had the requested values */
  unchanged!: number;
  /** users or rows that were skipped */
  skipped_count!: number;
  /** number of skipped users or rows by reason */
  skipped_reasons!: Record<string, number>;
  /**
   * the first 100 skipped users or rows; `GET /user/operation/{operation_id}` of an import that has
   * ended returns the first 10,000
   */
  skipped!: SkippedResponse[];
  /** users or rows per second so far; null before the first batch is done */
  rate_per_second!: number | null;
  /** remaining seconds at this rate; null unless the operation is running */
  remaining_seconds!: number | null;
  /** error code of a failed operation */
  error_code!: string | null;
  /** operation that this operation undoes */
  undo_of!: string | null;
  /**
   * operation that undoes or has undone this operation; null again if that operation was canceled,
   * failed, changed no user or skipped users
   */
  undone_by!: string | null;
  /** when the operation was requested */
  created_at!: Date;
  /** when the first batch was started */
  started_at!: Date | null;
  /** when the operation ended */
  finished_at!: Date | null;
  /** until when the operation can be undone; null if it cannot be undone */
  undo_until!: Date | null;
}

/** A page of operations. */
export class OperationListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: OperationResponse[];
}

/** Returns an operation as the API shows it: an allow-list (OWASP API3:2023). */
export function toOperationResponse(operation: OperationRecord): OperationResponse {
  const {
    operation_id,
    kind,
    status,
    actor_type,
    actor_id,
    request,
    total,
    processed,
    changed,
    unchanged,
    skipped_count,
    skipped_reasons,
  } = operation;
  const { error_code, undo_of, undone_by, created_at, started_at, finished_at, undo_until } = operation;
  return {
    operation_id,
    kind,
    status,
    actor_type,
    actor_id,
    request,
    matched: total,
    processed,
    changed,
    unchanged,
    skipped_count,
    skipped_reasons,
    skipped: operation.skipped as unknown as SkippedResponse[],
    ...paceOf(operation),
    error_code,
    undo_of,
    undone_by,
    created_at,
    started_at,
    finished_at,
    undo_until: undone_by === null ? undo_until : null,
  };
}

/** The rate is the average of all batches, so that one slow batch changes the estimate little. */
function paceOf({
  status,
  total,
  processed,
  started_at,
  progressed_at,
}: OperationRecord): Pick<OperationResponse, 'rate_per_second' | 'remaining_seconds'> {
  const seconds = started_at === null ? 0 : (progressed_at.getTime() - started_at.getTime()) / 1_000;
  if (seconds <= 0) return { rate_per_second: null, remaining_seconds: null };
  const rate = processed / seconds;
  return {
    rate_per_second: Math.round(rate),
    remaining_seconds: status === 'running' ? Math.ceil((total - processed) / rate) : null,
  };
}
