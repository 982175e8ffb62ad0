import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiExtension, ApiSecurity } from '@nestjs/swagger';
import { holds, type Permission } from './permissions';

/** What a route demands of its caller. */
export interface AccessRule {
  /** null: nobody needs to be logged in */
  login: 'required' | null;
  permission?: Permission;
  /** the permission is not needed where this path parameter is the caller's own id */
  orSelf?: string;
  /** still works while the password must be changed */
  duringPasswordChange?: boolean;
  /**
   * for System Users without scope only: what concerns every carrier is not for those who see some
   */
  unscoped?: boolean;
  /**
   * whether keys for machines are admitted, or those that hold a permission; by default where one
   * is demanded of everybody
   */
  apiKeys?: boolean | Permission;
  /**
   * keys may also come as libraries for OAuth send the credentials of a client: by HTTP Basic,
   * their id and themselves (RFC 6749 §2.3.1)
   */
  clientCredentials?: boolean;
  /**
   * which limit per address a route counts against: public ones always, others where they verify a
   * password; token checks count their failures only
   */
  limit?: 'login' | 'requests' | 'failures' | 'none';
}

/** Metadata key under which the guard finds the rule of a route. */
export const accessRule = 'access:rule';

/**
 * Whether a route is open to a key with these permissions. One for any login is made for users, who
 * have something of their own there.
 */
export function admitsKey(
  { apiKeys, permission }: Pick<AccessRule, 'apiKeys' | 'permission'>,
  permissions: readonly string[],
): boolean {
  return typeof apiKeys === 'string' ? holds(permissions, apiKeys) : (apiKeys ?? permission !== undefined);
}

/**
 * Demands a login, and a permission where one is named. A route without `@Allow` or `@Public` is
 * refused by the guard.
 */
export function Allow(
  permission?: Permission,
  options: Pick<
    AccessRule,
    'orSelf' | 'duringPasswordChange' | 'unscoped' | 'limit' | 'apiKeys' | 'clientCredentials'
  > = {},
): MethodDecorator {
  const rule: AccessRule = { login: 'required', permission, ...options };
  return applyDecorators(
    SetMetadata(accessRule, rule),
    ApiBearerAuth('bearer'),
    ApiSecurity('x-auth-token'),
    ...(rule.clientCredentials === true ? [ApiBasicAuth('client-credentials')] : []),
    ApiExtension('x-permission', permission ?? 'any login'),
    ApiExtension('x-keys', admitsKey(rule, ['*'])),
  );
}

/** Opens a route to everyone. The list of such routes is written out in a test. */
export function Public(limit: NonNullable<AccessRule['limit']> = 'requests'): MethodDecorator {
  const rule: AccessRule = { login: null, limit };
  // what looks at tokens itself takes them from the same headers, and does without
  const tokens = limit === 'failures' ? [ApiSecurity({}), ApiBearerAuth('bearer'), ApiSecurity('x-auth-token')] : [];
  return applyDecorators(SetMetadata(accessRule, rule), ...tokens, ApiExtension('x-permission', 'none'));
}
