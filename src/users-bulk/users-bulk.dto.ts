import { BooleanField, JsonObjectField, TextField, TextListField } from '../common/http/fields';
import { isAddressOrCidr } from '../common/ip';
import { carrierIdForm, isLocale, isTimezone, roleForm } from '../users/user-forms';
import { UserResponse } from '../users/users.dto';

const roleNames = { optional: true, maxItems: 20, max: 64, pattern: roleForm, form: 'must be the name of a role' };

/** Changes of all found users: the fields of one user that make sense for many. */
export class ChangeFoundUsersRequest {
  /** `active` needs a password; `invited` enables disabled users who have none */
  @TextField({ optional: true, max: 16, values: ['invited', 'active', 'disabled'] }) status?: 'invited' | 'active' | 'disabled';
  /** replaces the roles; not together with `roles_add` and `roles_remove` */
  @TextListField(roleNames) roles?: string[];
  /** roles to give */
  @TextListField(roleNames) roles_add?: string[];
  /** roles to take */
  @TextListField(roleNames) roles_remove?: string[];
  /** carriers that System Users are limited to; null = all */
  @TextListField({
    optional: true,
    nullable: true,
    maxItems: 1_000,
    min: 1,
    max: 64,
    pattern: carrierIdForm,
    form: 'must be the id of a carrier',
  })
  carrier_scope?: string[] | null;
  /** addresses or CIDRs from which the users may log in; empty = any. Sessions from outside end */
  @TextListField({ optional: true, maxItems: 50, max: 64, test: { check: isAddressOrCidr, wants: 'must be an IP address or a CIDR' } })
  allowed_ips?: string[];
  /** BCP 47; null clears it */
  @TextField({ optional: true, nullable: true, max: 35, test: { check: isLocale, wants: 'must be a language tag such as de-AT' } })
  locale?: string | null;
  /** IANA name; null clears it */
  @TextField({ optional: true, nullable: true, max: 64, test: { check: isTimezone, wants: 'must be a time zone such as Europe/Vienna' } })
  timezone?: string | null;
  /** merged into what is there (RFC 7396) */
  @JsonObjectField({ optional: true, maxBytes: 16_384, maxDepth: 5 }) attributes?: Record<string, unknown>;
  /** whether the password must be changed before anything else */
  @BooleanField({ optional: true }) must_change_password?: boolean;
}

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
