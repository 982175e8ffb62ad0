import { rawSql, sql, type SqlFragment } from '../common/query/sql';

/** Adds the new hits to an open window, or starts a new window. */
export const addHits = rawSql(`on conflict (key) do update
      set hits = case when counter.ends_at > now() then counter.hits else 0 end + excluded.hits,
        ends_at = case when counter.ends_at > now() then counter.ends_at else excluded.ends_at end`);

/**
 * Renders the INSERT that adds a hit to each counter with fewer than `max` hits, and returns the
 * `key` of these counters.
 * @param keys SQL array of keys, as `RateLimitsService.keyOf` returns them
 */
export function takeHitsSql(keys: SqlFragment, max: number, window_seconds: number): SqlFragment {
  // Ordered by key, so that two batches with the same keys cannot deadlock.
  return sql`
      insert into rate_limits as counter (key, hits, ends_at)
      select distinct key, 1, now() + ${window_seconds}::integer * interval '1 second'
      from unnest(${keys}::bytea[]) key
      order by key
      ${addHits}
      where counter.ends_at <= now() or counter.hits < ${max}::integer
      returning key`;
}
