import { IntersectionType, OmitType } from '@nestjs/swagger';
import { TextField } from '../../http/fields/fields';
import { isAddressOrCidr } from '../../platform/ip';
import { readValue } from '../../http/lists/filter-value';
import { SkippedResponse } from '../operations/operations.dto';
import { CreateUserRequest, type UserResponse } from '../users.dto';

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const timeForm = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/;
const time = {
  optional: true,
  nullable: true,
  max: 40,
  pattern: timeForm,
  form: 'must be a time such as 2026-01-31T12:00:00.000Z',
};
const instant = {
  ...time,
  test: { check: (text: string) => 'value' in readValue(text, { type: 'time' }), wants: 'must be an existing time' },
};
const addressTest = {
  check: (text: string) => !text.includes('/') && isAddressOrCidr(text),
  wants: 'must be an IP address',
};

/** Fields of an import row besides those of `POST /user/create`. */
export class ImportedFields {
  /** UUID; a new one by default */
  @TextField({ optional: true, nullable: true, max: 36, pattern: idForm, form: 'must be a UUID' }) user_id?:
    string | null;
  /** by default `active` with a password hash, otherwise `invited` */
  @TextField({ optional: true, max: 16, values: ['invited', 'active', 'disabled'] }) status?: UserResponse['status'];
  /** standard text form, or 32 hexadecimal digits of an MD5 hash */
  @TextField({ optional: true, nullable: true, min: 1, max: 512 }) password_hash?: string | null;
  /** time of creation */
  @TextField(instant) created_at?: string | null;
  /** time of the last verification of `email` */
  @TextField(instant) email_verified_at?: string | null;
  /** time of the last login */
  @TextField(instant) last_login_at?: string | null;
  /** IP address of the last login */
  @TextField({ optional: true, nullable: true, max: 64, test: addressTest }) last_login_ip?: string | null;
  /** time of the last activity */
  @TextField(instant) last_seen_at?: string | null;
  /** time when the password was last set */
  @TextField(instant) password_changed_at?: string | null;
}

/** Row of an import. It contains no password, and requires no second factor. */
export class ImportRow extends IntersectionType(
  OmitType(CreateUserRequest, ['password', 'second_factor_required_from']),
  ImportedFields,
) {}

/** Result that an import would have. A dry run creates no users. */
export class ImportPreviewResponse {
  /** always `preview`; operations have other values */
  kind!: 'preview';
  /** number of rows in the file */
  matched!: number;
  /** number of users that would be created @example 110 */
  would_create!: number;
  /** number of rows whose id, name or address is taken, with `on_conflict=skip` */
  unchanged!: number;
  /**
   * number of new users without a password: the import mails them invitations with `invite=true`
   * @example 100
   */
  mails!: number;
  /**
   * estimated seconds until the last of these mails is sent, after the mails in the queue, at the
   * rate of this instance so far; a retry takes longer @example 34
   */
  mails_seconds!: number;
  /** number of rows that would fail */
  skipped_count!: number;
  /** number of rows that would fail, by the code of their first error */
  skipped_reasons!: Record<string, number>;
  /** the first 100 rows that would fail */
  skipped!: SkippedResponse[];
}

/** One-time link to an export. */
export class ExportLinkResponse {
  /**
   * address of the file; works once, for anyone who knows the address, without an access token
   * @example https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
   */
  url!: string;
  /** expiry, 60 seconds from now */
  expires_at!: Date;
}
