import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMe } from '../session/use-me';
import { holdersQuery, type Role, rolesQuery } from './data';

/** What the user may do with roles. */
export interface RoleRights {
  /** whether the user may create roles */
  mayManage: boolean;
  /** Returns whether the user may change or delete a role: it must not exceed their permissions. */
  mayChange: (role: Role) => boolean;
  /** Returns whether the user may grant a role. */
  mayGrant: (role: Role, all: readonly Role[]) => boolean;
}

/** Returns the query of all roles, sorted by name. Disabled without `role:read`. */
export function useRoles(isNeeded = true): UseQueryResult<Role[]> {
  const { can } = useMe();
  return useQuery({ ...rolesQuery(), enabled: isNeeded && can('role:read') });
}

/** Returns the names of all roles, or none without `role:read`. */
export function useRoleNames(isNeeded = true): string[] {
  return useRoles(isNeeded).data?.map(({ name }) => name) ?? [];
}

/** Returns what the user may do with roles. Only System Users without a scope may manage them. */
export function useRoleRights(): RoleRights {
  const { user, can } = useMe();
  const mayManage = can('role:manage') && user.user_type === 'system' && user.carrier_scope === null;
  const holdsAll = ({ permissions }: Role) => permissions.every(can);
  return {
    mayManage,
    mayChange: (role) => mayManage && holdsAll(role),
    mayGrant: (role, all) =>
      holdsAll(role) || all.some(({ name, may_grant }) => user.roles.includes(name) && may_grant.includes(role.name)),
  };
}

/**
 * Returns the number of users within the caller's scope who have a role, or undefined if the caller
 * may not read users.
 */
export function useHolderCount(role: string): number | undefined {
  const { can } = useMe();
  const { data } = useQuery({ ...holdersQuery(role), enabled: can('user:read') });
  return data?.total?.value;
}
