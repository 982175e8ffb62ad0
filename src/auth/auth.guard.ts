import { isIP } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard as PassportAuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { type Actor, isOneself } from '../access/actor';
import { accessRule, type AccessRule, admitsKey } from '../access/allow.decorator';
import { callerOf } from '../access/caller.decorator';
import { isFresh } from '../access/fresh';
import { assertHolds, holds, missingPermission } from '../access/permissions';
import { includesOwn } from '../access/token-grant';
import { AppError, invalid } from '../http/errors/app-error';
import { clientAddress } from '../platform/ip';
import { parseBody } from '../http/bodies/body-parsers';
import { BlockedAddresses } from '../access/address-blocks/blocked-addresses';
import { isKeyToken } from '../access/api-keys/api-key-token';
import { ApiKeysService } from '../access/api-keys/api-keys.service';
import {
  accessTokenFrom,
  type ClientCredentials,
  clientCredentialsFrom,
  findAccessToken,
} from './tokens/request-tokens';
import { AddressLimitsService } from '../access/rate-limits/address-limits.service';
import { actorIn, VerifiedTokens } from './tokens/verified-tokens';

/**
 * Decides who may call a route. Rejects routes without `@Allow()` or `@Public()`.
 * Decides immediately for a verified token whose login is in memory. Runs Passport for all others.
 */
@Injectable()
export class AuthGuard extends PassportAuthGuard('jwt') implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: AddressLimitsService,
    private readonly tokens: VerifiedTokens,
    private readonly apiKeys: ApiKeysService,
    private readonly blocked: BlockedAddresses,
  ) {
    super();
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const rule = this.reflector.get<AccessRule | undefined>(accessRule, context.getHandler());
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (rule === undefined) throw new AppError('access.denied');
    if (rule.login === null)
      return rule.portal === true && request.headers['x-api-key'] !== undefined
        ? this.admitPortal(rule, request)
        : this.admitPublic(rule, request);
    if (rule.waits === true) request.reauthorize ??= () => this.reauthorize(request, context);
    const known = this.known(request);
    if (known !== null && rule.limit === undefined && !needsReread(rule, known)) return admit(rule, request, known);
    return this.admitUser(rule, request, known, context);
  }

  /** Receives the result of the strategy from Passport. */
  override handleRequest<User>(error: unknown, user: User | false): User {
    if (error !== null && error !== undefined) throw error as Error;
    if (user === false) throw new AppError('auth.token_invalid');
    return user;
  }

  private async reauthorize(request: FastifyRequest, context: ExecutionContext): Promise<Actor> {
    await this.canActivate(context);
    return request.actor as Actor;
  }

  private admitPublic(rule: AccessRule, request: FastifyRequest): boolean | Promise<boolean> {
    return rule.blockable === true ? this.admitUnblocked(rule, request) : this.countPublic(rule, request);
  }

  /** Rejects blocked addresses before a login costs anything. Portals themselves always pass. */
  private async admitUnblocked(rule: AccessRule, request: FastifyRequest): Promise<boolean> {
    const ip = request.portal?.ip ?? clientAddress(request.ip);
    if (ip !== null) await this.blocked.assertOpen(ip);
    return this.countPublic(rule, request);
  }

  private countPublic(rule: AccessRule, request: FastifyRequest): boolean | Promise<boolean> {
    if (rule.limit === 'login') return this.limits.countLogin(request).then(() => true);
    if (rule.limit === 'requests') return this.limits.countRequest(request).then(() => true);
    return true;
  }

  private async admitPortal(rule: AccessRule, request: FastifyRequest): Promise<boolean> {
    const { 'x-api-key': given, 'x-user-address': address } = request.headers;
    const actor = await this.keyActor(String(given), request);
    assertHolds(actor, 'login:forward');
    const ip = isIP(String(address)) === 0 ? null : clientAddress(String(address));
    const [parameter, detail] = ['X-User-Address', 'must be the IP address of the user, without a port'];
    if (ip === null) throw invalid({ parameter, code: 'parameter.malformed', detail });
    const { actor_type, user_id, user_type, carrier_id, carrier_scope } = actor;
    const key = { actor_type, user_id, user_type, carrier_id, carrier_scope };
    request.portal = { key, ip, admitsOther: () => this.limits.admitsLogin(request.ip) };
    return this.admitPublic(rule, request);
  }

  private known(request: FastifyRequest): Actor | null {
    const token = findAccessToken(request);
    const known = token === null ? null : this.tokens.known(token);
    return known === null ? null : actorIn(known.login, callerOf(request));
  }

  private async admitUser(
    rule: AccessRule,
    request: FastifyRequest,
    known: Actor | null,
    context: ExecutionContext,
  ): Promise<boolean> {
    const actor = known ?? (await this.authenticate(rule, context, request));
    admit(rule, request, needsReread(rule, actor) ? await this.tokens.reread(actor) : actor);
    if (rule.limit === 'login') await this.limits.countLogin(request);
    return true;
  }

  private async authenticate(rule: AccessRule, context: ExecutionContext, request: FastifyRequest): Promise<Actor> {
    const token = accessTokenFrom(request);
    if (rule.clientCredentials === true) parseBody(request);
    const credentials = token === null && rule.clientCredentials === true ? clientCredentialsFrom(request) : null;
    if (credentials !== null) return this.clientActor(credentials, request);
    if (token === null) throw new AppError('auth.token_missing');
    if (isKeyToken(token)) return this.keyActor(token, request);
    await super.canActivate(context);
    return (request as FastifyRequest & { user: Actor }).user;
  }

  private async clientActor({ client_id, client_secret }: ClientCredentials, request: FastifyRequest): Promise<Actor> {
    const actor = await this.apiKeys.find(client_secret, callerOf(request));
    if (actor?.user_id === client_id) return actor;
    throw new AppError('auth.key_invalid', { headers: { 'www-authenticate': 'Basic realm="carrier-identity"' } });
  }

  private async keyActor(token: string, request: FastifyRequest): Promise<Actor> {
    const actor = await this.apiKeys.find(token, callerOf(request));
    if (actor === null) throw new AppError('auth.key_invalid');
    return actor;
  }
}

/**
 * Returns whether the route requires a fresh authentication and the actor's is too old. Another
 * instance may have renewed it, so read it again.
 */
function needsReread(rule: AccessRule, actor: Actor): boolean {
  return rule.fresh !== undefined && !isFresh(actor);
}

function admit(rule: AccessRule, request: FastifyRequest, actor: Actor): boolean {
  if (rule.anyAudience !== true && !includesOwn(actor.audience)) throw new AppError('auth.token_invalid');
  request.actor = actor;
  assertAllowed(rule, actor, request.params as Record<string, string>);
  return true;
}

function assertAllowed(rule: AccessRule, actor: Actor, parameters: Record<string, string>): void {
  if (actor.must_change_password && rule.duringPasswordChange !== true)
    throw new AppError('auth.password_change_required');
  if (actor.must_enroll_second_factor && rule.duringEnrollment !== true)
    throw new AppError('auth.second_factor_enrollment_required');
  if (rule.unscoped === true && (actor.user_type !== 'system' || actor.carrier_scope !== null))
    throw new AppError('access.denied', {
      detail: 'Only System Users without `carrier_scope` may call this operation.',
    });
  if (rule.wholeLogin === true && actor.is_limited === true)
    throw new AppError('access.denied', { detail: 'Log in without `permissions`: this operation changes logins.' });
  const isKey = actor.actor_type === 'key';
  if (isKey && !admitsKey(rule, actor.permissions)) throw keyRefusal(rule);
  if (rule.permission === undefined || holds(actor.permissions, rule.permission)) return;
  const subject = rule.orSelf === undefined ? undefined : parameters[rule.orSelf];
  if (subject === undefined || !isOneself(actor, subject.toLowerCase())) throw missingPermission(rule.permission);
}

function keyRefusal({ apiKeys }: AccessRule): AppError {
  return typeof apiKeys === 'string'
    ? missingPermission(apiKeys)
    : new AppError('access.denied', { detail: 'This operation is not available to API keys.' });
}
