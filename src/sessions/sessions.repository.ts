import { Injectable } from '@nestjs/common';
import { CursorCodec } from '../common/query/cursor';
import type { Condition, RawQuery } from '../common/query/filter';
import { escapeLike } from '../common/query/filter.sql';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Answered } from '../common/times';
import { Database } from '../database/database';
import type { SessionEntity } from './session.entity';
import { sessionList } from './session-list';
import { liveSession, sessionListSql } from './session-list.sql';
import type { SessionRecord } from './sessions.dto';

const columns = sql`sessions.session_id, sessions.user_id, sessions.user_type, users.name, sessions.carrier_id, sessions.created_at, sessions.last_seen_at,
  sessions.expires_at, host(sessions.ip) as ip, sessions.user_agent, ${liveSession} as active, sessions.ended_at,
  sessions.ended_reason, sessions.ended_by`;
const { from } = sessionListSql;

/** Agents that are looked at (50 ms), and that are asked for by name. */
const agentsSeenMax = 5_000;
const agentsFoundMax = 500;

/** A session that begins. */
export type NewSession = Pick<
  SessionEntity,
  'session_id' | 'user_type' | 'refresh_token_hash' | 'ip' | 'user_agent'
> & {
  idle_seconds: number;
  absolute_seconds: number;
};

/** A session that was refreshed. */
export interface RotatedSession {
  user_id: string;
  last_seen_at: Date;
  expires_at: Date;
}

/**
 * What became of a try to refresh a session, and when it was made, by the clock of the database.
 */
export type Rotation = { asked_at: Date } & (RotatedSession | { user_id: null });

/** A session that was refreshed a moment ago, and the hash of the token that it has now. */
export interface EarlierRotation extends RotatedSession {
  refresh_token_hash: Buffer;
}

/** A session that was ended. */
export interface EndedSession {
  session_id: string;
  user_id: string;
  carrier_id: string | null;
}

/** The SQL that records what was done to targets; see `EventsService.recordAll`. */
export type RecordTargets = (targets: SqlFragment) => SqlFragment;

/** What the events of ended sessions are made from, given `ended` in the same statement. */
const endedTargets =
  rawSql(`(select session_id as id, carrier_id, jsonb_build_object('user_id', jsonb_build_object('before', user_id),
    'ended_reason', jsonb_build_object('after', ended_reason)) as changes,
  null::integer as version from ended) target`);

/** The SQL of sessions. */
@Injectable()
export class SessionsRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /**
   * The parts of a statement that add a session for the one row of `noted`, its user, and end the
   * least recently used ones that are too many with it. Nothing may have been written to the user
   * between the snapshot of the statement and `noted`: else logins at the same time would not see
   * each other's sessions. Users are locked before sessions: what ends some waits for `noted`.
   */
  beginSql(session: NewSession, max: number, record: RecordTargets): SqlFragment {
    const { session_id, user_type, refresh_token_hash, ip, user_agent, idle_seconds, absolute_seconds } = session;
    return sql`surplus as (
        select session_id as surplus_id from sessions where user_id = (select noted.user_id from noted) and ${liveSession}
        order by last_seen_at desc, session_id desc offset ${max - 1}::integer
      ), ended as (
        update sessions set ended_at = now(), ended_reason = 'replaced' from surplus where session_id = surplus_id and ${liveSession}
        returning session_id, user_id, carrier_id, ended_reason
      ), recorded as (${record(endedTargets)}
      ), added as (
        insert into sessions (session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, ip, user_agent, expires_at, absolute_expires_at)
        select ${session_id}::uuid, noted.user_id, ${user_type}, noted.carrier_id, ${refresh_token_hash}, now(), ${ip}, ${user_agent},
          now() + least(${idle_seconds}::integer, ${absolute_seconds}::integer) * interval '1 second', now() + ${absolute_seconds}::integer * interval '1 second'
        from noted
        returning expires_at
      ), opened as (select added.expires_at, (select count(*)::integer from ended) as ended from added)`;
  }

  /** One session that the condition shows, or null. */
  async find(session_id: string, visible: SqlFragment): Promise<SessionRecord | null> {
    const [row] = await this.database.runPrepared<SessionRecord>(
      sql`select ${columns} from ${from} where sessions.session_id = ${session_id}::uuid and ${visible}`,
    );
    return row ?? null;
  }

  /** One page of what the condition shows and the caller's query finds. */
  async list(visible: SqlFragment, query: RawQuery, caller_id: string): Promise<Page<Answered<SessionRecord>>> {
    const read = parseListQuery(query, sessionList, caller_id, this.cursors);
    const parsed = { ...read, conditions: await this.withAgents(read.conditions) };
    return readPage<Answered<SessionRecord>>(
      this.database.answers,
      { ...sessionListSql, columns, visible },
      parsed,
      this.cursors,
    );
  }

  /**
   * Conditions in which parts of user agents are the agents that they are parts of. Agents are few
   * and sessions many: each agent is looked at once, by steps through the index, and then an index
   * finds the sessions, and the planner knows how many. Where somebody made up many agents, all
   * stays as it is.
   */
  async withAgents(conditions: Condition[]): Promise<Condition[]> {
    return Promise.all(
      conditions.map(async (condition) => {
        if (condition.kind !== 'field' || condition.operator !== 'like' || condition.field !== 'user_agent')
          return condition;
        const agents = await this.agentsLike(String(condition.value));
        return agents === null ? condition : { ...condition, operator: 'in', value: agents };
      }),
    );
  }

  /**
   * Puts the next refresh token in place of one; one statement decides, so that of many requests at
   * once one does it.
   */
  async rotate(
    session_id: string,
    before: Buffer,
    after: Buffer,
    idle: Record<SessionEntity['user_type'], number>,
  ): Promise<Rotation> {
    const [row] = await this.database
      .runPrepared<Rotation>(sql`with rotated as (update sessions set previous_refresh_token_hash = refresh_token_hash, refresh_token_hash = ${after},
        refreshed_at = now(), last_seen_at = now(), expires_at = least(absolute_expires_at, now() +
          (case user_type when 'system' then ${idle.system}::integer else ${idle.carrier}::integer end) * interval '1 second')
      where session_id = ${session_id}::uuid and refresh_token_hash = ${before} and ${liveSession} returning user_id, last_seen_at, expires_at)
      select now() as asked_at, user_id, last_seen_at, expires_at from (select) always left join rotated on true`);
    return row as Rotation;
  }

  /**
   * A live session of which this was the refresh token until a moment before it was asked for:
   * however long the answer took.
   */
  async findRotatedWithin(
    session_id: string,
    before: Buffer,
    asked_at: Date,
    grace_seconds: number,
  ): Promise<EarlierRotation | null> {
    const [row] = await this.database
      .run<EarlierRotation>(sql`select user_id, last_seen_at, expires_at, refresh_token_hash from sessions where session_id = ${session_id}::uuid
      and previous_refresh_token_hash = ${before} and refreshed_at > ${asked_at}::timestamptz - ${grace_seconds}::integer * interval '1 second' and ${liveSession}`);
    return row ?? null;
  }

  /**
   * Ends the live sessions that all conditions find, and records it in the same statement; returns
   * how many there were.
   */
  async end(
    conditions: SqlFragment[],
    reason: SqlFragment,
    ended_by: string | null,
    record: RecordTargets,
  ): Promise<number> {
    const [row] = await this.database.run<{
      count: number;
    }>(sql`with ended as (${endSql(conditions, reason, ended_by)}),
      recorded as (${record(endedTargets)})
      select count(*)::integer as count from ended`);
    return row?.count ?? 0;
  }

  /**
   * The first of the live sessions that all conditions find, as a condition. Locked in the order of
   * their ids, so that no two callers wait for each other.
   */
  firstOf(conditions: SqlFragment[], limit: number): SqlFragment {
    return sql`sessions.session_id = any(array(select sessions.session_id from ${from} where ${liveSession} and ${joinSql(conditions, ' and ')}
      order by sessions.session_id limit ${limit}::integer for no key update of sessions))`;
  }

  /**
   * Removes some of the sessions that have been over for so long; returns how many. Those that
   * somebody has locked are left for the next time.
   */
  async removeOld(days: number, limit: number): Promise<number> {
    const before = sql`now() - ${days}::integer * interval '1 day'`;
    // whatever is over was last seen before that: this is what an index finds
    const removed = await this.database.run(sql`delete from sessions where session_id = any(array(
      select session_id from sessions where last_seen_at < ${before} and coalesce(ended_at, expires_at) < ${before}
      order by last_seen_at limit ${limit}::integer for update skip locked)) returning 1`);
    return removed.length;
  }

  /** Ends a session whose refresh token came too late or twice; null when it had ended already. */
  async endReused(session_id: string): Promise<EndedSession | null> {
    const [row] = await this.database.run<EndedSession>(
      endSql([sql`sessions.session_id = ${session_id}::uuid`], rawSql(`'token_reuse'`), null),
    );
    return row ?? null;
  }

  private async agentsLike(text: string): Promise<string[] | null> {
    const [row] = await this.database.run<{ seen: number; agents: string[] }>(sql`with recursive steps as (
        (select user_agent from sessions where user_agent is not null order by user_agent limit 1)
        union all
        select (select user_agent from sessions where user_agent > steps.user_agent order by user_agent limit 1) from steps where user_agent is not null
      ), agents as (select user_agent from steps limit ${agentsSeenMax}::integer)
      select count(*)::integer as seen,
        coalesce((array_agg(user_agent) filter (where user_agent ilike ${`%${escapeLike(text)}%`}::text))[:${agentsFoundMax + 1}::integer], '{}') as agents
      from agents`);
    return row !== undefined && row.seen < agentsSeenMax && row.agents.length <= agentsFoundMax ? row.agents : null;
  }
}

function endSql(conditions: SqlFragment[], reason: SqlFragment, ended_by: string | null): SqlFragment {
  // locked in the order of their ids, whoever ends them: two that meet at the same ones wait, and
  // do not deadlock
  return sql`update sessions set ended_at = now(), ended_reason = found.reason, ended_by = ${ended_by}::uuid
    from (select sessions.session_id, ${reason} as reason from sessions join users on users.user_id = sessions.user_id
      where ${liveSession} and ${joinSql(conditions, ' and ')} order by sessions.session_id for no key update of sessions) found
    where sessions.session_id = found.session_id
    returning sessions.session_id, sessions.user_id, sessions.carrier_id, sessions.ended_reason`;
}
