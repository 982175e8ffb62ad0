import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { setEtag } from '../../http/etag.interceptor';
import { Endpoint } from '../../http/endpoint.decorator';
import { CurrentUserResponse } from '../../users/users.dto';
import { CurrentUserService } from './current-user.service';

/** The route of the logged-in user. */
@ApiTags('Users')
@Controller('user')
export class CurrentUserController {
  constructor(private readonly users: CurrentUserService) {}

  /** Get the current user */
  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  @Allow(undefined, { duringPasswordChange: true, duringEnrollment: true })
  @Endpoint({
    description:
      '`last_login_at`, `last_login_ip`, `last_seen_at`, `online` and `locked_until` may be a minute old. ' +
      'All other fields and the `ETag` are current.',
    answer: {
      status: 200,
      type: CurrentUserResponse,
      description: 'The user, with permissions',
      headers: { ETag: '`version` of the user, for `If-Match`' },
    },
  })
  async getCurrentUser(@CurrentActor() actor: Actor, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const { version, json } = await this.users.get(actor);
    setEtag(reply, version);
    return json;
  }
}
