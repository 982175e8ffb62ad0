import { Injectable } from '@nestjs/common';
import { type Actor, actorOf, type Caller } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { LiveLoginsService } from '../logins/live-logins.service';
import type { AccessTokenClaims } from './access-tokens';

/**
 * Turns a session into who acts: the user's state, roles and permissions as they are at this
 * moment.
 */
@Injectable()
export class ActorsService {
  constructor(private readonly logins: LiveLoginsService) {}

  /**
   * Who acts with a verified token. @throws auth.token_invalid when its session has ended or its
   * user may not act (OWASP ASVS 7.4.2)
   */
  async get({ sid, sub }: AccessTokenClaims, caller: Caller): Promise<Actor> {
    const login = await this.logins.find(sid, sub);
    if (login === null) throw new AppError('auth.token_invalid');
    return actorOf(login, sid, caller);
  }

  /** Who acts, if it is known without asking the database; null says nothing. */
  known({ sid, sub }: AccessTokenClaims, caller: () => Caller): Actor | null {
    const login = this.logins.cached(sid, sub);
    return login === null ? null : actorOf(login, sid, caller());
  }
}
