import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../common/query/sql';
import { Database } from '../database/database';
import type { UserRecord } from './users.dto';
import { userColumns } from './users.repository';

/** The user and the session behind a request, as of now. Names of columns that both have are prefixed for the session. */
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
  /** the last activity was noted a while ago */
  stale: boolean;
  /** the last login or refresh was less than an hour ago */
  renewable: boolean;
}

/** Activity is noted at most once a minute, and in good time before a session would end. */
const staleAfter = rawSql(`least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4)`);

const rights = rawSql(`array(select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)) as permissions,
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
        sessions.last_seen_at <= now() - ${staleAfter} as stale, sessions.refreshed_at > now() - interval '1 hour' as renewable
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
   * Notes activity: moves the idle end of a session, never beyond its absolute end. The user is locked before the session, as everywhere, and nothing
   * is waited for: while somebody changes the user, the activity stays unnoted until the next request.
   */
  async touch(session_id: string, user_id: string, idle_seconds: number): Promise<void> {
    await this.database.run(sql`with free as (select user_id from users where user_id = ${user_id}::uuid for no key update skip locked),
        touched as (update sessions set last_seen_at = now(), expires_at = least(absolute_expires_at, now() + ${idle_seconds}::integer * interval '1 second')
          from free where sessions.session_id = ${session_id}::uuid and sessions.user_id = free.user_id and ended_at is null and expires_at > now()
          returning sessions.user_id)
      update users set last_seen_at = now() from touched where users.user_id = touched.user_id`);
  }
}
