import { Injectable } from '@nestjs/common';
import { type Actor, actorOf, type Caller } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { type LiveLogin, LiveLoginsService } from '../logins/live-logins.service';
import type { AccessTokenClaims } from './access-tokens';

/** Resolves sessions to actors, with the current state, roles and permissions of the user. */
@Injectable()
export class ActorsService {
  constructor(private readonly logins: LiveLoginsService) {}

  /**
   * Returns the actor of a verified token.
   * @throws auth.token_invalid if the session has ended or the user is not active (ASVS 7.4.2)
   */
  async get({ sid, sub }: AccessTokenClaims, caller: Caller): Promise<Actor> {
    const login = await this.logins.find(sid, sub);
    if (login === null) throw new AppError('auth.token_invalid');
    return actorOf(login, sessionOf(login), caller);
  }

  /**
   * Returns the actor of a session with the time of the last authentication from the database:
   * another instance may have renewed it a moment ago.
   * @throws auth.token_invalid
   */
  async reread(actor: Actor): Promise<Actor> {
    const login = actor.session_id === null ? null : await this.logins.read(actor.session_id, actor.user_id);
    if (login === null) throw new AppError('auth.token_invalid');
    return actorOf(login, sessionOf(login), actor);
  }

  /** Returns the actor if it is in memory. Null does not mean that the token is invalid. */
  known({ sid, sub }: AccessTokenClaims, caller: () => Caller): Actor | null {
    const login = this.logins.cached(sid, sub);
    return login === null ? null : actorOf(login, sessionOf(login), caller());
  }
}

function sessionOf({ session, grant, fresh_until }: LiveLogin): Parameters<typeof actorOf>[1] {
  const { session_id, auth_time } = session;
  const is_limited = grant?.permissions !== undefined;
  return { session_id, audience: grant?.audience, is_limited, auth_time, fresh_until };
}
