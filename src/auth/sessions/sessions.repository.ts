import { Injectable } from '@nestjs/common';
import type { TokenGrant } from '../../access/token-grant';
import type { Condition } from '../../http/lists/filter';
import { escapeLike } from '../../http/lists/filter.sql';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { sql } from '../../http/lists/sql';
import type { Answered } from '../../platform/times';
import { Database } from '../../platform/database/database';
import type { SessionEntity } from './session.entity';
import type { SessionReach } from './session-list';
import { authTime, liveSession, reachableSession, sessionListSql } from './session-list.sql';
import type { SessionRecord } from './sessions.dto';

const columns = sql`
  sessions.session_id, sessions.user_id, sessions.user_type, users.name, sessions.carrier_id,
  sessions.created_at, sessions.last_seen_at, sessions.expires_at, ${authTime} as auth_time, sessions.amr,
  host(sessions.ip) as ip, sessions.user_agent,
  ${liveSession} as active, sessions.ended_at, sessions.ended_reason, sessions.ended_by`;

/** Maximum number of different user agents to read, which takes 50 ms. */
const agentsSeenMax = 5_000;
/** Maximum number of matching user agents in a rewritten filter. */
const agentsFoundMax = 500;

/** A session to insert. */
export interface NewSession extends Pick<
  SessionEntity,
  | 'session_id'
  | 'user_id'
  | 'user_type'
  | 'carrier_id'
  | 'refresh_token_hash'
  | 'ip'
  | 'user_agent'
  | 'amr'
  | 'auth_time'
  | 'token_grant'
> {
  idle_seconds: number;
  absolute_seconds: number;
}

/** Columns of a session whose refresh token was rotated. */
export type RotatedSession = Pick<SessionEntity, 'user_id' | 'last_seen_at' | 'expires_at'>;

/** Result of a rotation. `user_id` is null if the refresh token was not the current one. */
export type RotationResult = { asked_at: Date } & (RotatedSession | { user_id: null });

/** A session whose refresh token was rotated during the grace period. */
export type RecentlyRotatedSession = RotatedSession & Pick<SessionEntity, 'refresh_token_hash'>;

/** SQL of sessions. `SessionEndsRepository` has the SQL that ends sessions. */
@Injectable()
export class SessionsRepository {
  constructor(private readonly database: Database) {}

  /** Inserts a session. Returns when it expires without activity. */
  async insert(session: NewSession): Promise<{ expires_at: Date }> {
    const { idle_seconds, absolute_seconds } = session;
    const [row] = await this.database.runPrepared<{ expires_at: Date }>(sql`
      insert into sessions (
        session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, ip, user_agent, amr, auth_time,
        token_grant, expires_at, absolute_expires_at
      )
      values (
        ${session.session_id}::uuid, ${session.user_id}::uuid, ${session.user_type}, ${session.carrier_id},
        ${session.refresh_token_hash}, now(), ${session.ip}::inet, ${session.user_agent},
        ${session.amr}::text[], ${session.auth_time}::timestamptz, ${session.token_grant}::jsonb,
        now() + least(${idle_seconds}::integer, ${absolute_seconds}::integer) * interval '1 second',
        now() + ${absolute_seconds}::integer * interval '1 second'
      )
      returning expires_at`);
    return row as { expires_at: Date };
  }

  /**
   * Notes that the user of a live session authenticated now, and adds the methods. A trigger
   * notifies all instances. Returns null if the session ended.
   */
  reauthenticate(session_id: string, methods: string[]): Promise<Pick<SessionRecord, 'amr' | 'auth_time'> | null> {
    return this.database.findPrepared<Pick<SessionRecord, 'amr' | 'auth_time'>>(sql`
      update sessions
      set
        auth_time = now(),
        amr = amr || array(select method from unnest(${methods}::text[]) method where method <> all(amr))
      where session_id = ${session_id}::uuid and ${liveSession}
      returning amr, auth_time`);
  }

  /** Replaces a grant. A trigger notifies all instances. Returns false if it changed meanwhile. */
  async replaceGrant(session_id: string, before: TokenGrant | null, after: TokenGrant | null): Promise<boolean> {
    const rows = await this.database.run(sql`
      update sessions
      set token_grant = ${after}::jsonb
      where session_id = ${session_id}::uuid and token_grant is not distinct from ${before}::jsonb
      returning 1`);
    return rows.length > 0;
  }

  find(session_id: string, reach: SessionReach): Promise<SessionRecord | null> {
    return this.database.findPrepared<SessionRecord>(sql`
      select ${columns}
      from ${sessionListSql.from}
      where sessions.session_id = ${session_id}::uuid and ${reachableSession(reach)}`);
  }

  async list(reach: SessionReach, query: ListQuery): Promise<Page<Answered<SessionRecord>>> {
    const conditions = await this.withAgents(query.conditions);
    const source = { ...sessionListSql, columns, visible: reachableSession(reach) };
    return readPage<Answered<SessionRecord>>(this.database.answers, source, { ...query, conditions });
  }

  /**
   * Replaces `user_agent_like` by the list of the matching user agents.
   * There are many sessions but few different user agents: an index finds each user agent once, and
   * the planner can estimate the number of their sessions. Keeps the condition if there are too
   * many user agents, for example because a client invents them.
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
   * Rotates a refresh token in one statement, so that only one of several concurrent requests
   * rotates the token.
   */
  async rotate(
    session_id: string,
    before: Buffer,
    after: Buffer,
    idle_seconds: Record<SessionEntity['user_type'], number>,
  ): Promise<RotationResult> {
    const [row] = await this.database.runPrepared<RotationResult>(sql`
      with rotated as (
        update sessions
        set
          previous_refresh_token_hash = refresh_token_hash,
          refresh_token_hash = ${after},
          refreshed_at = now(),
          last_seen_at = now(),
          expires_at = least(
            absolute_expires_at,
            now() + interval '1 second' * case user_type
              when 'system' then ${idle_seconds.system}::integer
              else ${idle_seconds.carrier}::integer
            end
          )
        -- A refresh that waits for a bulk end of sessions would hold a connection.
        from (select set_config('lock_timeout', '500ms', true) offset 0) patience
        where session_id = ${session_id}::uuid and refresh_token_hash = ${before} and ${liveSession}
        returning user_id, last_seen_at, expires_at
      )
      select now() as asked_at, rotated.user_id, rotated.last_seen_at, rotated.expires_at
      from (select) always
      left join rotated on true`);
    return row as RotationResult;
  }

  /**
   * Returns a live session whose token was rotated within the grace period before `asked_at`.
   * A slow database does not shorten the grace period.
   */
  findRotatedWithin(
    session_id: string,
    before: Buffer,
    asked_at: Date,
    grace_seconds: number,
  ): Promise<RecentlyRotatedSession | null> {
    return this.database.find<RecentlyRotatedSession>(sql`
      select user_id, last_seen_at, expires_at, refresh_token_hash
      from sessions
      where session_id = ${session_id}::uuid
        and previous_refresh_token_hash = ${before}
        and refreshed_at > ${asked_at}::timestamptz - ${grace_seconds}::integer * interval '1 second'
        and ${liveSession}`);
  }

  /**
   * Deletes up to `limit` sessions that ended or expired more than `days` days ago, and returns
   * their number. Skips locked sessions.
   */
  async removeOld(days: number, limit: number): Promise<number> {
    const before = sql`now() - ${days}::integer * interval '1 day'`;
    // The condition on `last_seen_at` uses an index. The last activity is always before the end.
    const removed = await this.database.run(sql`
      delete from sessions
      where session_id = any(array(
        select session_id
        from sessions
        where last_seen_at < ${before} and coalesce(ended_at, expires_at) < ${before}
        order by last_seen_at
        limit ${limit}::integer
        for update skip locked
      ))
      returning 1`);
    return removed.length;
  }

  private async agentsLike(text: string): Promise<string[] | null> {
    const pattern = `%${escapeLike(text)}%`;
    const [row] = await this.database.run<{ seen: number; agents: string[] }>(sql`
      with recursive
      -- Takes one step through the index for each different user agent.
      steps as (
        (select user_agent from session_search where user_agent is not null order by user_agent limit 1)
        union all
        select (
          select user_agent from session_search where user_agent > steps.user_agent order by user_agent limit 1
        )
        from steps
        where user_agent is not null
      ),
      agents as (
        select user_agent from steps limit ${agentsSeenMax}::integer
      ),
      matching as (
        select user_agent from agents where user_agent ilike ${pattern}::text limit ${agentsFoundMax + 1}::integer
      )
      select
        (select count(*)::integer from agents) as seen,
        array(select user_agent from matching) as agents`);
    return row !== undefined && row.seen < agentsSeenMax && row.agents.length <= agentsFoundMax ? row.agents : null;
  }
}
