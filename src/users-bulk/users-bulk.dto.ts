import { type OperationResponse, SkippedResponse } from '../operations/operations.dto';
import type { SkippedUser } from '../users/user-changes.service';
import { UserResponse } from '../users/users.dto';

/** What becomes of the users that a filter finds, in a preview and in a result. */
export class FoundUsersResponse {
  /** users that the filter found */
  matched!: number;
  /** users that already are as wanted */
  unchanged!: number;
  /** users that may not be changed */
  skipped_count!: number;
  /** how many may not for which reason: the code of the rule */
  skipped_reasons!: Record<string, number>;
  /** the first 100 of them */
  skipped!: SkippedResponse[];
}

/** What a change of found users would do. Nothing is changed yet. */
export class BulkPreviewResponse extends FoundUsersResponse {
  /** users that would be changed */
  would_change!: number;
  /** the first 20 of them, as they are now */
  sample!: UserResponse[];
  /**
   * repeat the request with it instead of `dry_run`, and it does this to exactly these users or
   * nothing at all; once
   */
  confirm_token!: string;
  /** until when it can be confirmed */
  expires_at!: Date;
}

/** What a change of found users did. */
export class BulkResultResponse extends FoundUsersResponse {
  /** id under which it can be undone, and under which the audit log has the changes */
  operation_id!: string;
  /** users that were changed */
  changed!: number;
  /** until when it can be undone; null when nobody was changed */
  undo_until!: Date | null;
}

/** The result of an operation that is done. */
export function toBulkResult(operation: OperationResponse): BulkResultResponse {
  const { operation_id, matched, changed, unchanged, skipped_count, skipped_reasons, skipped, undo_until } = operation;
  return { operation_id, matched, changed, unchanged, skipped_count, skipped_reasons, skipped, undo_until };
}

/** The public form of who was left out: for `request.invalid` with the field. */
export function toSkipped({ user_id, reason }: SkippedUser): SkippedResponse {
  const [code = reason, field] = reason.split('/');
  return field === undefined ? { user_id, reason: code } : { user_id, reason: code, pointer: `/${field}` };
}

/** Counts by code alone, and all together. */
export function countSkipped(
  reasons: Record<string, number>,
): Pick<FoundUsersResponse, 'skipped_count' | 'skipped_reasons'> {
  const skipped_reasons: Record<string, number> = {};
  let skipped_count = 0;
  for (const [reason, count] of Object.entries(reasons)) {
    const code = reason.split('/')[0] ?? reason;
    skipped_reasons[code] = (skipped_reasons[code] ?? 0) + count;
    skipped_count += count;
  }
  return { skipped_count, skipped_reasons };
}
