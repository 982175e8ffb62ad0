import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiExtension, ApiHeaders, ApiSecurity } from '@nestjs/swagger';
import { CheckFresh } from './fresh';
import { holds, type Permission } from './permissions';

/** Access rule of a route. */
export interface AccessRule {
  /** null: the route is public */
  login: 'required' | null;
  permission?: Permission;
  /** path parameter with a user id; a user does not need the permission for their own id */
  orSelf?: string;
  /** allows the route while the caller must change the password */
  duringPasswordChange?: boolean;
  /** allows the route while the caller must enrol a second factor */
  duringEnrollment?: boolean;
  /** allows only System Users without a scope: the route concerns every carrier */
  unscoped?: boolean;
  /**
   * whether API keys are allowed, or the permission that they need; by default allowed on routes
   * with a permission
   */
  apiKeys?: boolean | Permission;
  /**
   * also accepts an API key as OAuth client credentials: its id and the key, by HTTP Basic or in a
   * form (RFC 6749 §2.3.1)
   */
  clientCredentials?: boolean;
  /** also accepts tokens for other audiences: the route only describes tokens */
  anyAudience?: boolean;
  /**
   * rejects sessions with a part of the user's permissions: with an own factor, a module that
   * received such a token could log in without the limits (J30)
   */
  wholeLogin?: boolean;
  /** accepts the API key of a portal that forwards the request */
  portal?: boolean;
  /** rejects blocked addresses: the route logs in or resets a password */
  blockable?: boolean;
  /**
   * rate limit per address; by default `requests` on public routes and no limit on other routes.
   * `failures`: the handler counts failed token checks
   */
  limit?: 'login' | 'requests' | 'failures' | 'none';
  /** the handler can wait, and authorizes the request again before it responds (`Reauthorize`) */
  waits?: boolean;
  /**
   * rejects sessions whose last authentication is older than `FRESH_AUTH_SECONDS`, after validation
   * and before the handler. `true`: every request. A text: only the requests that the text
   * describes (the OpenAPI document shows it after "if"); the service calls `assertFresh` for them
   */
  fresh?: true | string;
}

/** Metadata key of the access rule, for the guard. */
export const accessRule = 'access:rule';

/**
 * Returns whether a route is open to an API key with these permissions. By default, routes without
 * a permission reject API keys, because users access their own data there.
 */
export function admitsKey(
  { apiKeys, permission }: Pick<AccessRule, 'apiKeys' | 'permission'>,
  permissions: readonly string[],
): boolean {
  return typeof apiKeys === 'string' ? holds(permissions, apiKeys) : (apiKeys ?? permission !== undefined);
}

/**
 * Requires a login, and the permission if given. The guard rejects requests to a route without
 * `@Allow` or `@Public`.
 */
export function Allow(
  permission?: Permission,
  options: Omit<AccessRule, 'login' | 'permission' | 'portal' | 'blockable'> = {},
): MethodDecorator {
  const rule: AccessRule = { login: 'required', permission, ...options };
  return applyDecorators(
    SetMetadata(accessRule, rule),
    ApiBearerAuth('bearer'),
    ApiSecurity('x-auth-token'),
    ...(rule.clientCredentials === true ? [ApiBasicAuth('client-credentials')] : []),
    ApiExtension('x-permission', permission ?? 'any login'),
    ApiExtension('x-keys', admitsKey(rule, ['*'])),
    ...(rule.fresh === undefined ? [] : [ApiExtension('x-fresh-auth', true)]),
    ...(typeof rule.fresh === 'string' ? [ApiExtension('x-fresh-auth-if', rule.fresh)] : []),
    ...(rule.fresh === true ? [CheckFresh()] : []),
  );
}

/** Makes a route public, and with `portal` open to portals. A test lists all public routes. */
export function Public(limit: NonNullable<AccessRule['limit']> = 'requests', portal = false): MethodDecorator {
  // Portals forward logins, resets and token checks. A token check needs a valid token.
  const rule: AccessRule = { login: null, limit, portal, blockable: portal && limit !== 'failures' };
  // A token check reads the token from the same headers, and works without one.
  const tokens = limit === 'failures' ? [ApiSecurity({}), ApiBearerAuth('bearer'), ApiSecurity('x-auth-token')] : [];
  if (portal) tokens.push(ApiHeaders(portalHeaders));
  return applyDecorators(SetMetadata(accessRule, rule), ...tokens, ApiExtension('x-permission', 'none'));
}

const inScope = 'For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.';
const key = { required: false, example: 'cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M' };
const address = { required: false, example: '203.0.113.7' };
const portalHeaders = [
  { name: 'X-Api-Key', description: `API key of a portal, with \`login:forward\`. ${inScope}`, ...key },
  { name: 'X-User-Address', description: 'IP address of the user; required with `X-Api-Key`', ...address },
];
