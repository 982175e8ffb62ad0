import { Body, Controller, Get, HttpCode, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { EtagInterceptor } from '../../http/etag.interceptor';
import { PathId } from '../../http/fields/path-id.decorator';
import type { Answered } from '../../platform/times';
import { UserResponse } from '../../users/users.dto';
import { LoginCheckResponse } from './login-check.dto';
import { LoginCheckService } from './login-check.service';
import { SecureUserRequest } from './user-secure.dto';
import { UserAccountService } from './user-account.service';

/** Routes that give an account back to its owner. */
@ApiTags('Users')
@Controller('user')
export class UserAccountController {
  constructor(
    private readonly accounts: UserAccountService,
    private readonly loginCheck: LoginCheckService,
  ) {}

  /** Check why a user cannot log in */
  @Get(':user_id/login-check')
  @Allow('user:read')
  @Endpoint({
    description:
      'Returns why the user cannot log in, and what a login requires besides the password. Contains `mails` only ' +
      'with `mail:manage`, and `recent_refusals` only with `audit:read`. Finds deleted users with ' +
      '`user:read_deleted`. Reads the last 1,000 events of the user.',
    answer: { status: 200, type: LoginCheckResponse, description: 'The causes, with their remedies' },
    errors: ['user.not_found'],
  })
  checkLogin(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<LoginCheckResponse> {
    return this.loginCheck.check(actor, user_id);
  }

  /** Unlock a user */
  @Post(':user_id/unlock')
  @HttpCode(204)
  // A leaked API key and a password must not allow unlimited guesses at codes (M3).
  @Allow('user:update', { apiKeys: false })
  @SingleWrite()
  @Endpoint({
    description:
      'Lifts the lockouts after wrong passwords and after wrong codes of second factors, for all addresses. ' +
      'Has no effect on a user who is not locked. Users cannot unlock themselves.',
    answer: { status: 204, description: 'The user is not locked' },
    errors: ['user.not_found', 'user.self_protected', 'access.protected_user'],
    withoutBody: true,
  })
  unlockUser(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<void> {
    return this.accounts.unlock(actor, user_id);
  }

  /** Secure the account of a user */
  @Post(':user_id/secure')
  @HttpCode(200)
  @Allow('user:update', { fresh: true })
  @SingleWrite()
  @UseInterceptors(EtagInterceptor)
  @Endpoint({
    description:
      'For an account whose password another person may know. Voids the password, all mailed links, unfinished ' +
      'logins and a proposed address, ends all sessions, and mails a link to choose a new password. Until the user ' +
      'chooses one, only a passkey that was kept logs the user in. The status does not change. An invited user gets ' +
      'a new invitation, and a disabled user gets the mail when enabled.',
    answer: { status: 200, type: UserResponse, description: 'The user', headers: { ETag: '`version` of the user' } },
    errors: [
      'user.not_found',
      'user.self_protected',
      'user.last_administrator',
      'access.protected_user',
      'access.grant_exceeds_own',
    ],
  })
  secureUser(
    @CurrentActor() actor: Actor,
    @PathId('user_id') user_id: string,
    @Body() request: SecureUserRequest,
  ): Promise<Answered<UserResponse>> {
    return this.accounts.secure(actor, user_id, request);
  }
}
