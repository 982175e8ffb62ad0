import type { UserType } from '../access/actor';
import { PageResponse } from '../common/http/page.dto';
import type { Timed } from '../common/times';
import type { EndedReason, SessionEntity } from './session.entity';
import { partsOf } from './user-agents';

/** One login. Never holds a token or its hash; the id is no token. */
export class SessionResponse {
  /** UUIDv7 */
  session_id!: string;
  /** whose session */
  user_id!: string;
  /** kind of user */
  user_type!: UserType;
  /** login name of the user */
  name!: string;
  /** carrier of a Carrier User */
  carrier_id!: string | null;
  /** whether it is the session of this request */
  current!: boolean;
  /** time of the login */
  created_at!: Date;
  /** last activity, to the minute */
  last_seen_at!: Date;
  /** when it ends if nothing happens; activity moves it, up to the absolute end */
  expires_at!: Date;
  /** address of the login */
  ip!: string | null;
  /** user agent of the login, at most 512 characters */
  user_agent!: string | null;
  /**
   * browser and its version as the user agent claims, such as `Chrome 130`; of a program its name,
   * such as `curl 8`; null when it does not tell
   */
  browser!: string | null;
  /**
   * operating system as the user agent claims, such as `iOS 18`; without version where browsers do
   * not tell it (`macOS`, `Windows 10 or 11`)
   */
  os!: string | null;
  /**
   * `desktop`, `mobile`, `tablet`, `tv` or `bot`, as the user agent claims; null for programs and
   * when it does not tell
   */
  device!: string | null;
  /** whether it lives */
  active!: boolean;
  /** when it ended */
  ended_at!: Date | null;
  /** why it ended; `expired` when nobody ended it */
  ended_reason!: EndedReason | null;
  /** user or key that ended it; null when the service did */
  ended_by!: string | null;
}

/** A page of sessions. */
export class SessionListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: SessionResponse[];
}

/** How many sessions were ended. */
export class EndedSessionsResponse {
  /** number of sessions that lived and were ended */
  ended!: number;
}

/** A session row with what is joined and computed. */
export type SessionRecord = Omit<
  SessionEntity,
  'refresh_token_hash' | 'previous_refresh_token_hash' | 'refreshed_at' | 'absolute_expires_at' | 'amr' | 'auth_time'
> & {
  name: string;
  active: boolean;
};

/** The public form of a session: an allow-list. */
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
    ip,
    user_agent,
    ...partsOf(user_agent),
    active,
    ended_at,
    ended_reason,
    ended_by,
  };
}
