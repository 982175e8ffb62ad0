import { UserResponse } from '../users/users.dto';

/** A user that was left out. */
export class SkippedUserResponse {
  /** id of the user */
  user_id!: string;
  /** error code of the rule that forbids it */
  reason!: string;
}

/** What a change of found users did, or with `dry_run` what it would do. */
export class BulkResultResponse {
  /** id under which the audit log has the changes; null for a preview */
  operation_id!: string | null;
  /** users that the filter found */
  matched!: number;
  /** users that were changed; 0 for a preview */
  changed!: number;
  /** users that would be changed; only in a preview */
  would_change?: number;
  /** users that already were as wanted */
  unchanged!: number;
  /** users that may not be changed */
  skipped_count!: number;
  /** the first 100 of them */
  skipped!: SkippedUserResponse[];
  /** the first 20 users that would be changed; only in a preview */
  sample?: UserResponse[];
  /** until when the change can be undone; null when it cannot */
  undo_until!: Date | null;
}
