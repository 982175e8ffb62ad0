import { type Actor, isRestricted } from './actor';
import { holds } from './permissions';

/** Form of role names. A name never begins with a dot, because paths with `/.` are rejected. */
export const roleForm = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** The part of a role that decides whether an actor may grant the role. */
export interface GrantableRole {
  name: string;
  permissions: readonly string[];
  may_grant: readonly string[];
}

/**
 * Returns the names of the roles that an actor may grant or revoke.
 * The actor may grant a role that one of the actor's roles names in `may_grant`. The actor may also
 * grant a role if the actor holds all its permissions and may grant every role in its `may_grant`.
 * Otherwise a role with few permissions would be a detour to the roles it may grant (privilege
 * escalation, OWASP ASVS 8.2.1). An actor who may not grant a role may not modify other users who
 * hold it.
 * @param roles all existing roles; unknown names in `may_grant` have no effect
 */
export function giveableRoles(actor: Actor, roles: readonly GrantableRole[]): Set<string> {
  if (isRestricted(actor)) return new Set();
  const named = new Set(actor.may_grant);
  const known = new Set(roles.map(({ name }) => name));
  const giveable = new Set(
    roles.filter((role) => named.has(role.name) || holdsAll(actor, role)).map(({ name }) => name),
  );
  // Each round removes the roles that name a removed role. The rounds end, because the set shrinks.
  for (let before = -1; before !== giveable.size;) {
    before = giveable.size;
    for (const { name, may_grant } of roles)
      if (!named.has(name) && may_grant.some((other) => known.has(other) && !giveable.has(other)))
        giveable.delete(name);
  }
  return giveable;
}

/**
 * Returns whether an actor holds every permission of a role. Always false for an API key and a role
 * with `*`: a leaked key must not create administrators that outlive the key (Z31).
 */
export function holdsAll(actor: Actor, { permissions }: Pick<GrantableRole, 'permissions'>): boolean {
  if (actor.actor_type === 'key' && permissions.includes('*')) return false;
  return permissions.every((permission) => holds(actor.permissions, permission));
}
