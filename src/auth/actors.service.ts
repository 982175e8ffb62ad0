import { Injectable } from '@nestjs/common';
import { type Actor, actorOf, type Caller } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { type LiveLogin, LiveLoginsService } from '../users/live-logins.service';

/** A live login, and who acts in it. */
export interface ActiveLogin extends LiveLogin {
  actor: Actor;
}

/** Turns a session into who acts: the user's state, roles and permissions as they are at this moment. */
@Injectable()
export class ActorsService {
  constructor(private readonly logins: LiveLoginsService) {}

  /** @throws auth.token_invalid when the session has ended or its user may not act (OWASP ASVS 7.4.2) */
  async get(session_id: string, user_id: string, caller: Caller): Promise<ActiveLogin> {
    const login = await this.logins.find(session_id, user_id);
    if (login === null) throw new AppError('auth.token_invalid');
    return { ...login, actor: actorOf(login, session_id, caller) };
  }
}
