import { namedEnum } from '../platform/named-enum';
import type { TokenGrant } from './token-grant';

/** A portal that uses an API key (`login:forward`) to forward the request of a user. */
export interface Portal {
  /** scope of the key; `user_id` is its id */
  key: Pick<Actor, 'actor_type' | 'user_id' | 'user_type' | 'carrier_id' | 'carrier_scope'>;
  /** address of the user */
  ip: string;
  /** counts a login of a user outside the scope; false beyond the limit of the portal's address */
  admitsOther?: () => Promise<boolean>;
}

/** The origin of a request. */
export interface Caller {
  /** IP address of the client, from `X-Forwarded-For` only behind a trusted proxy */
  ip: string | null;
  /** at most 512 characters, without control characters */
  user_agent: string | null;
  request_id: string | null;
  /** portal that forwards the request; `callerFor` decides whether its `ip` replaces this `ip` */
  portal?: Portal;
  /** API key of the portal through which the user logs in */
  client_id?: string;
  /** limits that the request asks for */
  asked?: TokenGrant;
}

/** Kind of user. */
export const userTypes = namedEnum('UserType', ['carrier', 'system']);
/** Kind of user. */
export type UserType = (typeof userTypes)[number];

/** Kind of second factor. Recovery codes are not a factor. */
export const factorKinds = namedEnum('FactorKind', ['totp', 'passkey']);
/** Kind of second factor. */
export type FactorKind = (typeof factorKinds)[number];

/**
 * The acting user or API key, with the rights that the database holds at this moment. The claims of
 * the token do not matter (OWASP ASVS 8.3.2).
 */
export interface Actor extends Caller {
  actor_type: 'user' | 'key' | 'system';
  /** id of the user or API key; a user and a key may have the same id, see `identityOf` */
  user_id: string;
  /** creator of an API key; null for users and the service */
  created_by: string | null;
  /** for an API key, the user type of its creator */
  user_type: UserType;
  /** carrier of a Carrier User */
  carrier_id: string | null;
  /** carriers that a System User is limited to; null = all */
  carrier_scope: string[] | null;
  roles: string[];
  /** permissions of all roles, or of the API key; empty while the user is restricted */
  permissions: string[];
  /** roles that the actor's roles name in `may_grant` */
  may_grant: string[];
  must_change_password: boolean;
  /** a second factor is required now and none is enrolled; false for API keys and the service */
  must_enroll_second_factor: boolean;
  session_id: string | null;
  /** audiences of the session; absent = this service */
  audience?: readonly string[] | undefined;
  /** the login asked for a part of the user's permissions only */
  is_limited?: boolean;
  /** last time the user authenticated in the session; null for API keys and the service itself */
  auth_time: Date | null;
  /**
   * until when the authentication is fresh, by `monotonicMs`; null for API keys and the service
   * itself, which are exempt. See `assertFresh`.
   */
  fresh_until: number | null;
}

/** The session of an actor. */
type ActorSession = Pick<Actor, 'session_id' | 'audience' | 'is_limited' | 'auth_time' | 'fresh_until'>;

/** API keys and the service itself have no roles, and never log in. */
const withoutUser = {
  roles: [],
  may_grant: [],
  must_change_password: false,
  must_enroll_second_factor: false,
  session_id: null,
  auth_time: null,
  fresh_until: null,
};

/** The row of an acting user, and what the user's roles permit at this moment. */
export interface ActingUser {
  user: Pick<
    Actor,
    | 'user_id'
    | 'user_type'
    | 'carrier_id'
    | 'carrier_scope'
    | 'roles'
    | 'must_change_password'
    | 'must_enroll_second_factor'
  >;
  permissions: string[];
  may_grant: string[];
}

/**
 * Returns whether a user has no roles or permissions until the user changes the password or enrols
 * a required second factor.
 */
export function isRestricted({
  must_change_password,
  must_enroll_second_factor,
}: Pick<Actor, 'must_change_password' | 'must_enroll_second_factor'>): boolean {
  return must_change_password || must_enroll_second_factor;
}

/** Returns a user as an actor. A restricted user has no roles and permissions. */
export function actorOf({ user, permissions, may_grant }: ActingUser, session: ActorSession, origin: Caller): Actor {
  const { user_id, user_type, carrier_id, carrier_scope, roles } = user;
  const { must_change_password, must_enroll_second_factor } = user;
  const rights = isRestricted(user) ? { roles: [], permissions: [], may_grant: [] } : { roles, permissions, may_grant };
  const { ip, user_agent, request_id } = origin;
  const { session_id, audience, is_limited = false, auth_time, fresh_until } = session;
  const identity = { user_id, created_by: null, user_type, carrier_id, carrier_scope };
  const duties = { must_change_password, must_enroll_second_factor };
  const login = { session_id, audience, is_limited, auth_time, fresh_until };
  return { actor_type: 'user', ...identity, ...duties, ...rights, ...login, ip, user_agent, request_id };
}

/** An active API key: its id, creator, permissions and scope. */
export interface ActiveApiKey extends Pick<Actor, 'user_type' | 'carrier_id' | 'carrier_scope' | 'permissions'> {
  key_id: string;
  created_by: string;
  expires_at: Date;
}

/**
 * Returns an API key as an actor, with its own permissions and scope. The key has no roles, so it
 * may grant only roles whose permissions it holds.
 */
export function keyActorOf(
  { key_id, created_by, user_type, carrier_id, carrier_scope, permissions }: ActiveApiKey,
  origin: Caller,
): Actor {
  const { ip, user_agent, request_id } = origin;
  const identity = { user_id: key_id, created_by, user_type, carrier_id, carrier_scope };
  return { actor_type: 'key', ...identity, permissions, ...withoutUser, ip, user_agent, request_id };
}

/**
 * Returns the identity of an actor as text: the id of a user, or the kind and the id of another
 * actor. Compare stored actors by this text, never by the id alone: a user and an API key with the
 * same id are different actors (Z24).
 */
export function identityOf({ actor_type, user_id }: Pick<Actor, 'actor_type' | 'user_id'>): string {
  return actor_type === 'user' ? user_id : `${actor_type}:${user_id}`;
}

/** Returns whether the actor is the user with this id. Always false for an API key. */
export function isOneself({ actor_type, user_id: own }: Actor, user_id: string): boolean {
  return actor_type === 'user' && own === user_id;
}

/**
 * Returns the user that self-protection protects from the actor: the user itself, or the creator of
 * an API key, because a key needs no password and no fresh authentication (Z31).
 */
export function selfOf({ user_id, created_by }: Actor): string {
  return created_by ?? user_id;
}

const nilId = '00000000-0000-0000-0000-000000000000';

/** The service itself as the actor: at first start, from the command line, on expiry. */
export const systemActor: Actor = {
  actor_type: 'system',
  user_id: nilId,
  created_by: null,
  user_type: 'system',
  carrier_id: null,
  carrier_scope: null,
  permissions: ['*'],
  ...withoutUser,
  ip: null,
  user_agent: null,
  request_id: null,
};

/** Returns the service as the actor for a caller without a login (a mailed link, for example). */
export function systemActorFor(caller: Caller): Actor {
  return { ...systemActor, ip: caller.ip, user_agent: caller.user_agent, request_id: caller.request_id };
}
