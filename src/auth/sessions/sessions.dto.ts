import type { UserType } from '../../access/actor';
import { permissionItems } from '../../access/permissions';
import { TextField, TextListField } from '../../http/fields/fields';
import { PageResponse } from '../../http/lists/page.dto';
import { namedEnum } from '../../platform/named-enum';
import type { Timed } from '../../platform/times';
import type { EndedReason, SessionEntity } from './session.entity';
import { partsOf } from './user-agents';

/** How the refresh token is sent, if not in the body. */
const transports = namedEnum('RefreshTokenTransport', ['cookie']);

/** Declares the field that chooses how the refresh token is sent. */
export const TransportField = (): PropertyDecorator => TextField({ optional: true, max: 6, values: transports });

/** Limits of the tokens of a session. A refresh keeps both limits or narrows them permanently. */
export class TokenLimits {
  /**
   * `aud` of the tokens: `carrier-platform` (the default) and names of `TOKEN_AUDIENCES`. Tokens
   * without `carrier-platform` work for modules only
   * @example ["billing"]
   */
  @TextListField({ optional: true, minItems: 1, maxItems: 20, min: 1, max: 64 }) audience?: string[];
  /** permissions of the tokens, limited to those of the user; absent = all of these */
  @TextListField({ ...permissionItems, optional: true }) permissions?: string[];
}

/** One login. Contains no token; the id is not a secret. */
export class SessionResponse {
  /** UUIDv7 @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c */
  session_id!: string;
  /** id of the user */
  user_id!: string;
  /** kind of user */
  user_type!: UserType;
  /** login name of the user */
  name!: string;
  /** carrier of a Carrier User */
  carrier_id!: string | null;
  /** whether this request belongs to the session */
  current!: boolean;
  /** time of the login */
  created_at!: Date;
  /** last activity, to the minute */
  last_seen_at!: Date;
  /** expiry without activity; activity postpones it up to the maximum age of a session */
  expires_at!: Date;
  /** last time the user authenticated: the login or a reauthentication */
  auth_time!: Date;
  /**
   * methods of the authentication (RFC 8176): `pwd`, `otp`, `hwk` or `swk` with `user`, and `mfa`
   * after two factors
   * @example ["pwd", "otp", "mfa"]
   */
  amr!: string[];
  /** address of the login */
  ip!: string | null;
  /** user agent of the login, at most 512 characters @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0 */
  user_agent!: string | null;
  /**
   * browser and version according to the user agent, such as `Chrome 130`; name of another program,
   * such as `curl 8`; null if unknown
   * @example Firefox 131
   */
  browser!: string | null;
  /**
   * operating system according to the user agent, such as `iOS 18`; without a version if browsers
   * hide it (`macOS`, `Windows 10 or 11`); null if unknown
   * @example Linux
   */
  os!: string | null;
  /**
   * `desktop`, `mobile`, `tablet`, `tv` or `bot` according to the user agent; null for other
   * programs or if unknown
   * @example desktop
   */
  device!: string | null;
  /** whether the session is live: neither ended nor expired */
  active!: boolean;
  /** end or expiry of the session; null while it is live */
  ended_at!: Date | null;
  /** why the session ended; null while it is live */
  ended_reason!: EndedReason | null;
  /** user or API key that ended the session; null if the service ended it */
  ended_by!: string | null;
}

/** A page of sessions. */
export class SessionListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: SessionResponse[];
}

/** Number of sessions that were ended. */
export class EndedSessionsResponse {
  /** number of live sessions that were ended @example 3 */
  ended!: number;
}

/** Columns of a session as listed, with the name of the user. */
export type SessionRecord = Omit<
  SessionEntity,
  | 'refresh_token_hash'
  | 'previous_refresh_token_hash'
  | 'refreshed_at'
  | 'absolute_expires_at'
  | 'auth_time'
  | 'token_grant'
> & {
  name: string;
  auth_time: Date;
  active: boolean;
};

/** Builds the response of a session from an allow-list of columns. */
export function toSessionResponse<Time = Date>(
  session: Timed<SessionRecord, Time>,
  current_session_id: string | null,
): Timed<SessionResponse, Time> {
  const {
    session_id,
    user_id,
    user_type,
    name,
    carrier_id,
    created_at,
    last_seen_at,
    expires_at,
    auth_time,
    amr,
    ip,
    user_agent,
    active,
    ended_by,
  } = session;
  const expired = !active && session.ended_at === null;
  const ended_at = expired ? expires_at : session.ended_at;
  const ended_reason = expired ? 'expired' : session.ended_reason;
  const current = session_id === current_session_id;
  return {
    session_id,
    user_id,
    user_type,
    name,
    carrier_id,
    current,
    created_at,
    last_seen_at,
    expires_at,
    auth_time,
    amr,
    ip,
    user_agent,
    ...partsOf(user_agent),
    active,
    ended_at,
    ended_reason,
    ended_by,
  };
}
