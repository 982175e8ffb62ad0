import type { Actor } from './actor';
import { holds } from './permissions';

/** Names of roles. A path with `/.` leads nowhere: no role is called like that. */
export const roleForm = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** What the grant rule needs to know of a role. */
export interface GrantableRole {
  name: string;
  permissions: readonly string[];
  may_grant: readonly string[];
}

/**
 * The names of the roles that an actor may give or take: those that a role of theirs names in
 * `may_grant`, and those that give nobody more than the actor could give anyway: the actor holds
 * all their permissions, and may give each role that they name in `may_grant` in turn. Else a role
 * with few permissions would be a detour to those it may grant (privilege escalation, OWASP ASVS
 * 8.2.1). Who may not give a role may not touch another user who has it either.
 * @param roles all roles there are; a name in `may_grant` that is none of them gives nothing
 */
export function giveableRoles(actor: Actor, roles: readonly GrantableRole[]): Set<string> {
  if (actor.must_change_password) return new Set();
  const named = new Set(actor.may_grant);
  const known = new Set(roles.map(({ name }) => name));
  const giveable = new Set(
    roles.filter((role) => named.has(role.name) || holdsAll(actor, role)).map(({ name }) => name),
  );
  // each round takes out what leads to something that is out: roles that name each other stay or go
  // together, and it ends
  for (let before = -1; before !== giveable.size;) {
    before = giveable.size;
    for (const { name, may_grant } of roles)
      if (!named.has(name) && may_grant.some((other) => known.has(other) && !giveable.has(other)))
        giveable.delete(name);
  }
  return giveable;
}

/** Whether an actor holds every permission of a role. */
export function holdsAll(actor: Actor, { permissions }: Pick<GrantableRole, 'permissions'>): boolean {
  return permissions.every((permission) => holds(actor.permissions, permission));
}
