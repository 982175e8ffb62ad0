import type { UserType } from '../actor';
import { permissionItems } from '../permissions';
import { IntegerField, TextField, TextListField, TimeField } from '../../http/fields/fields';
import { PageResponse } from '../../http/lists/page.dto';
import type { ApiKeyEntity } from './api-key.entity';

const carrierIdForm = /^[A-Za-z0-9._-]+$/;
const carrierIds = {
  maxItems: 1_000,
  min: 1,
  max: 64,
  pattern: carrierIdForm,
  form: 'must contain only letters, digits, `.`, `_` or `-`',
};

/** A new API key. */
export class CreateKeyRequest {
  /** display name, 1–100 characters; need not be unique */
  @TextField({ min: 1, max: 100, example: 'billing' }) name!: string;
  /** 1–200 permissions that the caller holds: `module:action` as in roles, or `*` for all */
  @TextListField({ minItems: 1, ...permissionItems, example: ['user:read'] }) permissions!: string[];
  /** time of expiry, RFC 3339; in the future, at most one year ahead */
  @TimeField({ example: '2027-06-30T00:00:00Z' }) expires_at!: string;
  /**
   * carriers that the key is limited to; null or absent = all, `[]` = none. For System Users only;
   * must lie within the caller's own scope
   */
  @TextListField({ optional: true, nullable: true, ...carrierIds }) carrier_scope?: string[] | null;
}

/** How long the old secret of an API key works, and when the key expires. */
export class RotateKeyRequest {
  /**
   * seconds for which the old secret keeps working, 0–604,800, but not beyond the expiry that it
   * had before the rotation
   */
  @IntegerField({ min: 0, max: 604_800, example: 86_400 }) keep_old_seconds!: number;
  /** new time of expiry, RFC 3339; in the future, at most one year ahead; absent = unchanged */
  @TimeField({ optional: true, example: '2027-06-30T00:00:00Z' }) expires_at?: string;
}

/** An API key, without the key itself. */
export class KeyResponse {
  /** UUIDv7 @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2 */
  key_id!: string;
  /** display name @example billing */
  name!: string;
  /** `module:action`, or `*` for all */
  permissions!: string[];
  /** user type of the creator: the key sees the same kinds of users */
  user_type!: UserType;
  /** carrier that the key belongs to, if a Carrier User created it */
  carrier_id!: string | null;
  /** carriers that the key is limited to; null = all, or only `carrier_id` if that is set */
  carrier_scope!: string[] | null;
  /** whether the key is active: neither expired, suspended nor revoked */
  active!: boolean;
  /** time of creation, RFC 3339 in UTC */
  created_at!: Date;
  /** user who created the key; the key stays active without this user */
  created_by!: string;
  /** time of expiry */
  expires_at!: Date;
  /** time of the last use, to the minute */
  last_used_at!: Date | null;
  /** IP address of the last request with the key; introspection of the key does not change it @example 203.0.113.7 */
  last_used_ip!: string | null;
  /** time of revocation */
  revoked_at!: Date | null;
  /** user or key that revoked the key */
  revoked_by!: string | null;
  /** time of suspension by `POST /user/{user_id}/secure`; null if the key is not suspended */
  suspended_at!: Date | null;
  /** time until which the old secret works after a rotation; null if no old secret works */
  previous_until!: Date | null;
  /** time of the last use of the old secret since the rotation, to the minute; null = not used */
  previous_last_used_at!: Date | null;
}

/** An API key together with its new secret. */
export class CreatedKeyResponse extends KeyResponse {
  /**
   * the key itself, `cik_` and 43 characters: send it as `Authorization: Bearer …`. No other
   * response contains it
   * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
   */
  key!: string;
}

/** A page of API keys. */
export class KeyListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: KeyResponse[];
}

/** An API key as read from the database: with computed columns, without the hash. */
export type ApiKeyRecord = Omit<ApiKeyEntity, 'token_hash' | 'previous_hash' | 'rotated_at' | 'rotated_by'> & {
  active: boolean;
};

/** Returns the public fields of a key, from an allow-list. */
export function toApiKeyResponse(key: ApiKeyRecord): KeyResponse {
  const { key_id, name, permissions, user_type, carrier_id, carrier_scope, active } = key;
  const { created_at, created_by, expires_at, last_used_at, last_used_ip, revoked_at, revoked_by, suspended_at } = key;
  const rights = { permissions, user_type, carrier_id, carrier_scope };
  const times = { created_at, created_by, expires_at, last_used_at, last_used_ip };
  const { previous_until, previous_last_used_at } = key;
  const previous = { previous_until, previous_last_used_at };
  return { key_id, name, ...rights, active, ...times, revoked_at, revoked_by, suspended_at, ...previous };
}
