import { TextField } from '../common/http/fields';
import { isAddressOrCidr } from '../common/ip';
import { readValue } from '../common/query/filter-value';
import type { UserResponse } from '../users/users.dto';

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
  test: { check: (text: string) => readValue(text, { type: 'time' }).ok, wants: 'must be a time that there is' },
};
const addressTest = {
  check: (text: string) => !text.includes('/') && isAddressOrCidr(text),
  wants: 'must be an IP address',
};

/**
 * What a row of an import can say of a user besides what a new user has: where they come from. No
 * password.
 */
export class ImportedFields {
  /** UUID; a new one without it */
  @TextField({ optional: true, nullable: true, max: 36, pattern: idForm, form: 'must be a UUID' }) user_id?:
    string | null;
  /** `active` by default where there is a password, else `invited` */
  @TextField({ optional: true, max: 16, values: ['invited', 'active', 'disabled'] }) status?: UserResponse['status'];
  /** in a standard text form, or 32 hexadecimal digits of MD5 */
  @TextField({ optional: true, nullable: true, min: 1, max: 512 }) password_hash?: string | null;
  /** when created */
  @TextField(instant) created_at?: string | null;
  /** when the owner of the address was last proven */
  @TextField(instant) email_verified_at?: string | null;
  /** last login */
  @TextField(instant) last_login_at?: string | null;
  /** address of the last login */
  @TextField({ optional: true, nullable: true, max: 64, test: addressTest }) last_login_ip?: string | null;
  /** last activity */
  @TextField(instant) last_seen_at?: string | null;
  /** when the password was last set */
  @TextField(instant) password_changed_at?: string | null;
}

/** A row that no user was created from. */
export class FailedRowResponse {
  /** where it begins, from 1; in CSV the header is line 1 */
  line!: number;
  /** JSON pointer to the field that is wrong; empty: the row as a whole */
  pointer!: string;
  /** error code */
  code!: string;
  /** what is wrong, for a person */
  detail!: string;
}

/** What an import did, or with `dry_run` what it would do. */
export class ImportResultResponse {
  /** id under which the audit log has the changes; null for a preview */
  operation_id!: string | null;
  /** users that were created, or would be */
  created!: number;
  /** rows whose name, address or id is taken, with `on_conflict=skip` */
  skipped!: number;
  /** rows that no user was created from */
  failed_count!: number;
  /** the first 10,000 of them */
  failed!: FailedRowResponse[];
}
