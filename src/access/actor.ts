/** Where a request comes from. */
export interface Caller {
  /** address of the client, from `X-Forwarded-For` only behind a trusted proxy */
  ip: string | null;
  /** at most 512 characters, without control characters */
  user_agent: string | null;
  request_id: string | null;
}

/** The two kinds of users. */
export type UserType = 'system' | 'carrier';

/**
 * Who acts: a logged-in user or a key, as the database knows them at this moment, not as their
 * token says (OWASP ASVS 8.3.2).
 */
export interface Actor extends Caller {
  actor_type: 'user' | 'key' | 'system';
  /** id of the key where a key acts: no user has it, so nothing is its own */
  user_id: string;
  /** a key has that of its maker */
  user_type: UserType;
  /** the carrier of a Carrier User */
  carrier_id: string | null;
  /** the carriers a System User is limited to; null = all */
  carrier_scope: string[] | null;
  roles: string[];
  /**
   * permissions of all roles together, or those of the key; empty while the password must be
   * changed
   */
  permissions: string[];
  /** roles that the actor's roles name in `may_grant` */
  may_grant: string[];
  must_change_password: boolean;
  session_id: string | null;
}

/** What is known of a user who acts: their row, and what their roles give at this moment. */
export interface ActingUser {
  user: Pick<Actor, 'user_id' | 'user_type' | 'carrier_id' | 'carrier_scope' | 'roles' | 'must_change_password'>;
  permissions: string[];
  may_grant: string[];
}

/**
 * A user as an actor. Whoever must change their password has no roles and permissions until they
 * have.
 */
export function actorOf(
  { user, permissions, may_grant }: ActingUser,
  session_id: string | null,
  origin: Caller,
): Actor {
  const { user_id, user_type, carrier_id, carrier_scope, roles, must_change_password } = user;
  const rights = must_change_password
    ? { roles: [], permissions: [], may_grant: [] }
    : { roles, permissions, may_grant };
  const { ip, user_agent, request_id } = origin;
  const who = { user_id, user_type, carrier_id, carrier_scope, must_change_password };
  return { actor_type: 'user', ...who, ...rights, session_id, ip, user_agent, request_id };
}

/** What is known of a key that acts. */
export interface ActiveApiKey extends Pick<Actor, 'user_type' | 'carrier_id' | 'carrier_scope' | 'permissions'> {
  key_id: string;
}

/**
 * A key as an actor: its own permissions and scope, and no role, so that it can give only roles
 * whose permissions it holds.
 */
export function keyActorOf(
  { key_id, user_type, carrier_id, carrier_scope, permissions }: ActiveApiKey,
  origin: Caller,
): Actor {
  const { ip, user_agent, request_id } = origin;
  const rights = { roles: [], permissions, may_grant: [], must_change_password: false };
  return {
    actor_type: 'key',
    user_id: key_id,
    user_type,
    carrier_id,
    carrier_scope,
    ...rights,
    session_id: null,
    ip,
    user_agent,
    request_id,
  };
}

/**
 * Returns the identity of an actor as text: the id of a user, or the kind and the id of another
 * actor. Compare stored actors by this text, never by the id alone: a user and an API key with the
 * same id are different actors (Z24).
 */
export function identityOf({ actor_type, user_id }: Pick<Actor, 'actor_type' | 'user_id'>): string {
  return actor_type === 'user' ? user_id : `${actor_type}:${user_id}`;
}

/** Returns whether a user acts on themselves. An API key never does. */
export function isOneself({ actor_type, user_id: own }: Actor, user_id: string): boolean {
  return actor_type === 'user' && own === user_id;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** The service itself, acting without a request: first start, command line, expiry. */
export const systemActor: Actor = {
  actor_type: 'system',
  user_id: nobody,
  user_type: 'system',
  carrier_id: null,
  carrier_scope: null,
  roles: [],
  permissions: ['*'],
  may_grant: [],
  must_change_password: false,
  session_id: null,
  ip: null,
  user_agent: null,
  request_id: null,
};

/** The service acting for a caller who has no login, such as the holder of a mailed link. */
export function systemActorFor(caller: Caller): Actor {
  return { ...systemActor, ip: caller.ip, user_agent: caller.user_agent, request_id: caller.request_id };
}
