import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { monotonicMs } from '../common/clock';
import { Notifications } from '../database/notifications.service';
import { type SessionResponse, toSessionResponse } from '../sessions/sessions.dto';
import { ActivityNotes } from './activity-notes.service';
import { type LiveLoginRecord, LiveLoginsRepository } from './live-logins.repository';
import { toUserResponse, type UserResponse } from '../users/users.dto';

/**
 * A login that lives: its user, its session, and what they may do at this moment. Shared by
 * requests: never changed.
 */
export interface LiveLogin {
  readonly user: UserResponse;
  readonly session: SessionResponse;
  /** of all roles together, sorted */
  readonly permissions: string[];
  readonly may_grant: string[];
  /** the last login or refresh was less than an hour ago, when it was read */
  readonly renewable: boolean;
}

/** A login as it was read, and until when it may be believed, on this process's clock. */
interface CachedLogin extends LiveLogin {
  readonly believedUntil: number;
  /** when the session runs out if nothing happens */
  readonly endsAt: number;
  /** when its use is worth noting again, and how long after that */
  noteAt: number;
  readonly noteEvery: number;
}

/** A login that is being read. */
interface Read {
  askedAt: number;
  disturbed: boolean;
}

/** Logins that are kept; about 4 kB each. */
const loginsMax = 20_000;
/** What may change without a notification (last login, activity) is never older than this. */
const ageMaxMs = 60_000;

/**
 * Asked on every request: does the login behind it live, and what may its user do? Answered from
 * memory while nothing can have changed (ADR 0010): a change of the user, an end of a session or a
 * changed role reaches every instance by notification and removes the entry. Nothing is ever put
 * into an entry by a notification, so that a late one cannot revive anything, and what was being
 * read while one came is not kept.
 */
@Injectable()
export class LiveLoginsService {
  private readonly bySession = new LRUCache<string, CachedLogin>({
    max: loginsMax,
    dispose: ({ user }, session_id) => removeFrom(this.sessionsOf, user.user_id, session_id),
  });
  private readonly sessionsOf = new Map<string, Set<string>>();
  /** reads under way, by user; what is read while its user changes is not kept */
  private readonly readsOf = new Map<string, Set<Read>>();

  constructor(
    private readonly logins: LiveLoginsRepository,
    private readonly notes: ActivityNotes,
    private readonly notifications: Notifications,
  ) {
    notifications.on('user_changed', (user_id) => this.forget(user_id));
    notifications.on('roles_changed', () => this.forgetAll());
    notifications.onGap(() => this.forgetAll());
  }

  /** The login of a session, or null when it has ended or its user may not act. */
  async find(session_id: string, user_id: string): Promise<LiveLogin | null> {
    return this.cached(session_id, user_id) ?? this.read(session_id, user_id);
  }

  /** The login, if it is known without asking the database; null says nothing. */
  cached(session_id: string, user_id: string): LiveLogin | null {
    if (!this.notifications.isCurrent) return null;
    const login = this.bySession.get(session_id);
    if (login?.user.user_id !== user_id) return null;
    const now = monotonicMs();
    if (now >= login.believedUntil) return null;
    this.noteUse(login, now);
    return login;
  }

  /** The login as the database knows it at this moment. */
  async read(session_id: string, user_id: string): Promise<LiveLogin | null> {
    // else a session that is used all the time would seem to have run out
    await this.notes.writeBefore(session_id);
    const read: Read = { askedAt: monotonicMs(), disturbed: false };
    addTo(this.readsOf, user_id, read);
    const record = await this.logins.find(session_id, user_id).finally(() => removeFrom(this.readsOf, user_id, read));
    if (record === null) return null;
    const login = toCached(record, read.askedAt);
    if (!read.disturbed) this.keep(session_id, login);
    this.noteUse(login, read.askedAt);
    return login;
  }

  private keep(session_id: string, login: CachedLogin): void {
    this.bySession.set(session_id, login);
    addTo(this.sessionsOf, login.user.user_id, session_id);
  }

  private noteUse(login: CachedLogin, now: number): void {
    if (now < login.noteAt) return;
    login.noteAt = now + login.noteEvery;
    this.notes.add(login.session.session_id, login.user.user_id, login.endsAt - now);
  }

  private forget(user_id: string): void {
    for (const read of this.readsOf.get(user_id) ?? []) read.disturbed = true;
    for (const session_id of this.sessionsOf.get(user_id) ?? []) this.bySession.delete(session_id);
  }

  private forgetAll(): void {
    for (const user_id of this.readsOf.keys()) this.forget(user_id);
    this.bySession.clear();
  }
}

function addTo<Item>(sets: Map<string, Set<Item>>, key: string, item: Item): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([item]));
  else set.add(item);
}

function removeFrom<Item>(sets: Map<string, Set<Item>>, key: string, item: Item): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}

function toCached(record: LiveLoginRecord, askedAt: number): CachedLogin {
  const { permissions, may_grant, renewable, ends_in_ms, note_in_ms, note_every_ms } = record;
  return {
    user: toUserResponse(record),
    session: sessionOf(record),
    permissions: permissions.sort(),
    may_grant,
    renewable,
    believedUntil: askedAt + Math.min(ends_in_ms, ageMaxMs),
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
  const origin = { ip: login.session_ip, user_agent: login.session_user_agent };
  const living = { active: true, ended_at: null, ended_reason: null, ended_by: null };
  return toSessionResponse(
    { session_id, user_id, user_type, name, carrier_id, ...times, ...origin, ...living },
    session_id,
  );
}
