import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { IntrospectionRequest, IntrospectionResponse } from './introspection.dto';
import { IntrospectionService } from './introspection.service';

/** Token introspection for OAuth 2.0 libraries. */
@ApiTags('Authentication')
@Controller('auth')
export class IntrospectionController {
  constructor(private readonly introspection: IntrospectionService) {}

  /** Introspect a token (RFC 7662) */
  @Post('introspect')
  @HttpCode(200)
  @Allow(undefined, { apiKeys: 'token:introspect', clientCredentials: true, anyAudience: true })
  @RouteConfig({ form: 'only', awaitsInvalidation: 'none' })
  @ApiConsumes('application/x-www-form-urlencoded')
  @Endpoint({
    description:
      'Users can introspect their own access tokens. ' +
      'Callers with the permission `token:introspect` can introspect the access tokens of all users within their ' +
      'scope, and the API keys that they may see. The response contains only `active: false` for invalid, expired ' +
      'and revoked tokens and keys, refresh tokens, users and keys outside the scope, and users who must change ' +
      'their password. Only the response for an API key has a `client_id`. ' +
      'A caller with an API key needs the permission. The key can also be sent as OAuth 2.0 client credentials, ' +
      'with its id (`key_id`) as `client_id` and the key as `client_secret`: by HTTP Basic ' +
      '(`client_secret_basic`) or in the form (`client_secret_post`).',
    answer: { status: 200, type: IntrospectionResponse, description: 'The state of the token' },
  })
  introspectToken(@CurrentActor() actor: Actor, @Body() request: IntrospectionRequest): Promise<IntrospectionResponse> {
    return this.introspection.introspect(actor, request);
  }
}
