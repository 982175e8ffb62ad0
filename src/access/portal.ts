import type { Caller } from './actor';
import { mayReach } from './scope';

/**
 * Returns the origin of a request once its user is known: for users in the scope of a portal, the
 * address that the portal reports. An unknown user is treated like a user in the scope: a different
 * limit would reveal which users exist (L30).
 */
export function callerFor(caller: Caller, user: { carrier_id: string | null } | null): Caller {
  const { portal, ...own } = caller;
  if (portal === undefined) return caller;
  const isOther =
    user && !mayReach(portal.key, { ...user, user_type: user.carrier_id === null ? 'system' : 'carrier' });
  return isOther === true ? own : { ...own, ip: portal.ip, client_id: portal.key.user_id };
}
