/**
 * Permissions of the service, in the order of the editor. Roles may contain permissions of other
 * modules of the platform.
 */
export const ownPermissions = [
  'user:read',
  'user:read_deleted',
  'user:create',
  'user:update',
  'user:delete',
  'user:purge',
  'user:import',
  'user:export',
  'user:reset_factors',
  'session:read',
  'session:revoke',
  'role:read',
  'role:manage',
  'webhook:manage',
  'key:manage',
  'audit:read',
  'address_block:manage',
  'change:read',
  'mail:manage',
  'token:introspect',
  'login:forward',
] as const;

/** A permission of the service. */
export type OwnPermission = (typeof ownPermissions)[number];

/** The permissions of a module. */
export interface PermissionGroup {
  /** the part before the colon, such as `user` */
  module: string;
  permissions: string[];
}

/** Pattern of a permission: `module:action`. */
export const permissionPattern = /^[a-z0-9_-]{1,64}:[a-z0-9_-]{1,64}$/;

/** Groups permissions by module: first those of the service, then those of other modules. */
export function groupedByModule(permissions: readonly string[]): PermissionGroup[] {
  const own = ownPermissions.filter((permission) => permissions.includes(permission));
  const others = [...new Set(permissions)].filter((permission) => !isOwn(permission) && permission !== '*').sort();
  const groups = new Map<string, string[]>();
  for (const permission of [...own, ...others]) {
    const module = moduleOf(permission);
    groups.set(module, [...(groups.get(module) ?? []), permission]);
  }
  return [...groups].map(([module, names]) => ({ module, permissions: names }));
}

/** Returns the part of a permission before the colon, such as `user`. */
export function moduleOf(permission: string): string {
  return permission.split(':')[0] ?? '';
}

/** Returns whether a permission belongs to the service, not to another module. */
export function isOwn(permission: string): permission is OwnPermission {
  return (ownPermissions as readonly string[]).includes(permission);
}
