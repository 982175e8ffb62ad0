import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../access/actor';
import { EventsService } from '../events/events.service';
import { type RotatedPair, SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from '../users/user-mails.service';

/** Rotating refresh tokens, with what follows from reuse. */
@Injectable()
export class RefreshService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
  ) {}

  /**
   * A refresh token of another session than the access token's rotates nothing. Null when it is not
   * good; a reused one has ended its session.
   */
  async rotate(refresh_token: string, session_id: string | null, caller: Caller): Promise<RotatedPair | null> {
    if (session_id !== null && this.sessions.sessionOf(refresh_token) !== session_id) return null;
    // one statement, and no transaction around it: this is what is asked all day
    const refreshed = await this.sessions.rotate(refresh_token);
    if (refreshed.outcome === 'reused') await this.end(refreshed.session_id, caller);
    return refreshed.outcome === 'rotated' ? refreshed : null;
  }

  /** Recorded, and the user told. */
  @Transactional()
  private async end(session_id: string, caller: Caller): Promise<void> {
    const ended = await this.sessions.endReused(session_id);
    if (ended === null) return;
    const { user_id, carrier_id } = ended;
    await this.events.record(
      systemActorFor(caller),
      'session.token_reused',
      { type: 'session', id: session_id, carrier_id },
      { user_id: { before: user_id } },
    );
    await this.mails.enqueue({ user_id, mail: 'token-reuse' });
  }
}
