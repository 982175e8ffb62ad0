import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, identityOf, systemActorFor, type UserType } from '../access/actor';
import { holds } from '../access/permissions';
import { isOwn, visibleTo } from '../access/scope.sql';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import { parseFilter, type RawQuery } from '../common/query/filter';
import { filterSql } from '../common/query/filter.sql';
import type { Page } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { hashToken, newId } from '../common/random';
import type { Answered } from '../common/times';
import { CONFIG, type Config } from '../config/config';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { RefreshTokens } from './refresh-token';
import type { EndedReason } from './session.entity';
import { sessionList } from './session-list';
import { sessionFilterSql } from './session-list.sql';
import { type EndedSessionsResponse, type SessionResponse, toSessionResponse } from './sessions.dto';
import {
  type EarlierRotation,
  type EndedSession,
  type RecordTargets,
  type RotatedSession,
  SessionsRepository,
} from './sessions.repository';

/** What the event of a login is made from, given `noted` in the same statement. */
const notedTarget = rawSql(
  `(select user_id as id, carrier_id, '{}'::jsonb as changes, null::integer as version from noted) target`,
);

const columns = { user_id: 'sessions.user_id', user_type: 'sessions.user_type', carrier_id: 'sessions.carrier_id' };

/** Sessions that one statement ends: done within a second. */
const endedAtOnce = 5_000;

/** A session with its next refresh token. */
export type RotatedPair = RotatedSession & { session_id: string; refresh_token: string };

/**
 * What became of a refresh token: rotated, used too late or twice (its session must end), or not
 * good.
 */
export type Refreshed =
  ({ outcome: 'rotated' } & RotatedPair) | { outcome: 'reused'; session_id: string } | { outcome: 'invalid' };

/** A session that begins with the login that it is for. */
export interface NewLogin {
  session_id: string;
  refresh_token: string;
  /**
   * the parts of the statement that notes the login, the user being `noted`; `opened` answers an
   * `OpenedSession`
   */
  statements: SqlFragment;
}

/** What became of a session that was to begin. */
export interface OpenedSession {
  /** when it ends if nothing happens */
  expires_at: Date;
  /** how many were ended, because they were too many with it */
  ended: number;
}

/**
 * Manages sessions, one per login. The tokens of an ended session are rejected on the next request,
 * on other instances within milliseconds (ADR 0010).
 */
@Injectable()
export class SessionsService {
  private readonly refreshTokens: RefreshTokens;
  private readonly idle: Record<UserType, number>;
  private readonly absolute: Record<UserType, number>;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly sessions: SessionsRepository,
    private readonly roles: RolesService,
    private readonly events: EventsService,
  ) {
    this.refreshTokens = new RefreshTokens(config.APP_SECRET, config.APP_SECRET_PREVIOUS);
    this.idle = { system: config.SYSTEM_USER_SESSION_IDLE_SECONDS, carrier: config.CARRIER_USER_SESSION_IDLE_SECONDS };
    this.absolute = {
      system: config.SYSTEM_USER_SESSION_ABSOLUTE_SECONDS,
      carrier: config.CARRIER_USER_SESSION_ABSOLUTE_SECONDS,
    };
  }

  /**
   * A session to begin with a login, always with a new id (session fixation, OWASP ASVS 7.2.4), and
   * the event of that login. Of too many live ones the least recently used end.
   */
  newLogin({ user_id, user_type }: { user_id: string; user_type: UserType }, caller: Caller): NewLogin {
    const session_id = newId();
    const refresh_token = this.refreshTokens.mint(session_id);
    const lifetime = { idle_seconds: this.idle[user_type], absolute_seconds: this.absolute[user_type] };
    const origin = { ip: caller.ip, user_agent: caller.user_agent };
    const session = { session_id, user_type, refresh_token_hash: hashToken(refresh_token), ...origin, ...lifetime };
    const actor: Actor = { ...systemActorFor(caller), actor_type: 'user', user_id, session_id };
    const record: RecordTargets = (targets) => this.events.recordAll(actor, 'session.ended', 'session', targets);
    const begin = this.sessions.beginSql(session, this.config.SESSIONS_PER_USER_MAX, record);
    const event = this.events.recordAll(actor, 'login.succeeded', 'login', notedTarget);
    return { session_id, refresh_token, statements: sql`${begin}, succeeded as (${event})` };
  }

  /**
   * The session a refresh token belongs to, whether it is still good or not; null when it is none
   * of ours.
   */
  sessionOf(refresh_token: string): string | null {
    return this.refreshTokens.sessionOf(refresh_token);
  }

  /**
   * Rotates a refresh token (RFC 9700 §4.14.2). The predecessor answers with the same successor
   * for a few seconds, for two tabs or a lost answer; any older one is reuse, for which there is
   * `endReused`.
   */
  async rotate(refresh_token: string): Promise<Refreshed> {
    const session_id = this.refreshTokens.sessionOf(refresh_token);
    if (session_id === null) return { outcome: 'invalid' };
    const successor = this.refreshTokens.successor(refresh_token);
    const before = hashToken(refresh_token);
    const { asked_at, ...rotated } = await this.sessions.rotate(session_id, before, hashToken(successor), this.idle);
    if (rotated.user_id !== null) return { outcome: 'rotated', session_id, refresh_token: successor, ...rotated };
    const earlier = await this.sessions.findRotatedWithin(
      session_id,
      before,
      asked_at,
      this.config.REFRESH_GRACE_SECONDS,
    );
    return earlier === null ? { outcome: 'reused', session_id } : this.repeat(refresh_token, session_id, earlier);
  }

  /**
   * Ends the session of a refresh token that was used too late or twice; null when it has ended
   * already.
   */
  endReused(session_id: string): Promise<EndedSession | null> {
    return this.sessions.endReused(session_id);
  }

  /**
   * Another instance may have made the successor, with the other secret while `APP_SECRET` is
   * changed: only the stored one is good.
   */
  private repeat(
    refresh_token: string,
    session_id: string,
    { refresh_token_hash, ...rotated }: EarlierRotation,
  ): Refreshed {
    const successor = this.refreshTokens.successorWith(refresh_token_hash, refresh_token);
    return successor === null
      ? { outcome: 'invalid' }
      : { outcome: 'rotated', session_id, refresh_token: successor, ...rotated };
  }

  /** One session for its own user or whoever may see it; null when there is none. */
  async find(actor: Actor, session_id: string): Promise<SessionResponse | null> {
    const session = await this.sessions.find(session_id, this.visible(actor, 'session:read'));
    return session === null ? null : toSessionResponse(session, actor.session_id);
  }

  /** One page of one's own sessions, or with `session:read` of all within the scope. */
  async list(actor: Actor, query: RawQuery): Promise<Page<Answered<SessionResponse>>> {
    const page = await this.sessions.list(this.visible(actor, 'session:read'), query, identityOf(actor));
    return { ...page, items: page.items.map((session) => toSessionResponse(session, actor.session_id)) };
  }

  /**
   * Ends one session; one that has ended already stays as it is. @throws session.not_found,
   * access.protected_user
   */
  @Transactional()
  async endOne(actor: Actor, session_id: string): Promise<void> {
    const session = await this.sessions.find(session_id, this.visible(actor, 'session:revoke'));
    if (session === null) throw new AppError('session.not_found');
    const ended = await this.end(
      actor,
      [sql`sessions.session_id = ${session_id}::uuid`, await this.unprotected(actor)],
      'revoked',
    );
    if (ended === 0 && session.active) throw new AppError('access.protected_user');
  }

  /**
   * Ends what the filter finds, without a filter one's own others; never the current one. Many are
   * ended some thousands at a time, so that nobody waits for long: when a fault comes in between,
   * those before it stay ended, and the same again ends the rest.
   */
  async endFound(actor: Actor, query: RawQuery): Promise<EndedSessionsResponse> {
    const errors: FieldError[] = [];
    const read = parseFilter(query, sessionList.filter, errors);
    if (errors.length > 0) throw invalid(...errors);
    const conditions = await this.sessions.withAgents(read);
    const reach = conditions.length === 0 ? this.own(actor) : this.visible(actor, 'session:revoke');
    const notCurrent = sql`sessions.session_id is distinct from ${actor.session_id}::uuid`;
    const first = this.sessions.firstOf(
      [filterSql(conditions, sessionFilterSql), reach, notCurrent, await this.unprotected(actor)],
      endedAtOnce,
    );
    let ended = 0;
    for (let count = -1; count !== 0; ended += count) count = await this.end(actor, [first], 'revoked');
    return { ended };
  }

  /** Ends all live sessions of users, in the transaction of what is done to them. */
  async endOf(
    actor: Actor,
    user_ids: string[],
    reason: EndedReason,
    except_session_id: string | null = null,
  ): Promise<void> {
    await this.end(
      actor,
      [
        sql`sessions.user_id = any(${user_ids}::uuid[])`,
        sql`sessions.session_id is distinct from ${except_session_id}::uuid`,
      ],
      reason,
    );
  }

  /**
   * Ends the sessions of users who may not have them any more: deleted, disabled, or from an
   * address that is not allowed.
   */
  async endForbidden(actor: Actor, user_ids: string[], operation_id: string | null): Promise<void> {
    const outside = sql`(cardinality(users.allowed_ips) > 0 and not (coalesce(sessions.ip, '0.0.0.0') <<= any(users.allowed_ips)))`;
    const forbidden = sql`(users.deleted_at is not null or users.status = 'disabled' or ${outside})`;
    const reason = sql`case when users.deleted_at is not null then 'user_deleted' when users.status = 'disabled' then 'user_disabled' else 'ip_not_allowed' end`;
    // of the users too, although they are the same: else the planner reads the whole table for a
    // batch of a bulk change
    const theirs = sql`sessions.user_id = any(${user_ids}::uuid[]) and users.user_id = any(${user_ids}::uuid[])`;
    await this.endAll(actor, [theirs, forbidden], reason, operation_id);
  }

  /** Ends a session at the wish of its own user, who has shown one of its tokens. */
  async endCurrent(caller: Caller, session_id: string): Promise<void> {
    const session = await this.sessions.find(session_id, sql`true`);
    if (session === null) return;
    const actor: Actor = { ...systemActorFor(caller), actor_type: 'user', user_id: session.user_id, session_id };
    await this.end(actor, [sql`sessions.session_id = ${session_id}::uuid`], 'logout');
  }

  private own(actor: Actor): SqlFragment {
    return isOwn(actor, 'sessions.user_id');
  }

  /** Deleted users do not exist for anybody, and neither do their sessions. */
  private visible(actor: Actor, permission: 'session:read' | 'session:revoke'): SqlFragment {
    const seen = holds(actor.permissions, permission) ? visibleTo(actor, columns) : this.own(actor);
    return sql`${seen} and users.deleted_at is null`;
  }

  private async unprotected(actor: Actor): Promise<SqlFragment> {
    const { forbidden } = await this.roles.grantsOf(actor);
    return sql`(${this.own(actor)} or not users.roles && ${forbidden}::text[])`;
  }

  private end(actor: Actor, conditions: SqlFragment[], reason: EndedReason): Promise<number> {
    return this.endAll(actor, conditions, sql`${reason}::text`, null);
  }

  private endAll(
    actor: Actor,
    conditions: SqlFragment[],
    reason: SqlFragment,
    operation_id: string | null,
  ): Promise<number> {
    const ended_by = actor.actor_type === 'system' ? null : actor.user_id;
    const record: RecordTargets = (targets) =>
      this.events.recordAll(actor, 'session.ended', 'session', targets, operation_id);
    return this.sessions.end(conditions, reason, ended_by, record);
  }
}
