import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { IntrospectionRequest, IntrospectionResponse } from './introspection.dto';
import { IntrospectionService } from './introspection.service';

/** Token introspection as OAuth 2.0 libraries ask for it. */
@ApiTags('Authentication')
@Controller('auth')
export class IntrospectionController {
  constructor(private readonly introspection: IntrospectionService) {}

  /** Introspect a token (RFC 7662) */
  @Post('introspect')
  @HttpCode(200)
  @Allow(undefined, { apiKeys: 'token:introspect', clientCredentials: true })
  @RouteConfig({ form: 'only', heldBack: 'none' })
  @ApiConsumes('application/x-www-form-urlencoded')
  @Endpoint({
    description:
      "One's own access tokens, with the permission `token:introspect` those of all users within the scope. All else is answered with `active: false` alone: bad, expired and revoked tokens, refresh tokens, keys for machines, users outside the scope, and users who must change their password. There is no `client_id`: sessions belong to users. A key as caller needs the permission; it may also come by HTTP Basic, its id (`key_id`) as `client_id` and itself as `client_secret`.",
    answer: { status: 200, type: IntrospectionResponse, description: 'What the token is worth' },
  })
  introspect(@CurrentActor() actor: Actor, @Body() { token }: IntrospectionRequest): Promise<IntrospectionResponse> {
    return this.introspection.introspect(actor, token);
  }
}
