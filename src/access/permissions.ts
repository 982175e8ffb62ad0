import { closest, distance } from 'fastest-levenshtein';
import { AppError, type FieldError } from '../http/errors/app-error';

/** The closed list of this service's permissions. The platform's modules name theirs in roles. */
export const ownPermissions = {
  'user:read': 'Read users within the scope',
  'user:read_deleted': 'Read all fields of deleted users within the scope',
  'user:create': 'Create users within the scope',
  'user:update': 'Change users within the scope, individually or by a filter',
  'user:delete': 'Delete and restore users within the scope',
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
  'change:read': 'Follow what changes about users, sessions, roles and API keys within the scope',
  'webhook:manage': 'Create, read and delete webhooks, which send the changes within the scope',
  'address_block:manage': 'Block logins and password resets from networks',
  'key:manage': 'Create, read and revoke API keys',
  'token:introspect': 'Introspect tokens of other users',
  'login:forward': 'Pass on the addresses of users within the scope who log in through a portal',
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

/** Query parameter of operations that take permissions; see `misspeltPermissions`. */
export const newPrefixParameter = {
  name: 'new_prefix',
  description: '`true`: accepts the name of a module that differs in one letter from a module of this service',
  schema: { type: 'boolean', default: false, example: false },
};

/** Returns whether a list contains a permission or `*`. There are no other wildcards. */
export function holds(permissions: readonly string[], wanted: string): boolean {
  return permissions.includes('*') || permissions.includes(wanted);
}

/** Returns the error for a missing permission. The error names the permission. */
export function missingPermission(permission: string): AppError {
  const detail = `The permission ${permission} is missing.`;
  const errors = [{ code: 'permission.missing', detail, params: { permission } }];
  return new AppError('access.denied', { detail, errors });
}

/** Rejects an actor without a permission. @throws access.denied */
export function assertHolds({ permissions }: { permissions: readonly string[] }, wanted: string): void {
  if (!holds(permissions, wanted)) throw missingPermission(wanted);
}

const moduleOf = (permission: string) => permission.split(':')[0] ?? '';
const ownNames = Object.keys(ownPermissions);

/**
 * Returns an error for each permission that is probably misspelt: an unknown permission of a module
 * of this service (`user:raed`), or a module name one edit from a module of this service
 * (`usr:read`).
 * @param newPrefix whether the caller confirms the names of other modules
 */
export function misspeltPermissions(permissions: readonly string[], newPrefix: boolean): FieldError[] {
  return permissions.flatMap((permission) => {
    const module = moduleOf(permission);
    const own = ownNames.map(moduleOf).find((other) => distance(other, module) <= (newPrefix ? 0 : 1));
    if (own === undefined || ownNames.includes(permission)) return [];
    const known = ownNames.filter((name) => moduleOf(name) === own);
    const did_you_mean = closest(permission.replace(module, own), known);
    const remedy = own === module ? '' : ' If the name of the module is correct, send `new_prefix=true`.';
    const detail = `contains the unknown permission ${permission}. Did you mean ${did_you_mean}?${remedy}`;
    return [{ pointer: '/permissions', code: 'permission.unknown', detail, params: { permission, did_you_mean } }];
  });
}
