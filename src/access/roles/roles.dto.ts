import { type UserType, userTypes as types } from '../actor';
import { roleForm } from '../grant';
import { permissionItems } from '../permissions';
import { TextField, TextListField, TimeField } from '../../http/fields/fields';
import type { RoleEntity } from './role.entity';

/** Names that follow `/role/` in the paths of other operations. */
const reserved = ['list', 'create'];
const nameTest = {
  check: (name: string) => !reserved.includes(name.toLowerCase()),
  wants: 'must not be `list` or `create`',
  code: 'field.not_allowed' as const,
};
const nameLimits = {
  min: 1,
  max: 64,
  pattern: roleForm,
  form: 'must contain only letters, digits, `.`, `_` or `-`, and must not begin with `.`',
};
const userTypes = { minItems: 1, maxItems: 2, max: 16, values: types };
const permissionList = { optional: true, ...permissionItems };
const grantList = { optional: true, maxItems: 50, max: 64, pattern: roleForm, form: 'must be the name of a role' };

/** A new role. */
export class CreateRoleRequest {
  /**
   * 1–64 letters, digits, `.`, `_` or `-`, not beginning with `.`; unique without regard to case;
   * cannot be changed later; not `list` or `create`
   */
  @TextField({ ...nameLimits, test: nameTest, example: 'support' }) name!: string;
  /** purpose of the role, up to 500 characters; null = none */
  @TextField({ optional: true, nullable: true, max: 500, example: 'Helps users of all carriers' }) description?:
    string | null;
  /** types of users that the role can be granted to, at least one */
  @TextListField(userTypes) user_types!: UserType[];
  /**
   * permissions as `module:action` (up to 64 lower-case letters, digits, `_` or `-` on either
   * side), or `*` for all; only permissions that the caller holds
   */
  @TextListField(permissionList) permissions?: string[];
  /**
   * roles that holders may grant and revoke, in addition to roles whose permissions they hold; only
   * roles that the caller may grant
   */
  @TextListField(grantList) may_grant?: string[];
  /**
   * time from which users with the role need a second factor, in the past or future;
   * null = not required
   */
  @TimeField({ optional: true, nullable: true }) second_factor_required_from?: string | null;
}

/** Changes to a role. Absent fields stay unchanged (RFC 7396). */
export class ChangeRoleRequest {
  /** purpose of the role, up to 500 characters; null clears it */
  @TextField({ optional: true, nullable: true, max: 500 }) description?: string | null;
  /**
   * types of users that the role can be granted to, at least one; a type cannot be removed while
   * users of this type have the role
   */
  @TextListField({ ...userTypes, optional: true }) user_types?: UserType[];
  /** all permissions after the change; only permissions that the caller holds */
  @TextListField(permissionList) permissions?: string[];
  /**
   * all roles that holders may grant and revoke after the change; only roles that the caller may
   * grant
   */
  @TextListField(grantList) may_grant?: string[];
  /**
   * time from which users with the role need a second factor, in the past or future;
   * null = not required
   */
  @TimeField({ optional: true, nullable: true }) second_factor_required_from?: string | null;
}

/** A role. */
export class RoleResponse {
  /** 1–64 characters, unique @example support */
  name!: string;
  /** purpose of the role @example 'Helps users of all carriers' */
  description!: string;
  /** types of users that the role can be granted to */
  user_types!: UserType[];
  /** permissions as `module:action`, or `*` for all @example ["user:read"] */
  permissions!: string[];
  /**
   * roles that holders may grant and revoke, in addition to roles whose permissions they hold
   * @example ["carrier_user"]
   */
  may_grant!: string[];
  /** time from which users with the role need a second factor; null = not required */
  second_factor_required_from!: Date | null;
  /** true for roles of which only `second_factor_required_from` can be changed @example false */
  built_in!: boolean;
  /** increases with each change; the `ETag` */
  version!: number;
}

/** All roles. */
export class RoleListResponse {
  /** roles, sorted by name */
  items!: RoleResponse[];
}

/** Maps a role to its response, field by field. */
export function toRoleResponse({
  name,
  description,
  user_types,
  permissions,
  may_grant,
  second_factor_required_from,
  built_in,
  version,
}: RoleEntity): RoleResponse {
  return { name, description, user_types, permissions, may_grant, second_factor_required_from, built_in, version };
}
