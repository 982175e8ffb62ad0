import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isRestricted } from '../../access/actor';
import { type TokenGrant, withinGrant } from '../../access/token-grant';
import { monotonicMs } from '../../platform/clock';
import { shareOf } from '../../platform/instance';
import { CONFIG, type Config } from '../../platform/config/config';
import { Notifications } from '../../platform/database/notifications.service';
import { type SessionResponse, toSessionResponse } from '../sessions/sessions.dto';
import { ActivityNotes } from './activity-notes.service';
import { tokenLookups } from '../login/logins.metrics';
import { type ActingRecord, type LiveLoginRecord, LiveLoginsRepository } from './live-logins.repository';
import { toUserResponse, type UserResponse } from '../../users/users.dto';

/** A live login: user, session and current permissions. Shared by requests, so read-only. */
export interface LiveLogin {
  readonly user: UserResponse;
  readonly session: SessionResponse;
  /** limits of the tokens of the session; null = none */
  readonly grant: TokenGrant | null;
  /** union of all roles, sorted, within the grant; see `permissionsOf` */
  readonly permissions: string[];
  readonly may_grant: string[];
  /** whether the last login or refresh was less than an hour ago when the login was read */
  readonly renewable: boolean;
  /** until when the authentication is fresh, by `monotonicMs` */
  readonly fresh_until: number;
}

/** A login in the cache. Times are those of `monotonicMs`. */
interface CachedLogin extends LiveLogin {
  readonly validUntil: number;
  /** expiry of the session without activity */
  readonly endsAt: number;
  /** when the next activity must be noted */
  noteAt: number;
  readonly noteEvery: number;
}

/** A read from the database that has not finished. */
interface Read {
  readonly user_id: string;
  /** whether a change was notified since the read began */
  disturbed: boolean;
}

/** Maximum number of cached logins; about 4 kB each. */
const loginsMax = shareOf(20_000);
/** Maximum age of values that change without a notification, such as the last login. */
const ageMaxMs = 60_000;

/**
 * Finds the login behind a request, from memory while it cannot have changed (ADR 0010).
 * A change of a user, the end of a session and a change of a role notify every instance, which
 * removes the cached logins. A notification never adds or updates a cached login, so a late
 * notification cannot revive an ended session. A login that is read while a notification arrives is
 * not cached.
 */
@Injectable()
export class LiveLoginsService {
  private readonly bySession = new LRUCache<string, CachedLogin>({
    max: loginsMax,
    dispose: ({ user }, session_id) => this.drop(user.user_id, session_id),
  });
  /** sessions of the cached logins, by user */
  private readonly sessionsOf = new Map<string, Set<string>>();
  private readonly reads = new Set<Read>();

  constructor(
    private readonly logins: LiveLoginsRepository,
    private readonly notes: ActivityNotes,
    private readonly notifications: Notifications,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    notifications.on('user_changed', (user_id) => this.forget(user_id));
    notifications.on('roles_changed', () => this.forgetAll());
    notifications.onGap(() => this.forgetAll());
  }

  /**
   * Returns the login of a session, or null if the session ended or the user may not act.
   * @throws service.database_unavailable if the server may be an old primary
   */
  async find(session_id: string, user_id: string): Promise<LiveLogin | null> {
    return this.cached(session_id, user_id) ?? this.read(session_id, user_id);
  }

  /** Returns the login if it is cached. Null does not mean that the login is not live. */
  cached(session_id: string, user_id: string): LiveLogin | null {
    if (!this.notifications.isCurrent) return null;
    const login = this.bySession.get(session_id);
    if (login?.user.user_id !== user_id) return null;
    const now = monotonicMs();
    if (now >= login.validUntil) return null;
    this.noteUse(login, now);
    tokenLookups.memory++;
    return login;
  }

  /** Reads the login from the database, and caches it. */
  async read(session_id: string, user_id: string): Promise<LiveLogin | null> {
    tokenLookups.database++;
    await this.notifications.assertLease();
    // Otherwise a session with recent activity could appear to be expired.
    await this.notes.writeBefore(session_id);
    const askedAt = monotonicMs();
    const read = { user_id, disturbed: false };
    this.reads.add(read);
    const record = await this.logins.find(session_id, user_id).finally(() => this.reads.delete(read));
    if (record === null) return null;
    const login = toCached(record, askedAt, this.config.FRESH_AUTH_SECONDS);
    if (!read.disturbed) this.keep(session_id, login);
    this.noteUse(login, askedAt);
    return login;
  }

  private keep(session_id: string, login: CachedLogin): void {
    const { user_id } = login.user;
    this.bySession.set(session_id, login);
    this.sessionsOf.set(user_id, (this.sessionsOf.get(user_id) ?? new Set<string>()).add(session_id));
  }

  private drop(user_id: string, session_id: string): void {
    const sessions = this.sessionsOf.get(user_id);
    sessions?.delete(session_id);
    if (sessions?.size === 0) this.sessionsOf.delete(user_id);
  }

  private noteUse(login: CachedLogin, now: number): void {
    if (now < login.noteAt) return;
    login.noteAt = now + login.noteEvery;
    this.notes.add(login.session.session_id, login.user.user_id, login.endsAt - now);
  }

  private forget(user_id: string): void {
    for (const read of this.reads) if (read.user_id === user_id) read.disturbed = true;
    for (const session_id of this.sessionsOf.get(user_id) ?? []) this.bySession.delete(session_id);
  }

  private forgetAll(): void {
    for (const read of this.reads) read.disturbed = true;
    this.bySession.clear();
  }
}

/** Returns the permissions of a login: none while the user is restricted. */
export function permissionsOf({ user, permissions }: LiveLogin): string[] {
  return isRestricted(user) ? [] : permissions;
}

/** Returns what a user may do in a session. With limited permissions, `may_grant` is empty. */
export function rightsOf(user: ActingRecord): Pick<LiveLogin, 'grant' | 'permissions' | 'may_grant'> {
  const { permissions, token_grant: grant } = user;
  const may_grant = grant?.permissions === undefined ? user.may_grant : [];
  return { grant, permissions: withinGrant(grant, permissions.sort()), may_grant };
}

function toCached(record: LiveLoginRecord, askedAt: number, fresh_seconds: number): CachedLogin {
  const { renewable, ends_in_ms, note_in_ms, note_every_ms, required_in_ms } = record;
  return {
    user: toUserResponse(record),
    session: sessionOf(record),
    ...rightsOf(record),
    renewable,
    // The age comes from the clock of the database, so the clocks of the instances do not matter.
    fresh_until: askedAt - record.auth_age_ms + fresh_seconds * 1_000,
    validUntil: askedAt + Math.min(ends_in_ms, ageMaxMs, required_in_ms ?? ageMaxMs),
    endsAt: askedAt + ends_in_ms,
    noteAt: askedAt + note_in_ms,
    noteEvery: note_every_ms,
  };
}

function sessionOf(login: LiveLoginRecord): SessionResponse {
  const { session_id, user_id, user_type, name, carrier_id } = login;
  const times = {
    created_at: login.session_created_at,
    last_seen_at: login.session_last_seen_at,
    expires_at: login.session_expires_at,
  };
  const authentication = { auth_time: login.session_auth_time, amr: login.session_amr };
  const origin = { ip: login.session_ip, user_agent: login.session_user_agent };
  const state = { active: true, ended_at: null, ended_reason: null, ended_by: null };
  return toSessionResponse(
    { session_id, user_id, user_type, name, carrier_id, ...times, ...authentication, ...origin, ...state },
    session_id,
  );
}
