import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { narrowGrant, type TokenGrant } from '../../access/token-grant';
import { AppError } from '../../http/errors/app-error';
import { Notifications } from '../../platform/database/notifications.service';
import { EventsService } from '../../audit/events.service';
import { LiveLoginsService } from './live-logins.service';
import { type RefreshedSession, type RefreshOutcome, SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from '../../users/mails/user-mails.service';

/** Rotates refresh tokens, and reacts to reuse. */
@Injectable()
export class RefreshService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
    private readonly logins: LiveLoginsService,
    private readonly notifications: Notifications,
  ) {}

  /**
   * Rotates a refresh token. Returns null if the token is invalid. Reuse ends the session and
   * notifies the user (RFC 9700 §4.14.2).
   * @param session_id session to which the refresh token must belong; null = any session
   * @throws auth.scope_exceeded, request.invalid, which rotate nothing
   */
  async rotate(refresh_token: string, session_id: string | null, caller: Caller): Promise<RefreshedSession | null> {
    if (session_id !== null && this.sessions.sessionOf(refresh_token) !== session_id) return null;
    await this.notifications.assertLease();
    // No transaction: the frequent case is one statement.
    const { asked } = caller;
    const refreshed = await (asked ? this.narrow(refresh_token, asked) : this.sessions.rotate(refresh_token));
    if (asked) await this.notifications.caughtUp();
    if (refreshed.outcome === 'reused') await this.end(refreshed.session_id, caller);
    return refreshed.outcome === 'rotated' ? refreshed : null;
  }

  @Transactional()
  private async narrow(refresh_token: string, asked: TokenGrant): Promise<RefreshOutcome> {
    const refreshed = await this.sessions.rotate(refresh_token);
    if (refreshed.outcome !== 'rotated') return refreshed;
    const login = await this.logins.find(refreshed.session_id, refreshed.user_id);
    if (login === null) throw new AppError('auth.token_invalid');
    const { grant, permissions } = login;
    await this.sessions.limit(refreshed.session_id, grant, narrowGrant(grant, asked, permissions));
    return refreshed;
  }

  /** Ends the session of a reused token, records the event and notifies the user. */
  @Transactional()
  private async end(session_id: string, caller: Caller): Promise<void> {
    const ended = await this.sessions.endReused(session_id);
    if (ended === null) return;
    const { user_id, carrier_id } = ended;
    const origin = callerFor(caller, ended);
    await this.events.record(
      systemActorFor(origin),
      'session.token_reused',
      { id: session_id, carrier_id },
      { user_id: { before: user_id } },
    );
    await this.mails.tokenReused(user_id, origin);
  }
}
