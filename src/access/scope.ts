import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Actor } from './actor';

/** Which rows of a table belong to a user: the columns that scope is decided by. */
export interface ScopeColumns {
  user_id: string;
  user_type: string;
  carrier_id: string;
  /** extra SQL condition for rows with the actor's own id; a constant, never input */
  own_if?: string;
}

/** Renders whether a column holds the id of the acting user. Always false for an API key (Z24). */
export function isOwn(actor: Actor, column: string): SqlFragment {
  return actor.actor_type === 'user' ? sql`${rawSql(column)} = ${actor.user_id}::uuid` : sql`false`;
}

/**
 * Which users, and things of users, an actor may see, as SQL. The one place where scope is decided:
 * every read, list, count and write goes through it, so that what is outside does not exist for the
 * actor (OWASP ASVS 8.2.2, 8.4.1).
 */
export function visibleTo(actor: Actor, columns: ScopeColumns): SqlFragment {
  if (actor.user_type === 'carrier') {
    return sql`(${rawSql(columns.user_type)} = 'carrier' and ${rawSql(columns.carrier_id)} = ${actor.carrier_id}::text)`;
  }
  if (actor.carrier_scope === null) return sql`true`;
  return sql`((${rawSql(columns.user_type)} = 'carrier' and ${rawSql(columns.carrier_id)} = any(${actor.carrier_scope}::text[]))
    or (${isOwn(actor, columns.user_id)} and ${rawSql(columns.own_if ?? 'true')}))`;
}

/** Whether an actor may have a user of this kind and carrier within their scope. */
export function mayReach(actor: Actor, user: { user_type: string; carrier_id: string | null }): boolean {
  if (actor.user_type === 'system' && actor.carrier_scope === null) return true;
  if (user.user_type !== 'carrier' || user.carrier_id === null) return false;
  return actor.user_type === 'carrier'
    ? user.carrier_id === actor.carrier_id
    : (actor.carrier_scope ?? []).includes(user.carrier_id);
}

/**
 * Whether an actor may give this `carrier_scope`: only within their own; null means all carriers.
 */
export function mayGiveScope(actor: Actor, scope: readonly string[] | null): boolean {
  if (actor.user_type !== 'system') return false;
  if (actor.carrier_scope === null) return true;
  return scope !== null && scope.every((carrier) => actor.carrier_scope?.includes(carrier));
}
