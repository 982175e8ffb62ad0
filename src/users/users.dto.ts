import { IntersectionType, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { type FactorKind, type UserType, userTypes } from '../access/actor';
import { roleForm } from '../access/grant';
import { BooleanField, EmailField, JsonObjectField, TextField, TextListField, TimeField } from '../http/fields/fields';
import { PageResponse } from '../http/lists/page.dto';
import { addressForm } from '../platform/text-forms';
import type { Timed } from '../platform/times';
import { userFieldsWith } from './user-fields';
import { deletedUserFields } from './user-list';
import { type UserEntity, type UserStatus, userStatuses } from './user.entity';
import { carrierIdForm, isTimezone, localeForm, nameForm, phoneForm, timezoneForm } from './user-fields';

const locale = { min: 2, max: 35, pattern: localeForm, form: 'must be a language tag such as de-AT' };
const code = 'field.not_allowed' as const;
const timezoneWants = 'must be a time zone such as Europe/Vienna';
const timezone = {
  min: 1,
  max: 64,
  pattern: timezoneForm,
  form: timezoneWants,
  test: { check: isTimezone, wants: timezoneWants, code },
};
const attributesLimits = { maxBytes: 16_384, maxDepth: 5, maxKeys: 100 };
const nameLimits = { min: 3, max: 64, pattern: nameForm, form: 'must contain only letters, digits, `.`, `_` or `-`' };
const carrierIdLimits = {
  min: 1,
  max: 64,
  pattern: carrierIdForm,
  form: 'must contain only letters, digits, `.`, `_` or `-`',
};
/** Limits of a list of carriers. */
export const carrierIds = { optional: true, nullable: true, maxItems: 1_000, ...carrierIdLimits };
const roleNames = { optional: true, maxItems: 20, max: 64, pattern: roleForm, form: 'must be the name of a role' };
const addresses = {
  optional: true,
  maxItems: 50,
  min: 2,
  max: 49,
  pattern: addressForm,
  form: 'must be an IP address or a CIDR',
};

/** Fields that users may change for themselves. */
export class PersonalFields {
  /** up to 100 characters; null clears it */
  @TextField({ optional: true, nullable: true, max: 100, example: 'Ada' }) first_name?: string | null;
  /** up to 100 characters; null clears it */
  @TextField({ optional: true, nullable: true, max: 100, example: 'Lovelace' }) last_name?: string | null;
  /** E.164, such as +4312345678; null clears it */
  @TextField({
    optional: true,
    nullable: true,
    max: 16,
    pattern: phoneForm,
    form: 'must be an E.164 number such as +4312345678',
  })
  phone?: string | null;
  /** up to 100 characters; an empty text or null clears it */
  @TextField({ optional: true, nullable: true, max: 100, example: 'Head of Operations' }) job_title?: string | null;
  /** up to 128 characters; an empty text or null clears it */
  @TextField({ optional: true, nullable: true, max: 128, example: 'Dispatch' }) department?: string | null;
  /** BCP 47 language tag, also the language of mails; null clears it */
  @TextField({ optional: true, nullable: true, ...locale, example: 'en-GB' }) locale?: string | null;
  /** IANA name of a known time zone; null clears it */
  @TextField({ optional: true, nullable: true, ...timezone, example: 'Europe/Vienna' }) timezone?: string | null;
}

/** A new user. */
export class CreateUserRequest extends PersonalFields {
  /** `system` manages the platform's modules, `carrier` uses its services; never changes */
  @TextField({ max: 16, values: userTypes }) user_type!: UserType;
  /** login name, 3–64 letters, digits, `.`, `_` or `-`; unique without regard to case */
  @TextField({ ...nameLimits, example: 'ada' }) name!: string;
  /** unique without regard to case; at most 254 characters */
  @EmailField({ example: 'ada@example.com' }) email!: string;
  /** carrier; required for a Carrier User, rejected for a System User */
  @TextField({ optional: true, nullable: true, ...carrierIdLimits }) carrier_id?: string | null;
  /** carriers to which a System User is limited; null = all, `[]` = none */
  @TextListField(carrierIds) carrier_scope?: string[] | null;
  /** names of roles; each role must be open to the `user_type` */
  @TextListField(roleNames) roles?: string[];
  /** IP addresses or CIDRs from which the user may log in; empty = any */
  @TextListField(addresses) allowed_ips?: string[];
  /**
   * free JSON object of at most 16 KiB, 5 levels and 100 keys in total; integers within
   * ±(2^53 - 1), no NUL
   */
  @JsonObjectField({ optional: true, ...attributesLimits }) attributes?: Record<string, unknown>;
  /**
   * 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum). Without a password, the user is
   * invited by mail to set one. An unused initial password expires after 7 days
   */
  @TextField({ optional: true, min: 1, max: 1_024, raw: true, format: 'password' }) password?: string;
  /** whether the user must change the password at the first login; default true with `password` */
  @BooleanField({ optional: true }) must_change_password?: boolean;
  /**
   * time from which the user needs a second factor, in the past or future;
   * null = as the roles require
   */
  @TimeField({ optional: true, nullable: true }) second_factor_required_from?: string | null;
}

/** Fields that can be changed on one user and in bulk. */
export class SharedChanges {
  /** `active` requires a password; `invited` enables a disabled user without a password */
  @TextField({ optional: true, max: 16, values: userStatuses }) status?: UserStatus;
  /** names of roles; replaces all roles of the user */
  @TextListField(roleNames) roles?: string[];
  /** carriers to which a System User is limited; null = all, `[]` = none */
  @TextListField(carrierIds) carrier_scope?: string[] | null;
  /** IP addresses or CIDRs allowed for the user; empty = any. Sessions from other addresses end */
  @TextListField(addresses) allowed_ips?: string[];
  /** merged into the attributes (RFC 7396): null removes a key; limits as in `POST /user/create` */
  @JsonObjectField({ optional: true, ...attributesLimits }) attributes?: Record<string, unknown>;
  /**
   * whether the user must change the password before any other request. Does not void the password:
   * a thief who knows it can choose the next password. `POST /user/{user_id}/secure` prevents this
   */
  @BooleanField({ optional: true }) must_change_password?: boolean;
  /**
   * time from which the user needs a second factor, in the past or future;
   * null = as the roles require
   */
  @TimeField({ optional: true, nullable: true }) second_factor_required_from?: string | null;
}

/** Changes of one user. Absent fields stay unchanged, null clears a field (RFC 7396). */
export class ChangeUserRequest extends IntersectionType(PersonalFields, SharedChanges) {
  /** login name, 3–64 letters, digits, `.`, `_` or `-`; unique without regard to case */
  @TextField({ optional: true, ...nameLimits }) name?: string;
  /** stored as `email_pending` until confirmed by mail; for an invited user it changes at once */
  @EmailField({ optional: true }) email?: string;
}

/** Changes of all matching users. */
export class ChangeFoundUsersRequest extends IntersectionType(
  PickType(PersonalFields, userFieldsWith('self_changeable', 'bulk_changeable')),
  SharedChanges,
) {
  /** roles to add; not together with `roles` */
  @TextListField({ ...roleNames, example: ['carrier_administrator'] }) roles_add?: string[];
  /** roles to remove; not together with `roles`, and none of `roles_add` */
  @TextListField({ ...roleNames, example: ['carrier_user'] }) roles_remove?: string[];
  /**
   * true removes all second factors and recovery codes, which also needs `user:reset_factors`;
   * not with an API key, and cannot be undone
   */
  @BooleanField({ optional: true }) reset_second_factors?: boolean;
  /**
   * true secures the accounts as `POST /user/{user_id}/secure` does, and keeps second factors and
   * API keys. Cannot be combined with other fields, and cannot be undone
   */
  @BooleanField({ optional: true }) secure?: boolean;
  /**
   * true mails a new invitation to the users who are `invited`, and skips all others. Cannot be
   * combined with other fields, and cannot be undone
   */
  @BooleanField({ optional: true }) invite?: boolean;
}

/** A user, without any secret. */
export class UserResponse {
  /** UUIDv7 @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e */
  user_id!: string;
  /** `system` or `carrier`; never changes */
  user_type!: UserType;
  /** login name @example ada */
  name!: string;
  /** current e-mail address @example ada@example.com */
  email!: string;
  /** proposed new e-mail address, not yet confirmed @example ada@example.net */
  email_pending!: string | null;
  /** time of the last verification of `email` */
  email_verified_at!: Date | null;
  /** first name, or empty @example Ada */
  first_name!: string;
  /** last name, or empty @example Lovelace */
  last_name!: string;
  /** E.164 phone number @example +4312345678 */
  phone!: string | null;
  /** job title @example Head of Operations */
  job_title!: string | null;
  /** department @example Dispatch */
  department!: string | null;
  /** BCP 47 language tag @example en-GB */
  locale!: string | null;
  /** IANA name of the time zone @example Europe/Vienna */
  timezone!: string | null;
  /** carrier of a Carrier User @example acme */
  carrier_id!: string | null;
  /** carriers to which a System User is limited; null = all @example ["acme"] */
  carrier_scope!: string[] | null;
  /** names of roles @example ["carrier_user"] */
  roles!: string[];
  /** `invited` (no password yet), `active` or `disabled` */
  status!: UserStatus;
  /** CIDRs from which the user may log in; empty = any @example ["203.0.113.0/24"] */
  allowed_ips!: string[];
  /** free JSON object @example {"tier": "gold"} */
  attributes!: Record<string, unknown>;
  /** whether the user must change the password before any other request; voids no password @example false */
  must_change_password!: boolean;
  /** whether the user was seen within the last 5 minutes, in a session that has not ended */
  online!: boolean;
  /** kinds of the confirmed second factors, `totp` or `passkey`, each once */
  second_factors!: FactorKind[];
  /** time from which the user needs a second factor; null = as the roles require */
  second_factor_required_from!: Date | null;
  /** whether a second factor is required now and none is enrolled */
  must_enroll_second_factor!: boolean;
  /** time of creation, RFC 3339 in UTC */
  created_at!: Date;
  /** user or API key that created the user; null = the service */
  created_by!: string | null;
  /** time of the last change of a field */
  updated_at!: Date;
  /** time of the last login */
  last_login_at!: Date | null;
  /** IP address of the last login @example 203.0.113.7 */
  last_login_ip!: string | null;
  /** time of the last activity, to the minute */
  last_seen_at!: Date | null;
  /** time when the password was last set or voided */
  password_changed_at!: Date | null;
  /**
   * end of the account lockout; IP addresses from which the user logged in within 30 days are
   * exempt. The year 9999 = until the password is reset
   */
  locked_until!: Date | null;
  /** time of the deletion; null = not deleted */
  deleted_at!: Date | null;
  /** increases with each change; the `ETag` @example 3 */
  version!: number;
}

/** A user in a preview. Callers without `user:read` see only the id. */
export class PreviewedUserResponse extends IntersectionType(
  PickType(UserResponse, ['user_id']),
  PartialType(OmitType(UserResponse, ['user_id'])),
) {}

/** The logged-in user. */
export class CurrentUserResponse extends UserResponse {
  /**
   * permissions of all roles; empty while the user must change the password or enrol a second
   * factor
   * @example ["user:read"]
   */
  permissions!: string[];
}

/**
 * A user in a list. Has all fields, except for a deleted user and a caller without
 * `user:read_deleted`.
 */
export class ListedUserResponse extends IntersectionType(
  PickType(UserResponse, deletedUserFields),
  PartialType(OmitType(UserResponse, deletedUserFields)),
) {}

/** A page of users. */
export class UserListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: ListedUserResponse[];
  /**
   * value of `after` for `GET /change/list`, taken before the page was read: the feed continues
   * with the changes that the page lacks @example WyI5MTQiLCIwMTkyIl0.mZ4kTq1v
   */
  changes_cursor!: string;
}

/** A row of `users` with its computed columns. */
export type UserRecord = UserEntity & { online: boolean; must_enroll_second_factor: boolean };

/** Returns the public form of a user: an allow-list of columns (OWASP API3:2023). */
export function toUserResponse<Time = Date>(user: Timed<UserRecord, Time>): Timed<UserResponse, Time> {
  // One literal on purpose: building the response from parts takes 100 times as long.
  return {
    user_id: user.user_id,
    user_type: user.user_type,
    name: user.name,
    email: user.email,
    email_pending: user.email_pending,
    email_verified_at: user.email_verified_at,
    first_name: user.first_name,
    last_name: user.last_name,
    phone: user.phone,
    job_title: user.job_title,
    department: user.department,
    locale: user.locale,
    timezone: user.timezone,
    carrier_id: user.carrier_id,
    carrier_scope: user.carrier_scope,
    roles: user.roles,
    status: user.status,
    allowed_ips: user.allowed_ips,
    attributes: user.attributes,
    must_change_password: user.must_change_password,
    online: user.online,
    second_factors: [...new Set(user.second_factors)],
    second_factor_required_from: user.second_factor_required_from,
    must_enroll_second_factor: user.must_enroll_second_factor,
    created_at: user.created_at,
    created_by: user.created_by,
    updated_at: user.updated_at,
    last_login_at: user.last_login_at,
    last_login_ip: user.last_login_ip,
    last_seen_at: user.last_seen_at,
    password_changed_at: user.password_changed_at,
    locked_until: user.locked_until,
    deleted_at: user.deleted_at,
    version: user.version,
  };
}
