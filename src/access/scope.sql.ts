import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import type { Scope } from './scope';

/** Columns that decide which users a row belongs to. Constants, never input. */
export interface ScopeColumns {
  user_id: string;
  user_type: string;
  carrier_id: string;
  /** extra condition for rows with the actor's own id */
  own_if?: string;
}

/** Renders whether a column holds the id of the acting user. Always false for an API key (Z24). */
export function isOwn({ actor_type, user_id }: Scope, column: string): SqlFragment {
  return actor_type === 'user' ? sql`${rawSql(column)} = ${user_id}::uuid` : sql`false`;
}

/**
 * Renders the condition for the rows that a scope shows. No other function renders a scope. Rows
 * outside the scope do not exist for the actor (OWASP ASVS 8.2.2, 8.4.1).
 */
export function visibleTo(scope: Scope, columns: ScopeColumns): SqlFragment {
  const [user_type, carrier_id] = [rawSql(columns.user_type), rawSql(columns.carrier_id)];
  if (scope.user_type === 'carrier')
    return sql`(${user_type} = 'carrier' and ${carrier_id} = ${scope.carrier_id}::text)`;
  if (scope.carrier_scope === null) return sql`true`;
  const own = isOwn(scope, columns.user_id);
  return sql`(
    (${user_type} = 'carrier' and ${carrier_id} = any(${scope.carrier_scope}::text[]))
    or ${columns.own_if === undefined ? own : sql`(${own} and ${rawSql(columns.own_if)})`}
  )`;
}
