import { Injectable } from '@nestjs/common';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { SessionEntity } from './session.entity';
import { liveSession, sessionList } from './session-list';
import type { SessionRecord } from './sessions.dto';

const columns = sql`sessions.session_id, sessions.user_id, sessions.user_type, users.name, sessions.carrier_id, sessions.created_at, sessions.last_seen_at,
  sessions.expires_at, host(sessions.ip) as ip, sessions.user_agent, ${liveSession} as active, sessions.ended_at,
  sessions.ended_reason, sessions.ended_by`;
const from = rawSql('sessions join users on users.user_id = sessions.user_id');

/** A session that begins. */
export type NewSession = Pick<
  SessionEntity,
  'session_id' | 'user_id' | 'user_type' | 'carrier_id' | 'refresh_token_hash' | 'ip' | 'user_agent'
> & {
  idle_seconds: number;
  absolute_seconds: number;
};

/** A session that was refreshed, or could not be. */
export interface RotatedSession {
  user_id: string;
  expires_at: Date;
}

/** A session that was ended. */
export interface EndedSession {
  session_id: string;
  user_id: string;
  carrier_id: string | null;
}

/** The SQL of sessions. */
@Injectable()
export class SessionsRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /** Adds a session; returns when it ends if nothing happens. */
  async insert(session: NewSession): Promise<Date> {
    const { session_id, user_id, user_type, carrier_id, refresh_token_hash, ip, user_agent, idle_seconds, absolute_seconds } = session;
    const [row] = await this.database.runPrepared<{ expires_at: Date }>(sql`insert into sessions
        (session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, ip, user_agent, expires_at, absolute_expires_at)
      values (${session_id}, ${user_id}, ${user_type}, ${carrier_id}, ${refresh_token_hash}, now(), ${ip}, ${user_agent},
        now() + least(${idle_seconds}::integer, ${absolute_seconds}::integer) * interval '1 second', now() + ${absolute_seconds}::integer * interval '1 second')
      returning expires_at`);
    return (row as { expires_at: Date }).expires_at;
  }

  /** One session that the condition shows, or null. */
  async find(session_id: string, visible: SqlFragment): Promise<SessionRecord | null> {
    const [row] = await this.database.runPrepared<SessionRecord>(
      sql`select ${columns} from ${from} where sessions.session_id = ${session_id}::uuid and ${visible}`,
    );
    return row ?? null;
  }

  /** One page of what the condition shows and the caller's query finds. */
  async list(visible: SqlFragment, query: RawQuery, caller_id: string): Promise<Page<SessionRecord>> {
    const parsed = parseListQuery(query, sessionList, caller_id, this.cursors);
    return readPage<SessionRecord>(
      this.database,
      { columns, from, id: 'sessions.session_id', idName: 'session_id', visible },
      parsed,
      this.cursors,
    );
  }

  /** Puts the next refresh token in place of one; one statement decides, so that of many requests at once one does it. */
  async rotate(
    session_id: string,
    before: Buffer,
    after: Buffer,
    idle: Record<SessionEntity['user_type'], number>,
  ): Promise<RotatedSession | null> {
    const [row] = await this.database
      .runPrepared<RotatedSession>(sql`update sessions set previous_refresh_token_hash = refresh_token_hash, refresh_token_hash = ${after},
        refreshed_at = now(), last_seen_at = now(), expires_at = least(absolute_expires_at, now() +
          (case user_type when 'system' then ${idle.system}::integer else ${idle.carrier}::integer end) * interval '1 second')
      where session_id = ${session_id}::uuid and refresh_token_hash = ${before} and ${liveSession} returning user_id, expires_at`);
    return row ?? null;
  }

  /** A live session of which this was the refresh token until a moment ago. */
  async findRotatedWithin(session_id: string, before: Buffer, grace_seconds: number): Promise<RotatedSession | null> {
    const [row] = await this.database
      .run<RotatedSession>(sql`select user_id, expires_at from sessions where session_id = ${session_id}::uuid
      and previous_refresh_token_hash = ${before} and refreshed_at > now() - ${grace_seconds}::integer * interval '1 second' and ${liveSession}`);
    return row ?? null;
  }

  /** Ends the live sessions that all conditions find, and records it in the same statement; returns how many there were. */
  async end(
    conditions: SqlFragment[],
    reason: SqlFragment,
    ended_by: string | null,
    record: (targets: SqlFragment) => SqlFragment,
  ): Promise<number> {
    const changes = rawSql(`jsonb_build_object('ended_reason', jsonb_build_object('after', ended_reason))`);
    const targets = sql`(select session_id as id, carrier_id, ${changes} as changes, null::integer as version from ended) target`;
    const [row] = await this.database.run<{ count: number }>(sql`with ended as (${endSql(conditions, reason, ended_by)}),
      recorded as (${record(targets)})
      select count(*)::integer as count from ended`);
    return row?.count ?? 0;
  }

  /** Ends a session whose refresh token came too late or twice; null when it had ended already. */
  async endReused(session_id: string): Promise<EndedSession | null> {
    const [row] = await this.database.run<EndedSession>(
      endSql([sql`sessions.session_id = ${session_id}::uuid`], rawSql(`'token_reuse'`), null),
    );
    return row ?? null;
  }
}

function endSql(conditions: SqlFragment[], reason: SqlFragment, ended_by: string | null): SqlFragment {
  return sql`update sessions set ended_at = now(), ended_reason = ${reason}, ended_by = ${ended_by}::uuid
    from users where users.user_id = sessions.user_id and ${liveSession} and ${joinSql(conditions, ' and ')}
    returning sessions.session_id, sessions.user_id, sessions.carrier_id, sessions.ended_reason`;
}
