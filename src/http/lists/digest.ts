import { rawSql, sql, type SqlFragment } from './sql';

/**
 * Renders an aggregate: a digest of a set of ids that does not depend on their order.
 * The digest consists of the sums of two 64-bit hashes. The seed changes the hashes, so that a
 * caller cannot search for another set with the same digest in advance.
 * @param column SQL of the id, a uuid
 */
export function digestSql(column: string, seed: string): SqlFragment {
  const sum = (half: number) =>
    sql`coalesce(sum(uuid_hash_extended(
      ${rawSql(column)}, hashtextextended(${seed}::text, ${half}::bigint)
    )), 0)::text`;
  return sql`${sum(1)} || '.' || ${sum(2)}`;
}
