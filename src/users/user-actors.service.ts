import { Injectable } from '@nestjs/common';
import { type Actor, actorOf } from '../access/actor';
import { holds } from '../access/permissions';
import { AppError } from '../common/errors/app-error';
import { LiveLoginsRepository } from './live-logins.repository';

/** Work that goes on after the request: who asked for it, from where, and the permission that it takes. */
export interface AskedWork {
  actor_id: string;
  session_id: string | null;
  ip: string | null;
  request_id: string | null;
  permission: string;
}

/** Users as actors without a login of theirs: whoever asked for work that goes on after the request, and after they have logged out. */
@Injectable()
export class UserActorsService {
  constructor(private readonly logins: LiveLoginsRepository) {}

  /** Who asked for the work, with the roles and permissions of this moment. @throws access.denied when they may not act like this any more */
  async of({ actor_id, session_id, ip, request_id, permission }: AskedWork): Promise<Actor> {
    const user = await this.logins.findActing(actor_id);
    if (user === null) throw new AppError('access.denied');
    const { permissions, may_grant } = user;
    const actor = actorOf({ user, permissions, may_grant }, session_id, { ip, user_agent: null, request_id });
    if (!holds(actor.permissions, permission)) throw new AppError('access.denied');
    return actor;
  }
}
