import { Injectable, Logger } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type ActiveApiKey, type Actor, type Caller, keyActorOf } from '../actor';
import { holds, misspeltPermissions } from '../permissions';
import { mayGiveScope } from '../scope';
import { AppError, invalid } from '../../http/errors/app-error';
import type { ListQuery } from '../../http/lists/list-query';
import { hashToken, newId } from '../../platform/random';
import { EventsService } from '../../audit/events.service';
import { ActiveApiKeys } from './active-api-keys';
import { hasKeyForm, mintApiKey } from './api-key-token';
import {
  type CreatedKeyResponse,
  type CreateKeyRequest,
  type RotateKeyRequest,
  type KeyListResponse,
  type ApiKeyRecord,
  toApiKeyResponse,
} from './api-keys.dto';
import { type ActiveApiKeyRecord, ApiKeysRepository, type ReceivedKey } from './api-keys.repository';

/** API keys: the credentials with which the platform's modules call the service. */
@Injectable()
export class ApiKeysService {
  private readonly logger = new Logger(ApiKeysService.name);

  constructor(
    private readonly apiKeys: ApiKeysRepository,
    private readonly active: ActiveApiKeys,
    private readonly events: EventsService,
  ) {}

  /** Returns the actor of a key, or null if the key is unknown, expired, suspended or revoked. */
  async find(token: string, caller: Caller): Promise<Actor | null> {
    const key = await this.findActive(token, caller.ip);
    return key === null ? null : keyActorOf(key, caller);
  }

  /**
   * Returns a key, or null if the key is unknown, expired, suspended or revoked.
   * Records the use of the key without waiting for it.
   * @param ip address of the holder; null if a module introspects the key
   */
  async findActive(token: string, ip: string | null): Promise<ActiveApiKey | null> {
    if (!hasKeyForm(token)) return null;
    const hash = hashToken(token);
    return this.active.find(hash, (key) => key.stale && this.recordUse(key, hash, ip));
  }

  /**
   * Returns the actor for work that a key requested and that continues after its request, or null
   * if the key has expired, or was suspended or revoked.
   */
  async findById(key_id: string, origin: Caller): Promise<Actor | null> {
    const key = await this.apiKeys.findActiveById(key_id);
    return key === null ? null : keyActorOf(key, origin);
  }

  /**
   * Returns whether a portal used its key from a network within the last day. Of several addresses,
   * a key remembers only the last one.
   */
  hasPortalWithin(network: string): Promise<boolean> {
    return this.apiKeys.hasPortalWithin(network);
  }

  /**
   * Creates a key within the actor's own permissions and scope.
   * Only the response of this call contains the key.
   * @throws access.grant_exceeds_own, request.invalid
   */
  @Transactional()
  async create(
    actor: Actor,
    { name, permissions, expires_at, carrier_scope }: CreateKeyRequest,
    newPrefix: boolean,
  ): Promise<CreatedKeyResponse> {
    const { user_type, carrier_id, user_id: created_by, session_id } = actor;
    if (user_type === 'carrier' && carrier_scope !== undefined)
      throw invalid({
        pointer: '/carrier_scope',
        code: 'field.not_allowed',
        detail: 'is for System Users only',
      });
    const misspelt = misspeltPermissions(permissions, newPrefix);
    if (misspelt.length > 0) throw invalid(...misspelt);
    const scope = carrier_scope ?? null;
    const within = permissions.every((permission) => holds(actor.permissions, permission));
    if (!within || (user_type === 'system' && !mayGiveScope(actor, scope)))
      throw new AppError('access.grant_exceeds_own');
    const key = mintApiKey();
    const fields = {
      name,
      permissions,
      user_type,
      carrier_id,
      carrier_scope: scope,
      created_by,
      expires_at: new Date(expires_at),
    };
    const created = await this.apiKeys.insert({ key_id: newId(), token_hash: hashToken(key), ...fields }, session_id);
    if (created === null) throw wrongExpiry();
    const changes = {
      name: { after: name },
      permissions: { after: permissions },
      carrier_scope: { after: scope },
      expires_at: { after: created.expires_at },
    };
    await this.events.record(actor, 'key.created', { id: created.key_id, carrier_id }, changes);
    return { ...toApiKeyResponse(created), key };
  }

  /** Returns one page of the keys within the scope, revoked and expired keys included. */
  async list(actor: Actor, query: ListQuery): Promise<KeyListResponse> {
    const page = await this.apiKeys.list(actor, query);
    return { ...page, items: page.items.map(toApiKeyResponse) };
  }

  /**
   * Replaces the secret of an active key. A further rotation ends the oldest secret immediately.
   * Only the response of this call contains the new secret.
   * @throws key.not_found, key.inactive, access.grant_exceeds_own, request.invalid
   */
  @Transactional()
  async rotate(
    actor: Actor,
    key_id: string,
    { keep_old_seconds, expires_at }: RotateKeyRequest,
  ): Promise<CreatedKeyResponse> {
    const before = await this.get(actor, key_id);
    // The actor receives a secret with this scope, so the rule is the same as for a new key.
    if (before.user_type === 'system' && !mayGiveScope(actor, before.carrier_scope))
      throw new AppError('access.grant_exceeds_own');
    const key = mintApiKey();
    const values = {
      key_id,
      token_hash: hashToken(key),
      expires_at: expires_at === undefined ? null : new Date(expires_at),
      rotated_by: actor.user_id,
    };
    const rotated = before.active ? await this.apiKeys.rotate(values, keep_old_seconds, actor.session_id) : null;
    if (rotated === null)
      throw before.active && expires_at !== undefined ? wrongExpiry() : new AppError('key.inactive');
    const { carrier_id, name, previous_until } = rotated;
    const changes = {
      name: { after: name },
      previous_until: { after: previous_until },
      ...(expires_at !== undefined && { expires_at: { before: before.expires_at, after: rotated.expires_at } }),
    };
    await this.events.record(actor, 'key.rotated', { id: key_id, carrier_id }, changes);
    return { ...toApiKeyResponse(rotated), key };
  }

  /**
   * Revokes an API key with all its secrets. Its next request is rejected, on other instances
   * within milliseconds (ADR 0010). A key that was revoked before stays unchanged.
   * @throws key.not_found, access.grant_exceeds_own
   */
  @Transactional()
  async revoke(actor: Actor, key_id: string): Promise<void> {
    const key = await this.get(actor, key_id);
    if (!(await this.apiKeys.revoke(key_id, actor.user_id))) return;
    const changes = { name: { before: key.name } };
    await this.events.record(actor, 'key.revoked', { id: key_id, carrier_id: key.carrier_id }, changes);
  }

  /** Suspends active keys: their next request is rejected. @throws access.grant_exceeds_own */
  async suspend(actor: Actor, keys: ReceivedKey[]): Promise<void> {
    assertHolds(actor, keys);
    await this.apiKeys.suspend(keys.map(({ key_id }) => key_id));
  }

  /** Suspends all active keys after a restore, and returns their number. */
  suspendAll(): Promise<number> {
    return this.apiKeys.suspendAll();
  }

  /** Resumes a key if it is suspended. @throws key.not_found, access.grant_exceeds_own */
  @Transactional()
  async resume(actor: Actor, key_id: string): Promise<void> {
    const { carrier_id, name } = await this.get(actor, key_id);
    if (await this.apiKeys.resume(key_id, actor.session_id))
      await this.events.record(actor, 'key.resumed', { id: key_id, carrier_id }, { name: { after: name } });
  }

  /** Returns the active keys that a user created or was the last to rotate, newest first. */
  listReceived(user_id: string): Promise<ReceivedKey[]> {
    return this.apiKeys.listReceived(user_id);
  }

  private async get(actor: Actor, key_id: string): Promise<ApiKeyRecord> {
    const key = await this.apiKeys.find(key_id, actor);
    if (key === null) throw new AppError('key.not_found');
    assertHolds(actor, [key]);
    return key;
  }

  private recordUse({ key_id, is_previous }: ActiveApiKeyRecord, hash: Buffer, ip: string | null): void {
    this.apiKeys.touch(key_id, ip, is_previous).catch((error: unknown) => {
      this.logger.warn(`could not record the use of an API key: ${(error as Error).message}`);
      this.active.drop(hash);
    });
  }
}

/** The same rule as for users: an actor must not disable or enable a key with more permissions. */
function assertHolds(actor: Actor, keys: Pick<ApiKeyRecord, 'permissions'>[]): void {
  if (!keys.flatMap((key) => key.permissions).every((permission) => holds(actor.permissions, permission)))
    throw new AppError('access.grant_exceeds_own');
}

function wrongExpiry(): AppError {
  const detail = 'must be in the future, at most one year ahead';
  return invalid({ pointer: '/expires_at', code: 'field.not_allowed', detail });
}
