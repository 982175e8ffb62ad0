import { type OperationResponse, SkippedResponse } from '../operations/operations.dto';
import { PreviewedUserResponse } from '../users.dto';

/** The counts that a preview and a result have in common. */
export class BulkCounts {
  /** users that match the filter */
  matched!: number;
  /** users that already have the requested values */
  unchanged!: number;
  /** users that are skipped because a rule protects them */
  skipped_count!: number;
  /** number of skipped users by reason: the error code of the rule */
  skipped_reasons!: Record<string, number>;
  /** the first 100 skipped users */
  skipped!: SkippedResponse[];
  /** with `secure`: users with second factors, which are kept */
  with_factors!: number;
  /** with `secure`: users who created API keys that still work, which are kept */
  with_keys!: number;
}

/** What a bulk change would do. A preview changes nothing. */
export class BulkPreviewResponse extends BulkCounts {
  /** always `preview`; results and operations have other values */
  kind!: 'preview';
  /** users that would change @example 110 */
  would_change!: number;
  /** the first 20 users that would change, as they are now; only their ids without `user:read` */
  sample!: PreviewedUserResponse[];
  /** with `invite`: mails that will be sent @example 110 */
  mails!: number;
  /**
   * with `invite`: estimated seconds until the last mail is sent, after the mails in the queue, at
   * the rate of this instance so far; a retry takes longer @example 37
   */
  mails_seconds!: number;
  /**
   * repeat the request with this token instead of `dry_run` to change exactly the previewed users;
   * if other users match by then, the request fails; valid once
   * @example eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs
   */
  confirm_token!: string;
  /** when the token expires */
  expires_at!: Date;
}

/** What a bulk change did. */
export class BulkResultResponse extends BulkCounts {
  /** always `result`; previews and operations have other values */
  kind!: 'result';
  /** id of the operation, for an undo and for the events in the audit log */
  operation_id!: string;
  /** users that were changed */
  changed!: number;
  /** invited users who were enabled, and whose invitation works again or is sent now */
  links_restored!: number;
  /** invited users who were enabled, and whose invitation has expired; `invite` sends a new one */
  links_expired!: number;
  /** until when the change can be undone; null if it cannot, or if no user was changed */
  undo_until!: Date | null;
}

/** Returns the result of an operation that has ended. */
export function toBulkResult(operation: OperationResponse): BulkResultResponse {
  const { operation_id, matched, changed, unchanged, skipped_count, skipped_reasons, skipped, undo_until } = operation;
  const { with_factors, with_keys, links_restored, links_expired } = operation;
  const counts = { matched, changed, unchanged, skipped_count, skipped_reasons, skipped };
  const more = { with_factors, with_keys, links_restored, links_expired };
  return { kind: 'result', operation_id, ...counts, ...more, undo_until };
}

/** Returns the number of skipped users by code and in total. */
export function countSkipped(
  skipped_reasons: Record<string, number>,
): Pick<BulkCounts, 'skipped_count' | 'skipped_reasons'> {
  const skipped_count = Object.values(skipped_reasons).reduce((sum, count) => sum + count, 0);
  return { skipped_count, skipped_reasons };
}
