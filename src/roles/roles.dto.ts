import type { UserType } from '../access/actor';
import { roleForm } from '../access/grant';
import { permissionItems } from '../access/permissions';
import { TextField, TextListField } from '../common/http/fields';
import type { RoleEntity } from './role.entity';

/** What comes after `/role/` in the paths of other operations. */
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
  form: 'must be 1 to 64 of letters, digits, `.`, `_`, `-`, and not begin with `.`',
};
const userTypes = { minItems: 1, maxItems: 2, max: 16, values: ['system', 'carrier'] };
const permissionList = { optional: true, ...permissionItems };
const grantList = { optional: true, maxItems: 50, max: 64, pattern: roleForm, form: 'must be the name of a role' };

/** A new role. */
export class CreateRoleRequest {
  /**
   * 1–64 of letters, digits, `.`, `_`, `-`, not beginning with `.`; unique without regard to
   * case; never changes; not `list` or `create`
   */
  @TextField({ ...nameLimits, test: nameTest, example: 'support' }) name!: string;
  /** for people; up to 500 characters; null = none */
  @TextField({ optional: true, nullable: true, max: 500, example: 'Helps users of all carriers' }) description?:
    string | null;
  /** kinds of users it can be given to, at least one */
  @TextListField(userTypes) user_types!: UserType[];
  /**
   * `module:action` each (up to 64 lower-case letters, digits, `_`, `-` on either side), or `*` for
   * all; only what one holds oneself
   */
  @TextListField(permissionList) permissions?: string[];
  /**
   * roles that its holders may give and take besides those whose permissions they hold; only roles
   * that one may give oneself
   */
  @TextListField(grantList) may_grant?: string[];
}

/** Changes of a role: absent = unchanged (RFC 7396). */
export class ChangeRoleRequest {
  /** for people; up to 500 characters; null clears it */
  @TextField({ optional: true, nullable: true, max: 500 }) description?: string | null;
  /**
   * kinds of users it can be given to, at least one; a kind stays while users of that kind have the
   * role
   */
  @TextListField({ ...userTypes, optional: true }) user_types?: UserType[];
  /** all permissions it has from now on; only what one holds oneself */
  @TextListField(permissionList) permissions?: string[];
  /** all roles that its holders may give and take besides; only roles that one may give oneself */
  @TextListField(grantList) may_grant?: string[];
}

/** A role. */
export class RoleResponse {
  /** 1–64 characters, unique */
  name!: string;
  /** for people */
  description!: string;
  /** kinds of users it can be given to */
  user_types!: UserType[];
  /** `module:action`, or `*` for all */
  permissions!: string[];
  /** roles that its holders may give and take besides those whose permissions they hold */
  may_grant!: string[];
  /** fixed: can be neither changed nor deleted */
  built_in!: boolean;
}

/** All roles. */
export class RoleListResponse {
  /** by name */
  items!: RoleResponse[];
}

/** The public form of a role: an allow-list. */
export function toRoleResponse({
  name,
  description,
  user_types,
  permissions,
  may_grant,
  built_in,
}: RoleEntity): RoleResponse {
  return { name, description, user_types, permissions, may_grant, built_in };
}
