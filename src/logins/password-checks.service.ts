import { setTimeout as delay } from 'node:timers/promises';
import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { deriveKey } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { CredentialsService } from '../credentials/credentials.service';
import { type AttemptKey, LoginAttemptsService } from '../credentials/login-attempts.service';
import { type Changes, EventsService } from '../events/events.service';
import { type FoundLogin, type NotedLogin, UserAttemptsService, type VerifiedLogin } from './user-attempts.service';
import { LoginQueue } from './login-queue';

/** Whose password it should be. */
export type Claim = { login: string } | { user_id: string };

/** Renders the event's target from `noted`. `users` still has the old row in the same statement. */
const demandTarget = rawSql(`(select noted.user_id as id, noted.carrier_id, noted.version,
    '{"must_change_password": {"before": false, "after": true}}'::jsonb as changes
  from noted join users before on before.user_id = noted.user_id where not before.must_change_password) target`);

const places = 5;
/** 64 waiting places of the hash queue and one running hash: the queue rejects further logins. */
const runningMax = 65;
const waitingMax = 128;
const firstPauseMs = 10;
const longestPauseMs = 250;

/** Every way to try a password leads through here, so that none is weaker (OWASP ASVS 6.3.4). */
@Injectable()
export class PasswordChecksService {
  private readonly loginKey: Buffer;
  private readonly queue = new LoginQueue({
    runningMax,
    runningPerAccountMax: places,
    waitingMax,
    waitingPerAccountMax: waitingMax / 2,
    patienceMs: 15_000,
  });

  constructor(
    private readonly users: UserAttemptsService,
    private readonly credentials: CredentialsService,
    private readonly attempts: LoginAttemptsService,
    private readonly events: EventsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.loginKey = deriveKey(config.APP_SECRET, 'unknown-logins');
  }

  /** Whether whoever comes now is turned away. */
  get isFull(): boolean {
    return this.queue.isFull;
  }

  /**
   * Verifies a password and does what follows a right one; null when it is wrong. Unknown, disabled
   * and without a password take as long as wrong. The attempt is counted before the password is
   * looked at. `right` must end the attempt; one that throws without has no effect on the limit.
   * @throws auth.too_many_attempts, service.overloaded
   */
  verify<T>(
    claim: Claim,
    password: string,
    actor: Actor,
    right: (user: VerifiedLogin) => Promise<T>,
  ): Promise<T | null> {
    const named = 'login' in claim ? { login: lowerCase(claim.login) } : claim;
    return this.queue.run('login' in named ? named.login : named.user_id, async (deadline) => {
      const { attempt, found } = await this.begin(named, actor.ip, deadline);
      const password_hash = found?.password_hash ?? null;
      const isRight = await this.orRelease(attempt, () => this.credentials.verify(password_hash, password));
      if (isRight && found !== null) return this.orRelease(attempt, () => right({ ...found, attempt }));
      // a wrong one that cannot be recorded keeps its place, and counts when its time is over:
      // closed, not open
      await this.fail(named, found, attempt, actor);
      return null;
    });
  }

  /** Ends the attempt of a right password that is no login. */
  async pass(attempt: AttemptKey): Promise<void> {
    await this.attempts.pass(attempt);
  }

  /**
   * Ends the attempt of a right password from an address that is not allowed. Recorded: whoever has
   * it there may have stolen it.
   */
  @Transactional()
  async refuseAddress({ user: { user_id, carrier_id }, attempt }: VerifiedLogin, actor: Actor): Promise<void> {
    await this.attempts.pass(attempt);
    const changes: Changes = { reason: { after: 'auth.ip_not_allowed' } };
    await this.events.record(actor, 'login.failed', { type: 'login', id: user_id, carrier_id }, changes);
  }

  /**
   * Ends an attempt with the right password: persists the login and its effects in one statement.
   * With `demands_change` the statement also sets `must_change_password` and records an event.
   * Returns null if the user may no longer log in. See `UserAttemptsService.noteLogin`.
   */
  async noteLogin<Opened>(
    found: VerifiedLogin,
    actor: Actor,
    after: SqlFragment,
    { demands_change }: { demands_change: boolean },
  ): Promise<NotedLogin<Opened> | null> {
    const { must_change_password } = found.user;
    if (!demands_change || must_change_password) return this.users.noteLogin<Opened>(found, actor.ip, after);
    const event = this.events.recordAll(actor, 'user.changed', 'user', demandTarget);
    return this.users.noteLogin<Opened>(found, actor.ip, sql`demanded as (${event}), ${after}`, true);
  }

  /**
   * Waits while others try the passwords of the same account: until they are done nobody knows
   * whether the limit is reached.
   */
  private async begin(
    claim: Claim,
    ip: string | null,
    deadline: number,
  ): Promise<{ attempt: AttemptKey; found: FoundLogin | null }> {
    const stranger = 'login' in claim ? this.hash(claim.login) : claim.user_id;
    for (let pause = firstPauseMs; ; pause = Math.min(longestPauseMs, pause * 1.5)) {
      const { attempt, found } = await this.users.begin(claim, stranger, ip);
      if (this.attempts.isLetIn(attempt)) return { attempt, found };
      if (performance.now() + pause > deadline) throw new AppError('service.overloaded');
      await delay(pause);
    }
  }

  /** What was not evaluated, or was right, counts for nothing when it comes to nothing. */
  private async orRelease<T>(attempt: AttemptKey, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.attempts.release(attempt).catch(() => undefined);
      throw error;
    }
  }

  /**
   * A name that nobody has may be a password typed into the wrong field: only a keyed hash of it is
   * kept.
   */
  @Transactional()
  private async fail(claim: Claim, found: FoundLogin | null, attempt: AttemptKey, actor: Actor): Promise<void> {
    const { user_id = null, carrier_id = null } = found?.user ?? {};
    await this.users.lock(user_id);
    const failed = await this.attempts.fail(attempt);
    const target = { type: 'login' as const, id: user_id, carrier_id };
    const changes: Changes = found === null && 'login' in claim ? { login: { after: this.hash(claim.login) } } : {};
    await this.events.record(actor, 'login.failed', target, changes);
    if (failed === null || failed.locked_until === null) return;
    const lock: Changes = {
      failures: { after: failed.failures },
      locked_until: { after: failed.locked_until.toISOString() },
    };
    await this.events.record(actor, 'login.locked', target, { ...changes, ...lock });
    // one's own addresses are locked apart, and that lock is nobody else's
    if (attempt.address === '') await this.users.noteLock(user_id, failed.locked_until);
  }

  private hash(login: string): string {
    return createHmac('sha256', this.loginKey).update(login).digest('base64url');
  }
}

/**
 * Names and addresses are ASCII, and differ without regard to case. Other letters stay as they are:
 * PostgreSQL must find a user by exactly those logins that are counted as one when it finds none,
 * else the difference would tell who exists.
 */
function lowerCase(login: string): string {
  return login.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
