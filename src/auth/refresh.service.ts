import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../access/actor';
import { Notifications } from '../database/notifications.service';
import { EventsService } from '../events/events.service';
import { type RefreshedSession, SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from '../user-mails/user-mails.service';

/** Rotates refresh tokens, and reacts to reuse. */
@Injectable()
export class RefreshService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
    private readonly notifications: Notifications,
  ) {}

  /**
   * Rotates a refresh token. Returns null if the token is invalid. Reuse ends the session and
   * notifies the user (RFC 9700 §4.14.2).
   * @param session_id session to which the refresh token must belong; null = any session
   */
  async rotate(refresh_token: string, session_id: string | null, caller: Caller): Promise<RefreshedSession | null> {
    if (session_id !== null && this.sessions.sessionOf(refresh_token) !== session_id) return null;
    await this.notifications.assertLease();
    // No transaction: the frequent case is one statement.
    const refreshed = await this.sessions.rotate(refresh_token);
    if (refreshed.outcome === 'reused') await this.end(refreshed.session_id, caller);
    return refreshed.outcome === 'rotated' ? refreshed : null;
  }

  /** Ends the session of a reused token, records the event and notifies the user. */
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
    await this.mails.tokenReused(user_id, caller);
  }
}
