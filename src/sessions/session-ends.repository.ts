import { Injectable } from '@nestjs/common';
import { isOwn } from '../access/scope.sql';
import type { Condition } from '../common/query/filter';
import { filterSql } from '../common/query/filter.sql';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { EventBase } from '../events/events.service';
import { recordEventsSql } from '../events/events.sql';
import type { EndedReason } from './session.entity';
import type { SessionReach } from './session-list';
import { liveSession, reachableSession, sessionFilterSql, sessionListSql } from './session-list.sql';

/** A session that ended. */
export interface EndedSession {
  session_id: string;
  user_id: string;
  carrier_id: string | null;
}

/** Which sessions a statement ends. */
interface Ending {
  /** condition on `sessions`, `session_search` and `users` */
  matching: SqlFragment;
  /** SQL expression of the `ended_reason` */
  reason: SqlFragment;
  /** maximum number of sessions; null = all */
  limit?: number | null;
  /** user or API key that ended the sessions; null = the service */
  ended_by: string | null;
}

/**
 * SQL that ends sessions. Each method records one event per session and returns the number of
 * sessions; only `endReused` leaves the event to its caller.
 */
@Injectable()
export class SessionEndsRepository {
  constructor(private readonly database: Database) {}

  /** Ends one session, unless its user has one of the protected roles. */
  endOne(session_id: string, reach: SessionReach, protected_roles: string[], event: EventBase): Promise<number> {
    return this.run(event, {
      matching: sql`sessions.session_id = ${session_id}::uuid
          and ${unprotected(reach, protected_roles)}`,
      reason: sql`${'revoked'}::text`,
      ended_by: event.actor_id,
    });
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
    return this.run(event, {
      matching: sql`${filterSql(conditions, sessionFilterSql)}
          and ${reachableSession(reach)}
          and sessions.session_id is distinct from ${event.session_id}::uuid
          and ${unprotected(reach, protected_roles)}`,
      reason: sql`${'revoked'}::text`,
      limit,
      ended_by: event.actor_id,
    });
  }

  endById(session_id: string, reason: EndedReason, event: EventBase): Promise<number> {
    return this.run(event, {
      matching: sql`sessions.session_id = ${session_id}::uuid`,
      reason: sql`${reason}::text`,
      ended_by: event.actor_id,
    });
  }

  /** Ends the sessions of users, except one. */
  endOfUsers(
    user_ids: string[],
    reason: EndedReason,
    except_session_id: string | null,
    event: EventBase,
  ): Promise<number> {
    return this.run(event, {
      matching: sql`sessions.user_id = any(${user_ids}::uuid[])
          and sessions.session_id is distinct from ${except_session_id}::uuid`,
      reason: sql`${reason}::text`,
      ended_by: event.actor_id,
    });
  }

  /** Ends the sessions that users may no longer have: see `SessionsService.endForbidden`. */
  endForbidden(user_ids: string[], event: EventBase): Promise<number> {
    const isOutside = sql`(
            cardinality(users.allowed_ips) > 0
            and not (coalesce(sessions.ip, '0.0.0.0') <<= any(users.allowed_ips))
          )`;
    return this.run(event, {
      // With the ids on both tables, the planner does not read all of `users` for a batch.
      matching: sql`sessions.user_id = any(${user_ids}::uuid[])
          and users.user_id = any(${user_ids}::uuid[])
          and (users.deleted_at is not null or users.status = 'disabled' or ${isOutside})`,
      reason: sql`case
          when users.deleted_at is not null then 'user_deleted'
          when users.status = 'disabled' then 'user_disabled'
          else 'ip_not_allowed'
        end`,
      ended_by: event.actor_id,
    });
  }

  /**
   * Ends the least recently used live sessions of a locked user, so that `kept` sessions are left.
   * Because the user is locked, the sessions of concurrent logins are visible.
   */
  async endSurplus(user_id: string, kept: number, event: EventBase): Promise<number> {
    const [row] = await this.database.runPrepared<{ count: number }>(
      endSql(event, {
        matching: sql`sessions.user_id = ${user_id}::uuid
          and sessions.session_id = any(array(
            select surplus.session_id
            from sessions surplus
            where surplus.user_id = ${user_id}::uuid and surplus.ended_at is null and surplus.expires_at > now()
            order by surplus.last_seen_at desc, surplus.session_id desc
            offset ${kept}::integer
          ))`,
        reason: sql`${'replaced'}::text`,
        ended_by: null,
      }),
    );
    return row?.count ?? 0;
  }

  /** Ends a session whose refresh token was reused. Returns null if the session ended before. */
  async endReused(session_id: string): Promise<EndedSession | null> {
    const [row] = await this.database.run<EndedSession>(sql`
      update sessions
      set ended_at = now(), ended_reason = 'token_reuse'
      where session_id = ${session_id}::uuid and ${liveSession}
      returning session_id, user_id, carrier_id`);
    return row ?? null;
  }

  private async run(event: EventBase, ending: Ending): Promise<number> {
    const [row] = await this.database.run<{ count: number }>(endSql(event, ending));
    return row?.count ?? 0;
  }
}

/** Renders whether a session is the actor's own, or its user has none of the protected roles. */
function unprotected({ scope }: SessionReach, protected_roles: string[]): SqlFragment {
  return sql`(${isOwn(scope, 'sessions.user_id')} or not users.roles && ${protected_roles}::text[])`;
}

function endSql(event: EventBase, { matching, reason, limit = null, ended_by }: Ending): SqlFragment {
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
