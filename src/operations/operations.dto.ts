import { PageResponse } from '../common/http/page.dto';
import type { OperationKind, OperationStatus } from './operation.entity';
import type { OperationRecord } from './operations.repository';

/** A user or row that was left out. */
export class SkippedResponse {
  /** id of the user; absent for rows of a file */
  user_id?: string;
  /** line of the file, from 1 */
  line?: number;
  /** JSON pointer to the field that is wrong */
  pointer?: string;
  /**
   * error code of the rule that forbids it; of a field or row that is wrong its code, as in
   * `errors` of a problem
   */
  reason!: string;
  /** what is wrong with a row, for a person */
  detail?: string;
}

/** A change of many users, an undo of one, or an import: what was asked for, and how far it is. */
export class OperationResponse {
  /** UUIDv7 */
  operation_id!: string;
  /** `change`, `delete`, `undo` or `import` */
  kind!: OperationKind;
  /**
   * `receiving` (the file is still on its way), `waiting`, `running`, `done`, `canceled` or
   * `failed`
   */
  status!: OperationStatus;
  /** kind of the actor: `user` or `key` */
  actor_type!: 'user' | 'key';
  /** id of the user or API key that requested the operation */
  actor_id!: string;
  /** filters and change as they were sent, or the options of an import */
  request!: Record<string, unknown>;
  /** users that were found, or rows of the file; fixed when the operation was accepted */
  matched!: number;
  /** how many of them are done with */
  processed!: number;
  /** users that were changed, deleted, put back or created */
  changed!: number;
  /** users that already were as wanted */
  unchanged!: number;
  /** users or rows that were left out */
  skipped_count!: number;
  /** how many were left out for which reason */
  skipped_reasons!: Record<string, number>;
  /** the first 100 of them; of an import that has ended, asked for alone, the first 10,000 */
  skipped!: SkippedResponse[];
  /** users or rows per second so far; null before it begins */
  rate_per_second!: number | null;
  /** seconds that are left at this rate; null when it is not running */
  remaining_seconds!: number | null;
  /** why it failed: an error code */
  error_code!: string | null;
  /** the operation that this one undoes */
  undo_of!: string | null;
  /**
   * the operation that undoes or has undone this one; null again if that operation was canceled,
   * failed, changed no user or skipped users
   */
  undone_by!: string | null;
  /** when it was asked for */
  created_at!: Date;
  /** when its first batch was done */
  started_at!: Date | null;
  /** when it came to its end */
  finished_at!: Date | null;
  /** until when it can be undone; null when it cannot, or not any more */
  undo_until!: Date | null;
}

/** A page of operations. */
export class OperationListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: OperationResponse[];
}

/** The public form of an operation: an allow-list. */
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

/** The rate over the whole time, so that one slow batch does not turn the estimate around. */
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
