import type { UserType } from '../access/actor';
import { permissionItems } from '../access/permissions';
import { TextField, TextListField } from '../common/http/fields';
import { PageResponse } from '../common/http/page.dto';
import { timeForm } from '../common/text-forms';
import { readValue } from '../common/query/filter-value';
import type { ApiKeyEntity } from './api-key.entity';

const carrierIdForm = /^[A-Za-z0-9._-]+$/;
const carrierIds = {
  maxItems: 1_000,
  min: 1,
  max: 64,
  pattern: carrierIdForm,
  form: 'must be 1 to 64 of letters, digits, `.`, `_`, `-`',
};
const timeTest = {
  check: (text: string) => readValue(text, { type: 'time' }).ok,
  wants: 'must be an RFC 3339 time such as 2026-11-20T13:00:00Z',
};

/** A new key. */
export class CreateKeyRequest {
  /** for people: 1–100 characters, need not be unique */
  @TextField({ min: 1, max: 100, example: 'billing' }) name!: string;
  /** `module:action` as in roles, or `*` for all: 1–200, only such as the maker has */
  @TextListField({ minItems: 1, ...permissionItems, example: ['user:read'] }) permissions!: string[];
  /** RFC 3339; in the future, at most one year ahead */
  @TextField({ max: 35, format: 'date-time', pattern: timeForm, form: timeTest.wants, test: timeTest })
  expires_at!: string;
  /**
   * carriers that the key is limited to; null or absent = all, `[]` = none. For System Users only,
   * and within the maker's own scope
   */
  @TextListField({ optional: true, nullable: true, ...carrierIds }) carrier_scope?: string[] | null;
}

/** A key, without what it is used with. */
export class KeyResponse {
  /** UUIDv7 */
  key_id!: string;
  /** for people */
  name!: string;
  /** `module:action`, or `*` for all */
  permissions!: string[];
  /** kind of user that it acts like: that of its maker */
  user_type!: UserType;
  /** carrier whose key it is, when a Carrier User made it */
  carrier_id!: string | null;
  /** carriers that it is limited to; null = all, or those of `carrier_id` */
  carrier_scope!: string[] | null;
  /** whether it works: neither revoked nor expired */
  active!: boolean;
  /** when it was made, RFC 3339 in UTC */
  created_at!: Date;
  /** user who made it; the key goes on without them */
  created_by!: string;
  /** when it expires */
  expires_at!: Date;
  /** last use, to the minute */
  last_used_at!: Date | null;
  /** address of the last use, noted together with its time */
  last_used_ip!: string | null;
  /** when it was revoked */
  revoked_at!: Date | null;
  /** user or key that revoked it */
  revoked_by!: string | null;
}

/** A key that was just made. */
export class CreatedKeyResponse extends KeyResponse {
  /**
   * the key itself, `cik_` and 43 characters: send it as `Authorization: Bearer …`. Shown this
   * once
   */
  key!: string;
}

/** A page of keys. */
export class KeyListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: KeyResponse[];
}

/** A key row with what is computed, as it is read: never with the hash. */
export type ApiKeyRecord = Omit<ApiKeyEntity, 'token_hash'> & { active: boolean };

/** The public form of a key: an allow-list. */
export function toApiKeyResponse(key: ApiKeyRecord): KeyResponse {
  const {
    key_id,
    name,
    permissions,
    user_type,
    carrier_id,
    carrier_scope,
    active,
    created_at,
    created_by,
    expires_at,
  } = key;
  const { last_used_at, last_used_ip, revoked_at, revoked_by } = key;
  const origin = { active, created_at, created_by, expires_at };
  return {
    key_id,
    name,
    permissions,
    user_type,
    carrier_id,
    carrier_scope,
    ...origin,
    last_used_at,
    last_used_ip,
    revoked_at,
    revoked_by,
  };
}
