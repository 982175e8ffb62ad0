import { Controller, Get, HttpCode, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { ParsedQuery } from '../../access/list-query.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { identityFor, parseVerifyQuery, type Requirements, verifyParameters } from './verified-identity';

/** Token checks for proxies, before they forward a request to a module. */
@ApiTags('Authentication')
@Controller('auth')
export class VerifyController {
  /** Check a token for a proxy */
  @Get('verify')
  @HttpCode(204)
  @Allow(undefined, { apiKeys: true, anyAudience: true })
  // A preflight request must not pass without a token (J34).
  @RouteConfig({ anyMethod: true, awaitsInvalidation: 'none', cors: false })
  @Endpoint({
    description:
      'For `auth_request` of nginx, `forwardAuth` of Traefik and `forward_auth` of Caddy (docs/proxies.md). ' +
      'Accepts any method, access tokens of any audience, and API keys. A check counts as activity of the session. ' +
      'The 204 response names the caller in headers, which the proxy copies to the request to the module. ' +
      'A 403 names the first missing permission. Users who must change their password or enrol a second factor ' +
      'also get 403.',
    withoutBody: true,
    answer: {
      status: 204,
      description: 'The token is valid and has the permissions',
      headers: {
        'X-Auth-User-Id': 'Id of the user; empty for API keys',
        'X-Auth-User-Type': '`system` or `carrier`; empty for API keys',
        'X-Auth-Carrier-Id': 'Carrier of a Carrier User or of their API key, otherwise empty',
        'X-Auth-Permissions': 'The permissions of the request that the caller holds, separated by spaces',
        'X-Auth-Client-Id': 'Id of the API key; empty for users',
      },
    },
  })
  verifyToken(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseVerifyQuery, verifyParameters) requirements: Requirements,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): void {
    void reply.headers(identityFor(actor, requirements));
  }
}
