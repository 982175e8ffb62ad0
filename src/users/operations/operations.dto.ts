import { PageResponse } from '../../http/lists/page.dto';
import { FieldErrorResponse } from '../../http/errors/problem.dto';
import { skippedDays } from './operation-queues';
import type { OperationKind, OperationStatus, SkippedRow } from './operation.entity';
import type { OperationRecord } from './operations.repository';

const dayMs = 86_400_000;

/** A user or row that was skipped. */
export class SkippedResponse {
  /** id of the user; absent for rows of a file */
  user_id?: string;
  /** first line of the row in the file, from 1; absent for users @example 2 */
  line?: number;
  /** JSON pointer to the field of a change that the user cannot have; absent for rows */
  pointer?: string;
  /** error code of the rule that protects the user, or of the first error of a row @example access.protected_user */
  reason!: string;
  /** all errors of a row; absent for users */
  errors?: FieldErrorResponse[];
}

/** A row of a file that an import skipped, as it is kept for correction. */
export class SkippedRowResponse {
  /** first line of the row in the file, from 1 */
  line!: number;
  /** code of the first error */
  reason!: string;
  /** all errors of the row */
  errors!: FieldErrorResponse[];
  /**
   * texts by column, as in a CSV file; `password_hash` and a hash in any other column are replaced
   * by `(removed)`, except within `attributes` or longer texts; unknown fields are omitted; a cell
   * of more than 1,000 characters is shortened and ends with `…`, the file contains it whole; null
   * if the row could not be read, or if a user in the row was purged
   * @example {"user_type": "carrier", "carrier_id": "acme", "name": "ada", "email": "ada.example.com"}
   */
  cells!: Record<string, string> | null;
}

/** A page of skipped rows. */
export class SkippedRowListResponse extends PageResponse {
  /** in the order of the file unless sorted otherwise */
  items!: SkippedRowResponse[];
}

/** A bulk change, the undo of a bulk change, or an import, with its progress. */
export class OperationResponse {
  /** UUIDv7 @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897 */
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
  /**
   * filters and change as they were sent, or the options of an import
   * @example {"filters": {"carrier_id": "acme"}, "change": {"locale": "en-GB"}}
   */
  request!: Record<string, unknown>;
  /** number of matching users, or of rows of the file; fixed when the operation was accepted @example 120 */
  matched!: number;
  /** number of users or rows that have been processed @example 120 */
  processed!: number;
  /** users that were changed, deleted, restored or created @example 110 */
  changed!: number;
  /** users that already had the requested values @example 9 */
  unchanged!: number;
  /** users or rows that were skipped @example 1 */
  skipped_count!: number;
  /** number of skipped users or rows by reason @example {"access.protected_user": 1} */
  skipped_reasons!: Record<string, number>;
  /**
   * the first 100 skipped users or rows; `GET /user/operation/{operation_id}/skipped` returns all
   * rows that an import skipped
   */
  skipped!: SkippedResponse[];
  /** users with second factors, which securing the accounts kept @example 1 */
  with_factors!: number;
  /** users who created API keys that still work, which securing the accounts kept @example 0 */
  with_keys!: number;
  /** invited users who were enabled or restored, and whose invitation works again or is sent now @example 2 */
  links_restored!: number;
  /** invited users who were enabled or restored, and whose invitation has expired @example 0 */
  links_expired!: number;
  /** time at which the skipped rows of an import expire; null before its end and without them */
  skipped_until!: Date | null;
  /** users or rows per second so far; null before the first batch is done @example 4000 */
  rate_per_second!: number | null;
  /** remaining seconds at this rate; null unless the operation is running @example 12 */
  remaining_seconds!: number | null;
  /** error code of a failed operation @example service.internal_error */
  error_code!: string | null;
  /** operation that this operation undoes @example 0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0 */
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
  const { operation_id, kind, status, actor_type, actor_id, request, total, processed, changed, unchanged } = operation;
  const { skipped_count, skipped_reasons, error_code, undo_of, undone_by, undo_until } = operation;
  const { created_at, started_at, finished_at } = operation;
  return {
    ...{ operation_id, kind, status, actor_type, actor_id, request, matched: total, processed, changed, unchanged },
    ...{ skipped_count, skipped_reasons, skipped: operation.skipped as unknown as SkippedResponse[] },
    ...{ with_factors: 0, with_keys: 0, links_restored: 0, links_expired: 0, ...operation.counts },
    skipped_until: keptUntil(operation),
    ...paceOf(operation),
    ...{ error_code, undo_of, undone_by, created_at, started_at, finished_at },
    undo_until: undone_by === null ? undo_until : null,
  };
}

/** Returns a skipped row as the API shows it. */
export function toSkippedRowResponse({ line, errors, cells }: SkippedRow): SkippedRowResponse {
  return { line, reason: errors[0]?.code ?? '', errors, cells };
}

/** Returns a skipped row as an operation lists it. */
export function toSkippedResponse({ line, errors }: Pick<SkippedRow, 'line' | 'errors'>): SkippedResponse {
  return { line, reason: errors[0]?.code ?? '', errors };
}

function keptUntil({ kind, finished_at, skipped_count }: OperationRecord): Date | null {
  if (kind !== 'import' || finished_at === null || skipped_count === 0) return null;
  return new Date(finished_at.getTime() + skippedDays * dayMs);
}

/** The rate is the average of all batches, so that one slow batch changes the estimate little. */
function paceOf(operation: OperationRecord): Pick<OperationResponse, 'rate_per_second' | 'remaining_seconds'> {
  const { status, total, processed, started_at, progressed_at } = operation;
  const seconds = started_at === null ? 0 : (progressed_at.getTime() - started_at.getTime()) / 1_000;
  if (seconds <= 0 || processed === 0) return { rate_per_second: null, remaining_seconds: null };
  const rate = processed / seconds;
  return {
    rate_per_second: Math.round(rate),
    remaining_seconds: status === 'running' ? Math.ceil((total - processed) / rate) : null,
  };
}
