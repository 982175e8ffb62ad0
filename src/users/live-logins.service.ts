import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config';
import { type SessionResponse, toSessionResponse } from '../sessions/sessions.dto';
import { type LiveLoginRecord, LiveLoginsRepository } from './live-logins.repository';
import { toUserResponse, type UserResponse } from './users.dto';

/** A login that lives: its user, its session, and what they may do at this moment. */
export interface LiveLogin {
  user: UserResponse;
  session: SessionResponse;
  /** of all roles together, sorted */
  permissions: string[];
  may_grant: string[];
  /** the last login or refresh was less than an hour ago */
  renewable: boolean;
}

/** Asks on every request whether the login behind it lives, and notes that it was used. */
@Injectable()
export class LiveLoginsService {
  private readonly idle: Record<UserResponse['user_type'], number>;

  constructor(
    private readonly logins: LiveLoginsRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.idle = { system: config.SYSTEM_USER_SESSION_IDLE_SECONDS, carrier: config.CARRIER_USER_SESSION_IDLE_SECONDS };
  }

  /** The login of a session, or null when it has ended or its user may not act. */
  async find(session_id: string, user_id: string): Promise<LiveLogin | null> {
    const login = await this.logins.find(session_id, user_id);
    if (login === null) return null;
    if (login.stale) await this.logins.touch(session_id, user_id, this.idle[login.user_type]);
    const { permissions, may_grant, renewable } = login;
    return { user: toUserResponse(login), session: sessionOf(login), permissions: permissions.sort(), may_grant, renewable };
  }
}

function sessionOf(login: LiveLoginRecord): SessionResponse {
  const { session_id, user_id, user_type, name, carrier_id } = login;
  const times = { created_at: login.session_created_at, last_seen_at: login.session_last_seen_at, expires_at: login.session_expires_at };
  const origin = { ip: login.session_ip, user_agent: login.session_user_agent };
  const living = { active: true, ended_at: null, ended_reason: null, ended_by: null };
  return toSessionResponse({ session_id, user_id, user_type, name, carrier_id, ...times, ...origin, ...living }, session_id);
}
