import type { Actor } from '../../access/actor';
import { holds, missingPermission, permissionItems } from '../../access/permissions';
import { ownAudience } from '../../access/token-grant';
import { AppError, type FieldError, invalid, limitFault } from '../../http/errors/app-error';
import { readBoolean } from '../../http/lists/boolean-parameter';
import { parseFilter, type RawQuery } from '../../http/lists/filter';
import type { ParameterDoc } from '../../http/lists/parameters';

/** Maximum number of permissions of a request: the response must fit into the buffer of a proxy. */
const permissionsMax = 20;
const audienceForm = /^[!-~]{1,64}$/;

/** Requirements that the caller of a proxy must meet. */
export interface Requirements {
  permissions: string[];
  /** whether each permission is required; otherwise any of them suffices */
  all: boolean;
  /** audience that an access token must have; undefined = any */
  audience: string | undefined;
}

/** Query parameters of `GET /auth/verify`. */
export const verifyParameters: ParameterDoc[] = [
  {
    name: 'permission',
    description: `Required permission; repeatable, up to ${permissionsMax} times. Any suffices, unless \`all=true\``,
    schema: {
      type: 'array',
      items: {
        type: 'string',
        minLength: 1,
        maxLength: permissionItems.max,
        pattern: permissionItems.pattern.source,
      },
      minItems: 1,
      maxItems: permissionsMax,
      example: ['billing:read'],
    },
    style: 'form',
    explode: true,
  },
  {
    name: 'all',
    description: '`true`: requires each `permission`',
    schema: { type: 'boolean', default: false, example: false },
  },
  {
    name: 'audience',
    description:
      'Name of the module: the `aud` of an access token must contain it. By default, any audience is accepted. ' +
      'API keys have no audience',
    schema: { type: 'string', minLength: 1, maxLength: 64, pattern: audienceForm.source, example: 'billing' },
  },
];

/** Parses the query of `GET /auth/verify`. @throws request.invalid */
export function parseVerifyQuery({ permission = [], all, audience, ...others }: RawQuery): Requirements {
  const errors: FieldError[] = [];
  parseFilter(others, { fields: {} }, errors);
  const permissions = [permission].flat();
  if (permissions.length > permissionsMax)
    errors.push({ parameter: 'permission', ...limitFault('parameter.too_many', { max: permissionsMax }) });
  // Only permissions in this form may reach a header (J33).
  if (!permissions.every((one) => permissionItems.pattern.test(one)))
    errors.push({ parameter: 'permission', code: 'parameter.malformed', detail: permissionItems.form });
  if (audience !== undefined && (typeof audience !== 'string' || !audienceForm.test(audience)))
    errors.push({ parameter: 'audience', code: 'parameter.malformed', detail: 'must be given once, as a name' });
  const requirements = { permissions, all: readBoolean({ all }, 'all', errors), audience: audience as string };
  if (errors.length > 0) throw invalid(...errors);
  return requirements;
}

/** Headers that a proxy copies to the request to its module. A header without a value is empty. */
export type IdentityHeaders = Record<
  'x-auth-user-id' | 'x-auth-user-type' | 'x-auth-carrier-id' | 'x-auth-permissions' | 'x-auth-client-id',
  string
>;

/**
 * Returns the headers that name the caller of a proxy.
 * @throws auth.token_invalid for another audience, access.denied with the first missing permission
 */
export function identityFor(actor: Actor, { permissions: asked, all, audience }: Requirements): IdentityHeaders {
  const { actor_type, user_id, user_type, carrier_id, permissions, audience: own = [ownAudience] } = actor;
  const isKey = actor_type === 'key';
  if (audience !== undefined && !isKey && !own.includes(audience)) throw new AppError('auth.token_invalid');
  const held = asked.filter((permission) => holds(permissions, permission));
  const missing = asked.find((permission) => !held.includes(permission));
  if (missing !== undefined && (all || held.length === 0)) throw missingPermission(missing);
  return {
    'x-auth-user-id': isKey ? '' : user_id,
    'x-auth-user-type': isKey ? '' : user_type,
    'x-auth-carrier-id': carrier_id ?? '',
    'x-auth-permissions': held.join(' '),
    'x-auth-client-id': isKey ? user_id : '',
  };
}
