import { Injectable } from '@nestjs/common';
import { isOwn } from '../../access/scope.sql';
import type { Condition } from '../../http/lists/filter';
import { filterSql } from '../../http/lists/filter.sql';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { EventBase } from '../../audit/event-base';
import { recordEventsSql } from '../../audit/events.sql';
import type { EndedReason, SessionEntity } from './session.entity';
import type { SessionReach } from './session-list';
import { liveSession, reachableSession, sessionFilterSql, sessionListSql } from './session-list.sql';

/** A session that ended. */
export type EndedSession = Pick<SessionEntity, 'session_id' | 'user_id' | 'carrier_id'>;

/**
 * SQL that ends sessions. Each method records one event per session and returns the number of
 * sessions; only `endReused` leaves the event to its caller.
 */
@Injectable()
export class SessionEndsRepository {
  constructor(private readonly database: Database) {}

  /** Ends one session, unless its user has one of the protected roles. */
  endOne(session_id: string, reach: SessionReach, protected_roles: string[], event: EventBase): Promise<number> {
    const matching = sql`sessions.session_id = ${session_id}::uuid
          and ${unprotected(reach, protected_roles)}`;
    return this.run(event, matching, sql`${'revoked'}::text`);
  }

  /**
   * Ends up to `limit` sessions that match a filter.
   * Skips the session of the actor, and the sessions of users who have one of the protected roles.
   */
  endFound(
    conditions: Condition[],
    reach: SessionReach,
    protected_roles: string[],
    event: EventBase,
    limit: number,
  ): Promise<number> {
    const matching = sql`${filterSql(conditions, sessionFilterSql)}
          and ${reachableSession(reach)}
          and sessions.session_id is distinct from ${event.session_id}::uuid
          and ${unprotected(reach, protected_roles)}`;
    return this.run(event, matching, sql`${'revoked'}::text`, limit);
  }

  endById(session_id: string, reason: EndedReason, event: EventBase): Promise<number> {
    return this.run(event, sql`sessions.session_id = ${session_id}::uuid`, sql`${reason}::text`);
  }

  endOfUsers(
    user_ids: string[],
    reason: EndedReason,
    except_session_id: string | null,
    event: EventBase,
  ): Promise<number> {
    const matching = sql`sessions.user_id = any(${user_ids}::uuid[])
          and sessions.session_id is distinct from ${except_session_id}::uuid`;
    return this.run(event, matching, sql`${reason}::text`);
  }

  /** Ends the sessions that users may no longer have: see `SessionsService.endForbidden`. */
  endForbidden(user_ids: string[], event: EventBase): Promise<number> {
    // With the ids on both tables, the planner does not read all of `users` for a batch.
    const matching = sql`sessions.user_id = any(${user_ids}::uuid[])
          and users.user_id = any(${user_ids}::uuid[])
          and (
            users.deleted_at is not null
            or users.status = 'disabled'
            or (
              cardinality(users.allowed_ips) > 0
              and not (coalesce(sessions.ip, '0.0.0.0') <<= any(users.allowed_ips))
            )
          )`;
    const reason = sql`case
          when users.deleted_at is not null then 'user_deleted'
          when users.status = 'disabled' then 'user_disabled'
          else 'ip_not_allowed'
        end`;
    return this.run(event, matching, reason);
  }

  /**
   * Ends the least recently used live sessions of a locked user, so that `kept` sessions are left.
   * Because the user is locked, the sessions of concurrent logins are visible.
   */
  async endSurplus(user_id: string, kept: number, event: EventBase): Promise<number> {
    const matching = sql`sessions.user_id = ${user_id}::uuid
          and sessions.session_id = any(array(
            select surplus.session_id
            from sessions surplus
            where surplus.user_id = ${user_id}::uuid and surplus.ended_at is null and surplus.expires_at > now()
            order by surplus.last_seen_at desc, surplus.session_id desc
            offset ${kept}::integer
          ))`;
    const ending = endSql(event, matching, sql`${'replaced'}::text`, null, null);
    const [row] = await this.database.runPrepared<{ count: number }>(ending);
    return row?.count ?? 0;
  }

  /**
   * Ends up to `limit` sessions before their absolute expiry, with ids after `after`. Records no
   * events. Returns their number and the last id.
   */
  async endNext(after: string, limit: number): Promise<{ count: number; last: string }> {
    const [row] = await this.database.run<{ count: number; last: string }>(sql`
      with ended as (
        update sessions
        set ended_at = now(), ended_reason = 'revoked'
        where session_id = any(array(
          select session_id
          from sessions
          where session_id > ${after}::uuid and ended_at is null and absolute_expires_at > now()
          order by session_id
          limit ${limit}::integer
          for no key update
        ))
        returning session_id
      )
      select count(*)::integer as count, max(session_id::text collate "C") as last
      from ended`);
    return row as { count: number; last: string };
  }

  /** Ends a session whose refresh token was reused. Returns null if the session ended before. */
  endReused(session_id: string): Promise<EndedSession | null> {
    return this.database.find<EndedSession>(sql`
      update sessions
      set ended_at = now(), ended_reason = 'token_reuse'
      where session_id = ${session_id}::uuid and ${liveSession}
      returning session_id, user_id, carrier_id`);
  }

  private async run(
    event: EventBase,
    matching: SqlFragment,
    reason: SqlFragment,
    limit: number | null = null,
  ): Promise<number> {
    const [row] = await this.database.run<{ count: number }>(endSql(event, matching, reason, limit, event.actor_id));
    return row?.count ?? 0;
  }
}

/** Renders whether a session is the actor's own, or its user has none of the protected roles. */
function unprotected({ scope }: SessionReach, protected_roles: string[]): SqlFragment {
  return sql`(${isOwn(scope, 'sessions.user_id')} or not users.roles && ${protected_roles}::text[])`;
}

/**
 * Renders the statement that ends sessions.
 * @param matching condition on `sessions`, `session_search` and `users`
 * @param reason SQL of the `ended_reason`
 * @param limit maximum number of sessions; null = all
 * @param ended_by user or API key that ended the sessions; null = the service
 */
function endSql(
  event: EventBase,
  matching: SqlFragment,
  reason: SqlFragment,
  limit: number | null,
  ended_by: string | null,
): SqlFragment {
  const endedTargets = rawSql(`(
        select
          session_id as id,
          carrier_id,
          jsonb_build_object(
            'user_id', jsonb_build_object('before', user_id),
            'ended_reason', jsonb_build_object('after', ended_reason)
          ) as changes,
          null::integer as version
        from ended
      ) target`);
  return sql`
      with
      -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
      found as (
        select sessions.session_id, ${reason} as reason
        from ${sessionListSql.from}
        where ${liveSession}
          and ${matching}
        order by sessions.session_id
        limit ${limit}::integer
        for no key update of sessions
      ),
      -- Ends the sessions. A trigger notifies all instances.
      ended as (
        update sessions
        set ended_at = now(), ended_reason = found.reason, ended_by = ${ended_by}::uuid
        from found
        where sessions.session_id = found.session_id
        returning sessions.session_id, sessions.user_id, sessions.carrier_id, sessions.ended_reason
      ),
      recorded as (${recordEventsSql(event, endedTargets)}
      )
      select count(*)::integer as count from ended`;
}
