import { ApiProperty } from '@nestjs/swagger';
import { namedEnum } from '../platform/named-enum';
import { ServiceHealthResponse } from './service-health.dto';
import type { UserResponse } from '../users/users.dto';

/** What needs attention. */
const attentionKinds = namedEnum('AttentionKind', [
  'users_locked',
  'users_must_enroll',
  'api_keys_expiring',
  'mails_failed',
  'attack',
  'mails_failing',
  'webhooks_disabled',
  'webhooks_failing',
]);

/** Number of users of a type and status. */
export class UserCountResponse {
  /** kind of user */
  user_type!: UserResponse['user_type'];
  /** state of the users */
  status!: UserResponse['status'];
  /** number of users @example 12 */
  count!: number;
}

/** Logins of one hour. */
export class LoginHourResponse {
  /** beginning of the hour, in UTC */
  hour!: Date;
  /** number of completed logins @example 120 */
  succeeded!: number;
  /** number of failed logins: wrong name, password or passkey, or not allowed @example 3 */
  failed!: number;
}

/** Items of one kind that need attention, with the list that shows them. */
export class AttentionResponse {
  /** kind of the items */
  @ApiProperty({ enum: attentionKinds }) kind!: (typeof attentionKinds)[number];
  /** number of users, API keys, mails, webhooks or rejected logins */
  count!: number;
  /** path of the list that shows the items @example /user/list */
  list!: string;
  /** query parameters that limit the list to the items @example {"locked_until_gt": "2026-11-20T13:00:00.000Z"} */
  filter!: Record<string, string>;
}

/** Figures of the start page, within the scope of the caller. */
export class OverviewResponse {
  /** time of the last count of users, sessions, logins and failed mails */
  as_of!: Date;
  /** seconds since the last count, by the clock of the database @example 40 */
  age_seconds!: number;
  /** users by type and status, without deleted users */
  users!: UserCountResponse[];
  /** number of live sessions @example 1234 */
  sessions!: number;
  /** logins of the last 24 hours, the oldest hour first; the last hour is incomplete */
  logins!: LoginHourResponse[];
  /** number of unfinished operations that the caller may see @example 1 */
  operations_running!: number;
  /** what needs attention, as far as the caller may see it; a count may be 0 */
  attention!: AttentionResponse[];
  /** state of the parts of the service; absent for callers with a scope */
  health?: ServiceHealthResponse;
}
