/** The service's own permissions. The platform's modules add theirs by naming them in roles. */
export const ownPermissions = {
  'user:read': 'Read users within the scope',
  'user:create': 'Create users within the scope',
  'user:update': 'Change users within the scope, singly or as a filter finds them',
  'user:delete': 'Delete and restore users within the scope, and see the deleted ones',
  'user:purge': 'Remove users for good',
  'user:import': 'Create users from a file',
  'user:export': 'Take users out into a file',
  'session:read': 'See the sessions of users within the scope',
  'session:revoke': 'End the sessions of users within the scope',
  'role:read': 'See the roles',
  'role:manage': 'Create, change and delete roles',
  'audit:read': 'Read the audit log within the scope',
  'key:manage': 'Make and revoke keys for machines',
  'token:introspect': 'Ask about tokens of others',
} as const;

/** A permission of the service itself. */
export type Permission = keyof typeof ownPermissions;

/** What a permission is, of a role and of a key: `module:action`, or all there are. */
export const permissionItems = {
  maxItems: 200,
  max: 129,
  pattern: /^(\*|[a-z0-9_-]{1,64}:[a-z0-9_-]{1,64})$/,
  form: 'must be `module:action` in lower case, or `*`',
};

/** Whether a list of permissions holds one. Exact names only: `*` is all, `user:*` is nothing. */
export function holds(permissions: readonly string[], wanted: string): boolean {
  return permissions.includes('*') || permissions.includes(wanted);
}
