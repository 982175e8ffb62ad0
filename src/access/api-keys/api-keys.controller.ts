import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../actor';
import { Allow } from '../allow.decorator';
import { CurrentActor } from '../caller.decorator';
import { ListQuery } from '../list-query.decorator';
import { LongWork, SingleWrite } from '../long-work.decorator';
import { newPrefixParameter } from '../permissions';
import { Endpoint } from '../../http/endpoint.decorator';
import { readBoolean } from '../../http/lists/boolean-parameter';
import { PathId } from '../../http/fields/path-id.decorator';
import type { RawQuery } from '../../http/lists/filter';
import { apiKeyList } from './api-key-list';
import { CreatedKeyResponse, CreateKeyRequest, KeyListResponse, RotateKeyRequest } from './api-keys.dto';
import { ApiKeysService } from './api-keys.service';

/** API keys. */
@ApiTags('API keys')
@Controller('auth/key')
export class KeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  /** Create an API key */
  @Post('create')
  // A stolen key must not outlive its expiry by creating other keys.
  @Allow('key:manage', { apiKeys: false, fresh: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Send the key as `Authorization: Bearer …` or `X-Auth-Token: …` on every route that requires a permission. ' +
      'The key is an actor with its own permissions and scope. It stays active until it expires or is revoked, ' +
      'also when the user who created it is disabled or deleted. The keys of a Carrier User belong to the carrier.',
    answer: { status: 201, type: CreatedKeyResponse, description: 'The key; no other response contains it' },
    errors: ['access.grant_exceeds_own'],
    query: [newPrefixParameter],
  })
  createApiKey(
    @CurrentActor() actor: Actor,
    @Body() request: CreateKeyRequest,
    @Query() query: RawQuery,
  ): Promise<CreatedKeyResponse> {
    return this.apiKeys.create(actor, request, readBoolean(query, 'new_prefix'));
  }

  /** List API keys */
  @Get('list')
  @Allow('key:manage')
  @LongWork()
  @Endpoint({
    description:
      'Includes revoked and expired keys. Returns the keys of Carrier Users within the scope. A caller without a ' +
      'scope also sees all keys of System Users. Other callers see only the System User keys that they created.',
    answer: { status: 200, type: KeyListResponse, description: 'One page of keys' },
  })
  listApiKeys(@CurrentActor() actor: Actor, @ListQuery(apiKeyList) query: ListQuery): Promise<KeyListResponse> {
    return this.apiKeys.list(actor, query);
  }

  /** Replace the secret of an API key */
  @Post(':key_id/rotate')
  @HttpCode(200)
  // A stolen key must not outlive its expiry by replacing itself.
  @Allow('key:manage', { apiKeys: false, fresh: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Both secrets work until `previous_until`, with the same permissions and scope. Another rotation before this ' +
      'time ends the oldest secret immediately; a revocation ends all of them. Requires the permissions and the ' +
      'scope of the key.',
    answer: { status: 200, type: CreatedKeyResponse, description: 'The key with its new secret' },
    errors: ['key.not_found', 'key.inactive', 'access.grant_exceeds_own'],
  })
  rotateApiKey(
    @CurrentActor() actor: Actor,
    @PathId('key_id') key_id: string,
    @Body() request: RotateKeyRequest,
  ): Promise<CreatedKeyResponse> {
    return this.apiKeys.rotate(actor, key_id, request);
  }

  /** Resume a suspended API key */
  @Post(':key_id/resume')
  @HttpCode(204)
  // A stolen key must not resume others.
  @Allow('key:manage', { apiKeys: false, fresh: true })
  @SingleWrite()
  @Endpoint({
    description: 'Reactivates a key that `POST /user/{user_id}/secure` suspended. Has no effect on other keys.',
    answer: { status: 204, description: 'The key is not suspended' },
    errors: ['key.not_found', 'access.grant_exceeds_own'],
    withoutBody: true,
  })
  resumeApiKey(@CurrentActor() actor: Actor, @PathId('key_id') key_id: string): Promise<void> {
    return this.apiKeys.resume(actor, key_id);
  }

  /** Revoke an API key */
  @Delete(':key_id')
  @HttpCode(204)
  @Allow('key:manage')
  @SingleWrite()
  @Endpoint({
    description:
      'Takes effect on the next request with the key, on other instances within milliseconds, and on the next batch ' +
      'of an operation that the key requested. Revoking a key again is not an error.',
    answer: { status: 204, description: 'The key is revoked' },
    errors: ['key.not_found', 'access.grant_exceeds_own'],
  })
  revokeApiKey(@CurrentActor() actor: Actor, @PathId('key_id') key_id: string): Promise<void> {
    return this.apiKeys.revoke(actor, key_id);
  }
}
