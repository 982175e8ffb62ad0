import type { UserType } from '../access/actor';
import type { RoleEntity } from './role.entity';

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
export function toRoleResponse({ name, description, user_types, permissions, may_grant, built_in }: RoleEntity): RoleResponse {
  return { name, description, user_types, permissions, may_grant, built_in };
}
