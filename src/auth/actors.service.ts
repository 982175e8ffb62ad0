import { Inject, Injectable } from '@nestjs/common';
import type { Actor, Caller } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { CONFIG, type Config } from '../config/config';
import { AuthRepository } from './auth.repository';

/** An actor, and whether their token may be renewed without a refresh token. */
export interface ActiveLogin {
  actor: Actor;
  renewable: boolean;
}

/** Turns a session into who acts: the user's state, roles and permissions as they are at this moment. */
@Injectable()
export class ActorsService {
  constructor(
    private readonly auth: AuthRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws auth.token_invalid when the session has ended or its user may not act (OWASP ASVS 7.4.2) */
  async get(session_id: string, user_id: string, caller: Caller): Promise<ActiveLogin> {
    const login = await this.auth.findLogin(session_id, user_id);
    if (login === null) throw new AppError('auth.token_invalid');
    const { stale, renewable, ...user } = login;
    if (stale) await this.auth.touch(session_id, user_id, this.idleSeconds(user.user_type));
    const rights = user.must_change_password ? { roles: [], permissions: [], may_grant: [] } : { permissions: user.permissions.sort() };
    return { actor: { ...caller, actor_type: 'user', ...user, ...rights, session_id }, renewable };
  }

  private idleSeconds(user_type: Actor['user_type']): number {
    return user_type === 'system' ? this.config.SYSTEM_USER_SESSION_IDLE_SECONDS : this.config.CARRIER_USER_SESSION_IDLE_SECONDS;
  }
}
