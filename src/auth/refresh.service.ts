import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../access/actor';
import { EventsService } from '../events/events.service';
import { type Refreshed, SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from '../users/user-mails.service';

/** Rotating refresh tokens, with what follows from reuse. */
@Injectable()
export class RefreshService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
  ) {}

  /** A refresh token of another session than the access token's rotates nothing. A reused one has ended its session: recorded, and the user told. */
  @Transactional()
  async rotate(refresh_token: string, session_id: string | null, caller: Caller): Promise<Refreshed> {
    if (session_id !== null && this.sessions.sessionOf(refresh_token) !== session_id) return { outcome: 'invalid' };
    const refreshed = await this.sessions.rotate(refresh_token);
    if (refreshed.outcome === 'reused') {
      await this.events.record(systemActorFor(caller), 'session.token_reused', {
        type: 'session',
        id: refreshed.session_id,
        carrier_id: refreshed.carrier_id,
      });
      await this.mails.enqueue({ user_id: refreshed.user_id, mail: 'token-reuse' });
    }
    return refreshed;
  }
}
