import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../common/query/sql';
import { Database } from '../database/database';
import type { UserRecord } from '../users/users.dto';
import { userColumns } from '../users/user-columns.sql';

/**
 * The user and the session behind a request, as of now. Names of columns that both have are
 * prefixed for the session.
 */
export interface LiveLoginRecord extends UserRecord {
  session_id: string;
  session_created_at: Date;
  session_last_seen_at: Date;
  session_expires_at: Date;
  session_ip: string | null;
  session_user_agent: string | null;
  /** of all roles together */
  permissions: string[];
  may_grant: string[];
  /** milliseconds until the session ends if nothing happens, by the clock of the database */
  ends_in_ms: number;
  /** milliseconds until the next activity is worth noting; negative: it is now */
  note_in_ms: number;
  /** milliseconds from one noted activity to the next that is worth it */
  note_every_ms: number;
  /** the last login or refresh was less than an hour ago */
  renewable: boolean;
}

/** A session that was used, and by whom. */
export interface Activity {
  session_id: string;
  user_id: string;
  /** milliseconds since then */
  ago_ms: number;
}

/** Activity is noted at most once a minute, and in good time before a session would end. */
const noteAfter = rawSql(`least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4)`);

const rights =
  rawSql(`array(select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)) as permissions,
  array(select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)) as may_grant`);

/** A user who may act, with what they may do at this moment. */
export type ActingRecord = UserRecord & { permissions: string[]; may_grant: string[] };

/** The SQL behind every authenticated request. */
@Injectable()
export class LiveLoginsRepository {
  constructor(private readonly database: Database) {}

  /** The login behind a session, if it lives and its user may act: one read by primary keys. */
  async find(session_id: string, user_id: string): Promise<LiveLoginRecord | null> {
    const [row] = await this.database.runPrepared<LiveLoginRecord>(sql`select ${userColumns},
        sessions.session_id, sessions.created_at as session_created_at, sessions.last_seen_at as session_last_seen_at,
        sessions.expires_at as session_expires_at, host(sessions.ip) as session_ip, sessions.user_agent as session_user_agent,
        ${rights},
        extract(epoch from sessions.expires_at - now())::float8 * 1000 as ends_in_ms,
        extract(epoch from sessions.last_seen_at + ${noteAfter} - now())::float8 * 1000 as note_in_ms,
        extract(epoch from ${noteAfter})::float8 * 1000 as note_every_ms,
        sessions.refreshed_at > now() - interval '1 hour' as renewable
      from sessions join users on users.user_id = sessions.user_id
      where sessions.session_id = ${session_id}::uuid and users.user_id = ${user_id}::uuid and sessions.ended_at is null and sessions.expires_at > now()
        and users.status = 'active' and users.deleted_at is null`);
    return row ?? null;
  }

  /** A user who may act: active, not deleted. */
  async findActing(user_id: string): Promise<ActingRecord | null> {
    const [row] = await this.database.runPrepared<ActingRecord>(sql`select ${userColumns}, ${rights} from users
      where users.user_id = ${user_id}::uuid and users.status = 'active' and users.deleted_at is null`);
    return row ?? null;
  }

  /**
   * Notes when sessions were used: moves their idle end, never beyond the absolute one, and never
   * revives one that has run out. Users are locked before sessions, as everywhere, and nobody is
   * waited for: of a user who is being changed, the next activity is noted.
   */
  async note(used: Activity[], idle_seconds: Record<'system' | 'carrier', number>): Promise<void> {
    const columns = [
      used.map(({ session_id }) => session_id),
      used.map(({ user_id }) => user_id),
      used.map(({ ago_ms }) => ago_ms),
    ];
    await this.database
      .run(sql`with used as (select session_id, user_id, now() - ago_ms * interval '1 millisecond' as seen_at
        from unnest(${columns[0]}::uuid[], ${columns[1]}::uuid[], ${columns[2]}::float8[]) as used (session_id, user_id, ago_ms)),
      free as (select user_id from users where user_id = any(${columns[1]}::uuid[]) order by user_id for no key update skip locked),
      noted as (update sessions set last_seen_at = greatest(last_seen_at, seen_at), expires_at = greatest(expires_at, least(absolute_expires_at, seen_at +
          (case user_type when 'system' then ${idle_seconds.system}::integer else ${idle_seconds.carrier}::integer end) * interval '1 second'))
        from used join free using (user_id)
        where sessions.session_id = used.session_id and sessions.user_id = used.user_id and ended_at is null and expires_at > now()
        returning sessions.user_id, seen_at)
      update users set last_seen_at = greatest(users.last_seen_at, seen.at)
        from (select user_id, max(seen_at) as at from noted group by user_id) seen where users.user_id = seen.user_id`);
  }
}
