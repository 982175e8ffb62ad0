import { Injectable } from '@nestjs/common';
import type { TokenGrant } from '../../access/token-grant';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { noteActivitySql, noteAfter } from '../sessions/session-activity.sql';
import { authTime, liveSession } from '../sessions/session-list.sql';
import { lockSeenSql, noteSeenSql, userColumns, userJoins } from '../../users/users.sql';
import type { UserRecord } from '../../users/users.dto';

/** A user who may act, with the current permissions. */
export interface ActingRecord extends UserRecord {
  /** union of all roles */
  permissions: string[];
  may_grant: string[];
  /** limits of the tokens of the session */
  token_grant: TokenGrant | null;
}

/** The user and the session behind a request. Columns of the session start with `session_`. */
export interface LiveLoginRecord extends ActingRecord {
  session_id: string;
  session_created_at: Date;
  session_last_seen_at: Date;
  session_expires_at: Date;
  session_auth_time: Date;
  session_amr: string[];
  /** milliseconds since the last authentication, by the clock of the database */
  auth_age_ms: number;
  session_ip: string | null;
  session_user_agent: string | null;
  /** milliseconds until the session expires without activity, by the clock of the database */
  ends_in_ms: number;
  /** milliseconds until the next activity must be noted; negative if it must be noted now */
  note_in_ms: number;
  /** milliseconds between two notes of activity */
  note_every_ms: number;
  /** whether the last login or refresh was less than an hour ago */
  renewable: boolean;
  /** milliseconds until the next time from which a second factor is required; null = none is set */
  required_in_ms: number | null;
}

/** Activity of a session. */
export interface Activity {
  session_id: string;
  user_id: string;
  /** milliseconds since the activity */
  ago_ms: number;
}

/** Renders what all roles of a user permit and may grant. */
export const rights = rawSql(`
        array(
          select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)
        ) as permissions,
        array(
          select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)
        ) as may_grant`);

/**
 * The next time at which the user begins to need a second factor, or null. `least` ignores nulls.
 */
const nextRequirement = rawSql(`least(
          case when users.second_factor_required_from > now() then users.second_factor_required_from end,
          (
            select min(roles.second_factor_required_from)
            from roles
            where roles.name = any(users.roles) and roles.second_factor_required_from > now()
          )
        )`);

/** The SQL behind every authenticated request. */
@Injectable()
export class LiveLoginsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the login of a live session whose user may act, or null. Reads by primary keys. */
  find(session_id: string, user_id: string): Promise<LiveLoginRecord | null> {
    return this.database.findPrepared<LiveLoginRecord>(sql`
      select
        ${userColumns},
        sessions.session_id,
        sessions.created_at as session_created_at,
        sessions.last_seen_at as session_last_seen_at,
        sessions.expires_at as session_expires_at,
        ${authTime} as session_auth_time,
        sessions.amr as session_amr,
        extract(epoch from now() - ${authTime})::float8 * 1000 as auth_age_ms,
        host(sessions.ip) as session_ip,
        sessions.user_agent as session_user_agent,
        sessions.token_grant,
        ${rights},
        extract(epoch from sessions.expires_at - now())::float8 * 1000 as ends_in_ms,
        extract(epoch from sessions.last_seen_at + ${noteAfter} - now())::float8 * 1000 as note_in_ms,
        extract(epoch from ${noteAfter})::float8 * 1000 as note_every_ms,
        sessions.refreshed_at > now() - interval '1 hour' as renewable,
        extract(epoch from ${nextRequirement} - now())::float8 * 1000 as required_in_ms
      from sessions
      join users on users.user_id = sessions.user_id
      ${userJoins}
      where sessions.session_id = ${session_id}::uuid
        and users.user_id = ${user_id}::uuid
        and ${liveSession}
        and users.status = 'active'
        and users.deleted_at is null`);
  }

  /** Returns a user who may act: an active user who is not deleted. The session may have ended. */
  findActing(user_id: string, session_id: string | null): Promise<ActingRecord | null> {
    return this.database.findPrepared<ActingRecord>(sql`
      select
        ${userColumns},
        ${rights},
        sessions.token_grant
      from users
      ${userJoins}
      left join sessions on sessions.session_id = ${session_id}::uuid
      where users.user_id = ${user_id}::uuid and users.status = 'active' and users.deleted_at is null`);
  }

  /**
   * Persists the activity of sessions and users.
   * Never waits: skips users and sessions that another transaction locks. Their next activity is
   * noted.
   */
  async note(used: Activity[], idle_seconds: Record<'system' | 'carrier', number>): Promise<void> {
    const session_ids = used.map(({ session_id }) => session_id);
    const user_ids = used.map(({ user_id }) => user_id);
    const agos = used.map(({ ago_ms }) => ago_ms);
    await this.database.run(sql`
      with
      activity as (
        select session_id, user_id, now() - ago_ms * interval '1 millisecond' as seen_at
        from unnest(${session_ids}::uuid[], ${user_ids}::uuid[], ${agos}::float8[])
          as activity (session_id, user_id, ago_ms)
      ),
      ${lockSeenSql(user_ids)},
      used as (
        select activity.session_id, activity.user_id, activity.seen_at
        from activity
        join locked_seen on locked_seen.user_id = activity.user_id
      ),
      ${noteActivitySql(rawSql('used'), session_ids, idle_seconds)},
      seen as (
        select user_id, max(seen_at) as seen_at
        from noted
        group by user_id
      )
      ${noteSeenSql(rawSql('seen'))}`);
  }
}
