import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { SingleWrite } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { PathId } from '../common/http/path-id.decorator';
import { UserUnlockService } from './user-unlock.service';

/** The route that lifts lockouts. */
@ApiTags('Users')
@Controller('user')
export class UserUnlockController {
  constructor(private readonly locks: UserUnlockService) {}

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
    return this.locks.unlock(actor, user_id);
  }
}
