import { Injectable } from '@nestjs/common';
import { type Actor, actorOf, type Caller } from '../../access/actor';
import { assertHolds } from '../../access/permissions';
import { AppError } from '../../http/errors/app-error';
import { ApiKeysService } from '../../access/api-keys/api-keys.service';
import { LiveLoginsRepository } from './live-logins.repository';
import { rightsOf } from './live-logins.service';

/** Work that continues after its request: the actor, the origin and the permission. */
export interface RequestedWork {
  actor_type: 'user' | 'key';
  actor_id: string;
  session_id: string | null;
  ip: string | null;
  request_id: string | null;
  permission: string;
}

/**
 * Finds the user or API key that requested work. The work continues after the request, even after a
 * logout.
 */
@Injectable()
export class RememberedActorsService {
  constructor(
    private readonly logins: LiveLoginsRepository,
    private readonly apiKeys: ApiKeysService,
  ) {}

  /**
   * Returns the actor who requested the work, with the actor's current permissions.
   * @throws access.denied if the actor may no longer do the work
   */
  async of({ actor_type, actor_id, session_id, ip, request_id, permission }: RequestedWork): Promise<Actor> {
    const origin: Caller = { ip, user_agent: null, request_id };
    const isKey = actor_type === 'key';
    const actor = isKey ? await this.apiKeys.findById(actor_id, origin) : await this.user(actor_id, session_id, origin);
    if (actor === null) throw new AppError('access.denied');
    assertHolds(actor, permission);
    return actor;
  }

  private async user(user_id: string, session_id: string | null, origin: Caller): Promise<Actor | null> {
    const user = await this.logins.findActing(user_id, session_id);
    if (user === null) return null;
    const rights = rightsOf(user);
    const session = { session_id, auth_time: null, fresh_until: null };
    // The authentication was fresh when the work was accepted. The work continues even if the
    // user must now enrol a factor.
    return actorOf({ user: { ...user, must_enroll_second_factor: false }, ...rights }, session, origin);
  }
}
