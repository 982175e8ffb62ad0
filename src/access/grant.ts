import type { Actor } from './actor';
import { holds } from './permissions';

/** What the grant rule needs to know of a role. */
export interface GrantableRole {
  name: string;
  permissions: readonly string[];
}

/**
 * Whether an actor may give or take a role: they hold all its permissions, or a role of theirs names it in `may_grant`.
 * Who may not give a role may not touch another user who has it either.
 */
export function mayGive(actor: Actor, role: GrantableRole): boolean {
  if (actor.may_grant.includes(role.name)) return true;
  if (role.permissions.includes('*')) return actor.permissions.includes('*');
  return role.permissions.every((permission) => holds(actor.permissions, permission)) && !actor.must_change_password;
}
