import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { addressKey } from '../common/ip';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { newId } from '../common/random';
import type { StoredPassword } from '../credentials/credentials.service';
import { type AttemptKey, type AttemptState, LoginAttemptsService } from '../credentials/login-attempts.service';
import { UserAttemptsRepository } from './user-attempts.repository';
import { toUserResponse, type UserResponse } from '../users/users.dto';

/** A living user who was named, and what decides about their login. */
export interface FoundLogin extends StoredPassword {
  user: UserResponse;
  /** whether they may log in from where they are */
  ip_allowed: boolean;
  /** changes with whatever is written to the user */
  row_version: string;
}

/** A living user whose password was right; the attempt has not ended yet. */
export interface VerifiedLogin extends FoundLogin {
  attempt: AttemptKey;
}

/** A login that was noted, and what the parts of the statement have answered that followed. */
export interface NotedLogin<Opened> {
  user: UserResponse;
  opened: Opened;
}

/** The users as an attempt to log in sees them. For `auth` only; it decides what may be told. */
@Injectable()
export class UserAttemptsService {
  constructor(
    private readonly users: UserAttemptsRepository,
    private readonly attempts: LoginAttemptsService,
  ) {}

  /**
   * Begins an attempt at the password of a living user, by login (in lower case) or id, or of
   * nobody: then it is counted as that of `stranger`. One statement, whoever it is. Ask
   * `LoginAttemptsService.isLetIn` before the password is looked at.
   */
  async begin(
    claim: { login: string } | { user_id: string },
    stranger: string,
    ip: string | null,
  ): Promise<{ attempt: AttemptState; found: FoundLogin | null }> {
    const address = ip === null ? '' : addressKey(ip);
    const begin = this.attempts.beginSql({ attempt_id: newId(), user: rawSql('found'), stranger, address });
    const column = rawSql('login' in claim && claim.login.includes('@') ? 'users.email' : 'users.name');
    const condition =
      'login' in claim ? sql`lower(${column}) = ${claim.login}::text` : sql`users.user_id = ${claim.user_id}::uuid`;
    const record = await this.users.begin(condition, ip, begin);
    const { attempt_id, account, address: counter, let_in, failures, locked_seconds } = record;
    const attempt = { attempt_id, account, address: counter, let_in, failures, locked_seconds };
    if (record.user_id === null) return { attempt, found: null };
    const { password_hash, row_version } = record;
    const [policy_checked, ip_allowed] = [record.policy_checked === true, record.ip_allowed === true];
    return { attempt, found: { user: toUserResponse(record), password_hash, policy_checked, ip_allowed, row_version } };
  }

  /**
   * Notes a login, ends its attempt and does what follows, in one statement; null when the user may
   * not log in any more, or not by this password. What the statement reads is as new as what was
   * found: else the user is locked, and it is sent again.
   * @param after other parts of the statement (`name as (…)`), for the one row of `noted`, the
   * user; `opened` is one, whose columns come back
   * @param demands_change sets `must_change_password`
   */
  async noteLogin<Opened>(
    found: VerifiedLogin,
    ip: string | null,
    after: SqlFragment,
    demands_change = false,
  ): Promise<NotedLogin<Opened> | null> {
    const noted = await this.tryToNote<Opened>(found, ip, after, demands_change);
    return noted ?? this.noteLocked(found, ip, after, demands_change);
  }

  /**
   * The rare way: another login of the same user, or some change of theirs, was done while the
   * password was hashed.
   */
  @Transactional()
  private async noteLocked<Opened>(
    found: VerifiedLogin,
    ip: string | null,
    after: SqlFragment,
    demands_change: boolean,
  ): Promise<NotedLogin<Opened> | null> {
    const row_version = await this.users.lock(found.user.user_id);
    return row_version === null ? null : this.tryToNote({ ...found, row_version }, ip, after, demands_change);
  }

  private async tryToNote<Opened>(
    { user, row_version, attempt }: VerifiedLogin,
    ip: string | null,
    after: SqlFragment,
    demands_change: boolean,
  ): Promise<NotedLogin<Opened> | null> {
    const { user_id, password_changed_at } = user;
    const passed = this.attempts.passSql(attempt, ip === null ? null : addressKey(ip), rawSql('noted'));
    const follows = sql`passed as (${passed}), ${after}`;
    const effects = { lifts_lock: attempt.address === '', demands_change };
    const row = await this.users.noteLogin<Opened>({ user_id, password_changed_at, row_version }, ip, effects, follows);
    return row === null ? null : { user: toUserResponse(row), opened: row };
  }

  /** Locks a user until the transaction ends; null is nobody, and takes as long. */
  async lock(user_id: string | null): Promise<void> {
    await this.users.lock(user_id);
  }

  /** Shows until when strangers are locked out. */
  async noteLock(user_id: string | null, locked_until: Date): Promise<void> {
    await this.users.noteLock(user_id, locked_until);
  }
}
