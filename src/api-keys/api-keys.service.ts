import { Injectable, Logger } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, identityOf, keyActorOf } from '../access/actor';
import { holds } from '../access/permissions';
import { mayGiveScope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { AppError, invalid } from '../common/errors/app-error';
import type { RawQuery } from '../common/query/filter';
import type { SqlFragment } from '../common/query/sql';
import { hashToken, newId } from '../common/random';
import { EventsService } from '../events/events.service';
import { ActiveApiKeys } from './active-api-keys';
import { hasKeyForm, isKeyToken, mintApiKey } from './api-key-token';
import {
  type CreatedKeyResponse,
  type CreateKeyRequest,
  type KeyListResponse,
  type ApiKeyRecord,
  toApiKeyResponse,
} from './api-keys.dto';
import { ApiKeysRepository } from './api-keys.repository';

/** Keys for machines: the way in which the platform's modules call the service. */
@Injectable()
export class ApiKeysService {
  private readonly logger = new Logger(ApiKeysService.name);

  constructor(
    private readonly apiKeys: ApiKeysRepository,
    private readonly acting: ActiveApiKeys,
    private readonly events: EventsService,
  ) {}

  /** Whether a token wants to be a key; everything else is for others to judge. */
  isKey(token: string): boolean {
    return isKeyToken(token);
  }

  /**
   * Who acts with a key, as of now; null when it is revoked, expired or none of ours. Its use is
   * noted, and not waited for.
   */
  async find(token: string, caller: Caller): Promise<Actor | null> {
    if (!hasKeyForm(token)) return null;
    const hash = hashToken(token);
    const key = await this.acting.find(hash, ({ key_id, stale }) => stale && this.noteUse(key_id, hash, caller.ip));
    return key === null ? null : keyActorOf(key, caller);
  }

  /**
   * Who acts in work that a key has asked for and that goes on after its request; null when the key
   * does not work any more.
   */
  async findById(key_id: string, origin: Caller): Promise<Actor | null> {
    const key = await this.apiKeys.findActingById(key_id);
    return key === null ? null : keyActorOf(key, origin);
  }

  /**
   * Makes a key within the maker's own power; the answer is the only place where it is ever shown.
   * @throws access.grant_exceeds_own, request.invalid
   */
  @Transactional()
  async create(
    actor: Actor,
    { name, permissions, expires_at, carrier_scope }: CreateKeyRequest,
  ): Promise<CreatedKeyResponse> {
    const { user_type, carrier_id, user_id: created_by } = actor;
    if (user_type === 'carrier' && carrier_scope !== undefined)
      throw invalid({ pointer: '/carrier_scope', code: 'field.not_allowed', detail: 'is for System Users only' });
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
    const made = await this.apiKeys.insert({ key_id: newId(), token_hash: hashToken(key), ...fields });
    if (made === null)
      throw invalid({
        pointer: '/expires_at',
        code: 'field.not_allowed',
        detail: 'must be in the future, at most one year ahead',
      });
    await this.recordCreated(actor, made);
    return { ...toApiKeyResponse(made), key };
  }

  /** One page of the keys that the actor may see; revoked and expired ones too. */
  async list(actor: Actor, query: RawQuery): Promise<KeyListResponse> {
    const page = await this.apiKeys.list(visibleKeys(actor), query, identityOf(actor));
    return { ...page, items: page.items.map(toApiKeyResponse) };
  }

  /**
   * Revokes an API key. Its next request is rejected, on other instances within milliseconds
   * (ADR 0010). A key that was revoked before stays unchanged.
   * @throws key.not_found, access.grant_exceeds_own
   */
  @Transactional()
  async revoke(actor: Actor, key_id: string): Promise<void> {
    const key = await this.apiKeys.find(key_id, visibleKeys(actor));
    if (key === null) throw new AppError('key.not_found');
    // as with users: nobody ends what is stronger than they are
    if (!key.permissions.every((permission) => holds(actor.permissions, permission)))
      throw new AppError('access.grant_exceeds_own');
    if (!(await this.apiKeys.revoke(key_id, actor.user_id))) return;
    const changes = { name: { before: key.name } };
    await this.events.record(actor, 'key.revoked', { type: 'key', id: key_id, carrier_id: key.carrier_id }, changes);
  }

  private async recordCreated(
    actor: Actor,
    { key_id, carrier_id, name, permissions, carrier_scope, expires_at }: ApiKeyRecord,
  ): Promise<void> {
    const changes = {
      name: { after: name },
      permissions: { after: permissions },
      carrier_scope: { after: carrier_scope },
      expires_at: { after: expires_at },
    };
    await this.events.record(actor, 'key.created', { type: 'key', id: key_id, carrier_id }, changes);
  }

  private noteUse(key_id: string, hash: Buffer, ip: string | null): void {
    this.apiKeys.touch(key_id, ip).catch((error: unknown) => {
      this.logger.warn(`the use of a key was not noted: ${(error as Error).message}`);
      this.acting.forget(hash);
    });
  }
}

/**
 * Keys of Carrier Users are seen like Carrier Users; whoever is limited to carriers sees no key of
 * a System User but those that they made.
 */
function visibleKeys(actor: Actor): SqlFragment {
  return visibleTo(actor, { user_id: 'keys.created_by', user_type: 'keys.user_type', carrier_id: 'keys.carrier_id' });
}
