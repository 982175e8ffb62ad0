/** Permissions of this service. The platform's modules add their own by naming them in roles. */
export const ownPermissions = {
  'user:read': 'Read users within the scope',
  'user:create': 'Create users within the scope',
  'user:update': 'Change users within the scope, individually or by a filter',
  'user:delete': 'Delete and restore users within the scope, and read deleted users',
  'user:purge': 'Remove users permanently',
  'user:import': 'Create users from a file',
  'user:export': 'Export users to a file',
  'user:reset_factors': 'Remove the second factors of users within the scope',
  'session:read': 'Read the sessions of users within the scope',
  'session:revoke': 'End the sessions of users within the scope',
  'role:read': 'Read roles',
  'role:manage': 'Create, change and delete roles',
  'mail:manage': 'Read waiting and failed mails to users within the scope, and retry them',
  'audit:read': 'Read the audit log within the scope',
  'key:manage': 'Create, read and revoke API keys',
  'token:introspect': 'Introspect tokens of other users',
} as const;

/** A permission of the service itself. */
export type Permission = keyof typeof ownPermissions;

/** Rules for the permissions of roles and API keys: `module:action`, or `*` for all. */
export const permissionItems = {
  maxItems: 200,
  max: 129,
  pattern: /^(\*|[a-z0-9_-]{1,64}:[a-z0-9_-]{1,64})$/,
  form: 'must be `module:action` in lower case, or `*`',
};

/** Returns whether a list contains a permission or `*`. There are no other wildcards. */
export function holds(permissions: readonly string[], wanted: string): boolean {
  return permissions.includes('*') || permissions.includes(wanted);
}
