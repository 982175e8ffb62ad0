import { rawSql, sql, type SqlFragment } from './sql';

/**
 * A digest of a set of ids that does not depend on their order, as an aggregate: the sums of two
 * 64-bit hashes. The seed makes the hashes different ones each time, so that nobody can look for
 * another set with the same sums beforehand.
 * @param column SQL of the id, a uuid
 */
export function digestSql(column: string, seed: string): SqlFragment {
  const sum = (half: number) =>
    sql`coalesce(sum(uuid_hash_extended(${rawSql(column)}, hashtextextended(${seed}::text, ${half}::bigint))), 0)::text`;
  return sql`${sum(1)} || '.' || ${sum(2)}`;
}
