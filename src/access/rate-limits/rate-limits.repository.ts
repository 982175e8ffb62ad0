import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';

/** Describes the current window of a counter. */
export interface RateLimitWindow {
  /** hits so far */
  hits: number;
  /** seconds until the window ends, at least 1 */
  seconds_left: number;
}

const columns = rawSql('hits, greatest(1, ceil(extract(epoch from ends_at - now())))::integer as seconds_left');

/** Adds the new hits to an open window, or starts a new window. */
const addHits = rawSql(`on conflict (key) do update
      set hits = case when counter.ends_at > now() then counter.hits else 0 end + excluded.hits,
        ends_at = case when counter.ends_at > now() then counter.ends_at else excluded.ends_at end`);

/**
 * SQL of the rate limits. Each change is one statement that locks its rows, so that parallel
 * requests on any instances cannot exceed a limit.
 */
@Injectable()
export class RateLimitsRepository {
  constructor(private readonly database: Database) {}

  /** Adds hits to a counter and returns the window, new hits included. */
  async add(key: Buffer, hits: number, window_seconds: number): Promise<RateLimitWindow> {
    const [row] = await this.database.runPrepared<RateLimitWindow>(sql`
      insert into rate_limits as counter (key, hits, ends_at)
      values (${key}::bytea, ${hits}::integer, now() + ${window_seconds}::integer * interval '1 second')
      ${addHits}
      returning ${columns}`);
    return row as RateLimitWindow;
  }

  /**
   * Adds a hit to each counter with fewer than `max` hits, and returns the keys of these counters.
   */
  async take(keys: Buffer[], max: number, window_seconds: number): Promise<Buffer[]> {
    // Ordered by key, so that two batches with the same keys cannot deadlock.
    const rows = await this.database.runPrepared<{ key: Buffer }>(sql`
      insert into rate_limits as counter (key, hits, ends_at)
      select distinct key, 1, now() + ${window_seconds}::integer * interval '1 second'
      from unnest(${keys}::bytea[]) key
      order by key
      ${addHits}
      where counter.ends_at <= now() or counter.hits < ${max}::integer
      returning key`);
    return rows.map(({ key }) => key);
  }

  /** Returns the open windows of counters. */
  find(keys: Buffer[]): Promise<(RateLimitWindow & { key: Buffer })[]> {
    return this.database.runPrepared(sql`
      select key, ${columns}
      from rate_limits
      where key = any(${keys}::bytea[]) and ends_at > now()`);
  }

  /** Removes up to `limit` counters whose window has ended, and returns their number. */
  async removeEnded(limit: number): Promise<number> {
    const rows = await this.database.run(sql`
      delete from rate_limits
      where ctid = any(array(
        select ctid
        from rate_limits
        where ends_at <= now()
        limit ${limit}::integer
        for update skip locked
      ))
      returning 1`);
    return rows.length;
  }
}
