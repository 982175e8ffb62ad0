import { Injectable } from '@nestjs/common';
import { addressKey } from '../common/ip';
import { rawSql, sql } from '../common/query/sql';
import { newId } from '../common/random';
import { type AttemptKey, type AttemptState, LoginAttemptsService } from '../credentials/login-attempts.service';
import { UserAttemptsRepository } from './user-attempts.repository';
import { toUserResponse, type UserResponse } from './users.dto';

/** A living user who was named, and what decides about their login. */
export interface FoundLogin {
  user: UserResponse;
  /** of the password in force; null for whoever cannot log in */
  password_hash: string | null;
  /** whether they may log in from where they are */
  ip_allowed: boolean;
}

/** The users as an attempt to log in sees them. For `auth` only; it decides what may be told. */
@Injectable()
export class UserAttemptsService {
  constructor(
    private readonly users: UserAttemptsRepository,
    private readonly attempts: LoginAttemptsService,
  ) {}

  /**
   * Begins an attempt at the password of a living user, by login (in lower case) or id, or of nobody: then it is counted as that of `stranger`.
   * One statement, whoever it is. Ask `LoginAttemptsService.isLetIn` before the password is looked at.
   */
  async begin(
    claim: { login: string } | { user_id: string },
    stranger: string,
    ip: string | null,
  ): Promise<{ attempt: AttemptState; found: FoundLogin | null }> {
    const address = ip === null ? '' : addressKey(ip);
    const begin = this.attempts.beginSql({ attempt_id: newId(), user: rawSql('found'), stranger, address });
    const column = rawSql('login' in claim && claim.login.includes('@') ? 'users.email' : 'users.name');
    const condition = 'login' in claim ? sql`lower(${column}) = ${claim.login}::text` : sql`users.user_id = ${claim.user_id}::uuid`;
    const record = await this.users.begin(condition, ip, begin);
    const { attempt_id, account, address: counter, let_in, failures, locked_seconds } = record;
    const attempt = { attempt_id, account, address: counter, let_in, failures, locked_seconds };
    if (record.user_id === null) return { attempt, found: null };
    const { password_hash, ip_allowed } = record;
    return { attempt, found: { user: toUserResponse(record), password_hash, ip_allowed: ip_allowed === true } };
  }

  /** Notes a login, ends its attempt and locks the user until it is done; null when the user changed since the password was verified. */
  async noteLogin({ user_id, password_changed_at }: UserResponse, ip: string | null, attempt: AttemptKey): Promise<UserResponse | null> {
    const end = this.attempts.passSql(attempt, ip === null ? null : addressKey(ip), rawSql('noted'));
    const user = await this.users.noteLogin(user_id, password_changed_at, ip, attempt.address === '', end);
    return user === null ? null : toUserResponse(user);
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
