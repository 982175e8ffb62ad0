import { Injectable } from '@nestjs/common';
import { type ActiveApiKey, type Actor, isOneself, isRestricted } from '../../access/actor';
import { holds } from '../../access/permissions';
import { mayReach } from '../../access/scope';
import { isKeyToken } from '../../access/api-keys/api-key-token';
import { ApiKeysService } from '../../access/api-keys/api-keys.service';
import { secondsOf } from '../../platform/clock';
import { isLimited } from '../../access/token-grant';
import { AppError, invalid } from '../../http/errors/app-error';
import { RolesService } from '../../access/roles/roles.service';
import type { UserResponse } from '../../users/users.dto';
import type { IntrospectionRequest, IntrospectionResponse } from './introspection.dto';
import { type VerifiedToken, VerifiedTokens } from './verified-tokens';

/** Introspects tokens for resource servers that use OAuth 2.0 Token Introspection (RFC 7662). */
@Injectable()
export class IntrospectionService {
  constructor(
    private readonly tokens: VerifiedTokens,
    private readonly apiKeys: ApiKeysService,
    private readonly roles: RolesService,
  ) {}

  /**
   * Describes an active token or API key. For an inactive token or key, the response gives no
   * reason, and is the same as for one outside the actor's scope (RFC 7662 §2.2).
   * @throws request.invalid if the form contains credentials of another client than the header
   */
  async introspect(actor: Actor, { token, ...client }: IntrospectionRequest): Promise<IntrospectionResponse> {
    assertSameClient(actor, client);
    if (isKeyToken(token)) return this.introspectKey(actor, token);
    const verified = await this.find(token);
    if (verified === null) return { active: false };
    const { user, permissions } = verified.login;
    if (isRestricted(user) || !mayIntrospect(actor, user)) return { active: false };
    return { ...describe(verified), ...(await this.scopeOf(permissions)) };
  }

  private async introspectKey(actor: Actor, token: string): Promise<IntrospectionResponse> {
    const key = await this.apiKeys.findActive(token, null);
    if (key === null || !mayIntrospectKey(actor, key)) return { active: false };
    const { key_id, carrier_id, carrier_scope, permissions, expires_at } = key;
    return {
      ...{ active: true, client_id: key_id, sub: key_id, exp: secondsOf(expires_at) },
      ...(carrier_id === null ? { carrier_scope } : { carrier_id, carrier_scope: [carrier_id] }),
      ...(await this.scopeOf(permissions)),
    };
  }

  /** Returns the member `scope`. All known permissions follow `*`, which libraries do not know. */
  private async scopeOf(permissions: readonly string[]): Promise<Pick<IntrospectionResponse, 'scope'>> {
    const scope = permissions.includes('*') ? await this.roles.knownPermissions() : permissions;
    // An empty scope is not allowed (RFC 6749 §3.3).
    return scope.length === 0 ? {} : { scope: scope.join(' ') };
  }

  private async find(token: string): Promise<VerifiedToken | null> {
    try {
      return await this.tokens.verify(token);
    } catch (error) {
      if (error instanceof AppError && error.code === 'auth.token_invalid') return null;
      throw error;
    }
  }
}

/** A request must not authenticate in two ways (RFC 6749 §2.3). */
function assertSameClient(
  actor: Actor,
  { client_id, client_secret }: Pick<IntrospectionRequest, 'client_id' | 'client_secret'>,
): void {
  if (client_id === undefined && client_secret === undefined) return;
  if (client_id?.toLowerCase() === actor.user_id) return;
  throw invalid({
    pointer: '/client_id',
    code: 'field.not_allowed',
    detail: 'must be the id of the caller that the header authenticates',
  });
}

function mayIntrospect(actor: Actor, holder: UserResponse): boolean {
  return isOneself(actor, holder.user_id) || (holds(actor.permissions, 'token:introspect') && mayReach(actor, holder));
}

/** Returns whether the actor is the key, or sees the key in `GET /auth/key/list`. */
function mayIntrospectKey(actor: Actor, key: ActiveApiKey): boolean {
  if (actor.actor_type === 'key' && actor.user_id === key.key_id) return true;
  return holds(actor.permissions, 'token:introspect') && (isOneself(actor, key.created_by) || mayReach(actor, key));
}

/** Takes ids and times from the token, and everything else from the current login. */
function describe({ claims, login }: VerifiedToken): IntrospectionResponse {
  const { iss, aud, sub, sid, jti, iat, exp } = claims;
  const { user, session, grant } = login;
  const { user_type, carrier_id, roles } = user;
  return {
    active: true,
    token_type: 'Bearer',
    ...{ iss, aud: grant?.audience ?? aud, sub, sid, jti, iat, exp },
    username: user.name,
    user_type,
    ...(carrier_id === null ? {} : { carrier_id }),
    // A module that checks roles would exceed the permissions of a limited token.
    ...(isLimited(grant) ? {} : { roles }),
    amr: session.amr,
    auth_time: secondsOf(session.auth_time),
  };
}
