import type { Actor } from './actor';

/**
 * The part of an actor that decides which rows of other users the actor sees. Every repository
 * method that reads such rows takes a scope (OWASP ASVS 8.2.2, 8.4.1). `systemActor` sees all rows.
 */
export type Scope = Pick<Actor, 'actor_type' | 'user_id' | 'user_type' | 'carrier_id' | 'carrier_scope'>;

/** Returns whether a user of this kind and carrier is within a scope. */
export function mayReach(actor: Scope, user: { user_type: string; carrier_id: string | null }): boolean {
  if (actor.user_type === 'system' && actor.carrier_scope === null) return true;
  if (user.user_type !== 'carrier' || user.carrier_id === null) return false;
  return actor.user_type === 'carrier'
    ? user.carrier_id === actor.carrier_id
    : (actor.carrier_scope ?? []).includes(user.carrier_id);
}

/** Returns whether an actor may grant a `carrier_scope`: it must lie within the actor's scope. */
export function mayGiveScope(actor: Scope, scope: readonly string[] | null): boolean {
  if (actor.user_type !== 'system') return false;
  if (actor.carrier_scope === null) return true;
  return scope !== null && scope.every((carrier) => actor.carrier_scope?.includes(carrier));
}
