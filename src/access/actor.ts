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

/** Who acts: a logged-in user as the database knows them at this moment, not as their token says (OWASP ASVS 8.3.2). */
export interface Actor extends Caller {
  actor_type: 'user' | 'system';
  user_id: string;
  user_type: UserType;
  /** the carrier of a Carrier User */
  carrier_id: string | null;
  /** the carriers a System User is limited to; null = all */
  carrier_scope: string[] | null;
  roles: string[];
  /** permissions of all roles together; empty while the password must be changed */
  permissions: string[];
  /** roles that the actor's roles name in `may_grant` */
  may_grant: string[];
  must_change_password: boolean;
  session_id: string | null;
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
