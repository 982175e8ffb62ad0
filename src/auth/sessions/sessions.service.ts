import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActor, systemActorFor, type UserType } from '../../access/actor';
import { holds } from '../../access/permissions';
import type { TokenGrant } from '../../access/token-grant';
import { AppError } from '../../http/errors/app-error';
import type { Condition } from '../../http/lists/filter';
import type { ListQuery } from '../../http/lists/list-query';
import type { Page } from '../../http/lists/page';
import { hashToken } from '../../platform/random';
import type { Answered } from '../../platform/times';
import { CONFIG, type Config } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import { retentionRemoved } from '../../platform/jobs/retention.metrics';
import { type EventBase, eventBase } from '../../audit/event-base';
import { RolesService } from '../../access/roles/roles.service';
import { RefreshTokens } from './refresh-token';
import type { EndedReason } from './session.entity';
import { type EndedSession, SessionEndsRepository } from './session-ends.repository';
import type { SessionReach } from './session-list';
import { type EndedSessionsResponse, type SessionResponse, toSessionResponse } from './sessions.dto';
import { type RotatedSession, SessionsRepository } from './sessions.repository';

/** Number of sessions that one statement ends or deletes within a second. */
const batchMax = 5_000;
/** Days for which ended sessions are kept. Their events are kept as long as other events. */
const keptDays = 90;
/** Half a million sessions take a minute, so the job ends before it is considered hung. */
const oldBatchesMax = 100;

/** How and when a user authenticated. */
export interface Authentication {
  /** authentication methods (RFC 8176), such as `pwd` */
  amr: string[];
  auth_time: Date;
}

/** A session to open. */
export interface SessionRequest {
  session_id: string;
  user: { user_id: string; user_type: UserType; carrier_id: string | null };
  caller: Caller;
  authentication: Authentication;
  /** limits of the tokens; null = none */
  grant?: TokenGrant | null;
}

/** A session that was opened. */
export interface OpenedSession {
  session_id: string;
  refresh_token: string;
  /** expiry without activity */
  expires_at: Date;
}

/** A session with its next refresh token. */
export type RefreshedSession = RotatedSession & { session_id: string; refresh_token: string };

/**
 * Result of using a refresh token. After `reused` the session must end: the token was rotated
 * before, and the grace period is over.
 */
export type RefreshOutcome =
  ({ outcome: 'rotated' } & RefreshedSession) | { outcome: 'reused'; session_id: string } | { outcome: 'invalid' };

/**
 * Manages sessions, one per login. The tokens of an ended session are rejected on the next request,
 * on other instances within milliseconds (ADR 0010).
 */
@Injectable()
export class SessionsService implements OnModuleInit {
  private readonly refreshTokens: RefreshTokens;
  private readonly idle: Record<UserType, number>;
  private readonly absolute: Record<UserType, number>;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly sessions: SessionsRepository,
    private readonly ends: SessionEndsRepository,
    private readonly roles: RolesService,
    private readonly jobs: JobsService,
  ) {
    this.refreshTokens = new RefreshTokens(config.APP_SECRET, config.APP_SECRET_PREVIOUS);
    this.idle = { system: config.SYSTEM_USER_SESSION_IDLE_SECONDS, carrier: config.CARRIER_USER_SESSION_IDLE_SECONDS };
    this.absolute = {
      system: config.SYSTEM_USER_SESSION_ABSOLUTE_SECONDS,
      carrier: config.CARRIER_USER_SESSION_ABSOLUTE_SECONDS,
    };
  }

  onModuleInit(): void {
    this.jobs.every('17 * * * *', 'remove-old-sessions', () => this.removeOld());
  }

  /**
   * Opens a session. Lock the user first, and call `endSurplus` before.
   * @param request needs a new `session_id` for each login (session fixation, OWASP ASVS 7.2.4)
   */
  async open({ session_id, user, caller, authentication, grant = null }: SessionRequest): Promise<OpenedSession> {
    const { user_id, user_type, carrier_id } = user;
    const refresh_token = this.refreshTokens.mint(session_id);
    const { expires_at } = await this.sessions.insert({
      session_id,
      user_id,
      user_type,
      carrier_id,
      refresh_token_hash: hashToken(refresh_token),
      ip: caller.ip,
      user_agent: caller.user_agent,
      ...authentication,
      token_grant: grant,
      idle_seconds: this.idle[user_type],
      absolute_seconds: this.absolute[user_type],
    });
    return { session_id, refresh_token, expires_at };
  }

  /**
   * Ends the least recently used sessions of the actor, so that one more session stays within
   * `SESSIONS_PER_USER_MAX`. Lock the user first. Returns the number of ended sessions.
   */
  endSurplus(actor: Actor): Promise<number> {
    return this.ends.endSurplus(actor.user_id, this.config.SESSIONS_PER_USER_MAX - 1, endedBy(actor));
  }

  /** Returns the session id of a refresh token, whether the token is current or not. */
  sessionOf(refresh_token: string): string | null {
    return this.refreshTokens.sessionOf(refresh_token);
  }

  /**
   * Rotates a refresh token.
   * Within the grace period the immediate predecessor gets the same successor again, so two tabs do
   * not log each other out. Any older token is a replay: call `endReused` (RFC 9700 §4.14.2).
   */
  async rotate(refresh_token: string): Promise<RefreshOutcome> {
    const session_id = this.refreshTokens.sessionOf(refresh_token);
    if (session_id === null) return { outcome: 'invalid' };
    const successor = this.refreshTokens.successor(refresh_token);
    const before = hashToken(refresh_token);
    const { asked_at, ...rotated } = await this.sessions.rotate(session_id, before, hashToken(successor), this.idle);
    if (rotated.user_id !== null) return { outcome: 'rotated', session_id, refresh_token: successor, ...rotated };
    const grace_seconds = this.config.REFRESH_GRACE_SECONDS;
    const recent = await this.sessions.findRotatedWithin(session_id, before, asked_at, grace_seconds);
    if (recent === null) return { outcome: 'reused', session_id };
    const { refresh_token_hash, ...last } = recent;
    // Only the stored successor is valid. While `APP_SECRET` is rotated, another instance may have
    // minted it with the other secret.
    const stored = this.refreshTokens.successorWith(refresh_token_hash, refresh_token);
    return stored === null
      ? { outcome: 'invalid' }
      : { outcome: 'rotated', session_id, refresh_token: stored, ...last };
  }

  /** Replaces the limits of the tokens. @throws auth.scope_exceeded if they changed meanwhile */
  async limit(session_id: string, before: TokenGrant | null, after: TokenGrant | null): Promise<void> {
    if (!(await this.sessions.replaceGrant(session_id, before, after))) throw new AppError('auth.scope_exceeded');
  }

  /** Ends the session of a reused refresh token. Returns null if the session ended before. */
  endReused(session_id: string): Promise<EndedSession | null> {
    return this.ends.endReused(session_id);
  }

  /** Returns a session that the actor may read, or null. */
  async find(actor: Actor, session_id: string): Promise<SessionResponse | null> {
    const session = await this.sessions.find(session_id, reachOf(actor, 'session:read'));
    return session === null ? null : toSessionResponse(session, actor.session_id);
  }

  /** Lists the actor's own sessions, or with `session:read` all sessions within the scope. */
  async list(actor: Actor, query: ListQuery): Promise<Page<Answered<SessionResponse>>> {
    const page = await this.sessions.list(reachOf(actor, 'session:read'), query);
    return { ...page, items: page.items.map((session) => toSessionResponse(session, actor.session_id)) };
  }

  /**
   * Ends one session. Does nothing if the session ended before.
   * @throws session.not_found, access.protected_user
   */
  @Transactional()
  async endOne(actor: Actor, session_id: string): Promise<void> {
    const reach = reachOf(actor, 'session:revoke');
    const session = await this.sessions.find(session_id, reach);
    if (session === null) throw new AppError('session.not_found');
    const { forbidden } = await this.roles.grantsOf(actor);
    const ended = await this.ends.endOne(session_id, reach, forbidden, endedBy(actor));
    if (ended === 0 && session.active) throw new AppError('access.protected_user');
  }

  /**
   * Ends the sessions that match a filter; without a filter, the actor's other sessions. Never ends
   * the current session of the actor.
   * Works in batches, so that other requests do not wait for long. After an error, the finished
   * batches stay ended, and the same request ends the rest.
   */
  async endFound(actor: Actor, filter: Condition[]): Promise<EndedSessionsResponse> {
    const conditions = await this.sessions.withAgents(filter);
    const reach = conditions.length === 0 ? { scope: actor, others: false } : reachOf(actor, 'session:revoke');
    const { forbidden } = await this.roles.grantsOf(actor);
    const endBatch = () => this.ends.endFound(conditions, reach, forbidden, endedBy(actor), batchMax);
    let ended = 0;
    for (let count = await endBatch(); count > 0; count = await endBatch()) ended += count;
    return { ended };
  }

  /**
   * Notes that the user of the actor's session authenticated again. Every instance sees the new
   * `auth_time` and `amr` with the next request.
   * @param methods authentication methods that the session gets (RFC 8176)
   * @throws auth.token_invalid if the session ended
   */
  async reauthenticate({ session_id }: Actor, methods: string[] = []): Promise<Authentication> {
    const renewed = session_id === null ? null : await this.sessions.reauthenticate(session_id, methods);
    if (renewed === null) throw new AppError('auth.token_invalid');
    return renewed;
  }

  /** Ends all live sessions of users, in the transaction of the change of the users. */
  async endOf(
    actor: Actor,
    user_ids: string[],
    reason: EndedReason,
    except_session_id: string | null = null,
  ): Promise<void> {
    await this.ends.endOfUsers(user_ids, reason, except_session_id, endedBy(actor));
  }

  /**
   * Ends the sessions that users may no longer have, because they were deleted or disabled or the
   * address of the session is no longer allowed.
   */
  async endForbidden(actor: Actor, user_ids: string[], operation_id: string | null): Promise<void> {
    await this.ends.endForbidden(user_ids, endedBy(actor, operation_id));
  }

  /** Logs out: ends a session for a caller who sent one of its tokens. */
  async endCurrent(caller: Caller, session_id: string): Promise<void> {
    const session = await this.sessions.find(session_id, { scope: systemActor, others: true });
    if (session === null) return;
    const actor: Actor = { ...systemActorFor(caller), actor_type: 'user', user_id: session.user_id, session_id };
    await this.ends.endById(session_id, 'logout', endedBy(actor));
  }

  /** Deletes old sessions in batches. The first batch that is not full is the last. */
  async removeOld(): Promise<void> {
    for (let batch = 0; batch < oldBatchesMax; batch++) {
      const removed = await this.sessions.removeOld(keptDays, batchMax);
      retentionRemoved.inc({ kind: 'sessions' }, removed);
      if (removed < batchMax) return;
    }
  }
}

function reachOf(actor: Actor, permission: 'session:read' | 'session:revoke'): SessionReach {
  return { scope: actor, others: holds(actor.permissions, permission) };
}

function endedBy(actor: Actor, operation_id: string | null = null): EventBase {
  return eventBase(actor, 'session.ended', { operation_id });
}
