import { Injectable } from '@nestjs/common';
import { sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { LoginChallengeEntity } from './login-challenge.entity';

/** Seconds within which the second step must follow. */
export const challengeSeconds = 300;
/** Number of rejected proofs after which a challenge ends. */
const wrongCodesMax = 5;
/** Number of challenges per user and counter address. A further one replaces the oldest. */
const challengesMax = 5;

/** A challenge to insert. */
export type NewChallenge = Omit<LoginChallengeEntity, 'created_at' | 'expires_at' | 'wrong_codes'>;

/** A valid challenge, with the carrier of its user. */
export type LoginChallenge = Omit<NewChallenge, 'ip' | 'user_agent'> & { carrier_id: string | null };

/** A right password whose second step did not follow in time. */
export interface ExpiredChallenge extends Pick<LoginChallengeEntity, 'user_id' | 'ip' | 'user_agent' | 'created_at'> {
  /** whether the user has completed another login from the same address since then */
  logged_in: boolean;
}

/**
 * The SQL of the challenges between the two steps of a login. A challenge belongs to one user and
 * password. Only the second step accepts it (M4).
 */
@Injectable()
export class LoginChallengesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Inserts a challenge of a locked user, and ends the oldest challenges of the user with the same
   * counter address, so that at most 5 are left. A stranger with the password thus cannot end the
   * challenges of known addresses (L11).
   * Does not delete the challenges: `ExpiredChallengesService` reports them.
   */
  async insert(challenge: NewChallenge): Promise<void> {
    const { user_id, counter_address, renewal } = challenge;
    await this.database.runPrepared(sql`
      with surplus as (
        update login_challenges
        set expires_at = now()
        where user_id = ${user_id}::uuid
          and challenge_hash = any(array(
            select older.challenge_hash
            from login_challenges older
            where older.user_id = ${user_id}::uuid
              and older.counter_address = ${counter_address}::text
              and older.expires_at > now()
            order by older.created_at desc, older.challenge_hash
            offset ${challengesMax - 1}::integer
          ))
      )
      insert into login_challenges (
        challenge_hash, user_id, password_changed_at, counter_address, renewal, token_grant, ip, user_agent,
        expires_at
      )
      values (
        ${challenge.challenge_hash}::bytea,
        ${user_id}::uuid,
        ${challenge.password_changed_at}::timestamptz,
        ${counter_address}::text,
        ${renewal === null ? null : JSON.stringify(renewal)}::jsonb,
        ${challenge.token_grant}::jsonb,
        ${challenge.ip}::inet,
        ${challenge.user_agent}::text,
        now() + ${challengeSeconds}::integer * interval '1 second'
      )`);
  }

  /**
   * Returns a challenge that is still valid, or null. Call it again after locking the user: a
   * concurrent request may have used the challenge.
   */
  find(challenge_hash: Buffer): Promise<LoginChallenge | null> {
    return this.database.findPrepared<LoginChallenge>(sql`
      select
        challenge_hash, user_id, login_challenges.password_changed_at, counter_address, renewal, token_grant,
        users.carrier_id
      from login_challenges
      join users using (user_id)
      where challenge_hash = ${challenge_hash}::bytea
        and expires_at > now()
        and wrong_codes < ${wrongCodesMax}::integer`);
  }

  /** Counts a rejected proof. The fifth one ends the challenge. */
  async countWrong(challenge_hash: Buffer): Promise<void> {
    await this.database.runPrepared(sql`
      update login_challenges
      set wrong_codes = wrong_codes + 1
      where challenge_hash = ${challenge_hash}::bytea`);
  }

  /** Ends a challenge without deleting it: `ExpiredChallengesService` reports it. */
  async end(challenge_hash: Buffer): Promise<void> {
    await this.database.runPrepared(sql`
      update login_challenges
      set expires_at = now()
      where challenge_hash = ${challenge_hash}::bytea`);
  }

  async delete(challenge_hash: Buffer): Promise<void> {
    await this.database.runPrepared(sql`
      delete from login_challenges
      where challenge_hash = ${challenge_hash}::bytea`);
  }

  /** Deletes all challenges without notifying their users. */
  async deleteAll(): Promise<void> {
    await this.database.run(sql`delete from login_challenges`);
  }

  /** Ends the challenges of users. `ExpiredChallengesService` reports them. */
  async endOf(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update login_challenges
      set expires_at = now()
      where user_id = any(${user_ids}::uuid[]) and expires_at > now()`);
  }

  /**
   * Deletes and returns up to `limit` expired challenges, the oldest first. Skips challenges that
   * another transaction holds. A challenge with too many rejected proofs expires like any other.
   */
  async takeExpired(limit: number): Promise<ExpiredChallenge[]> {
    return this.database.run<ExpiredChallenge>(sql`
      with expired as (
        delete from login_challenges
        where challenge_hash = any(array(
          select challenge_hash
          from login_challenges
          where expires_at <= now()
          order by expires_at
          limit ${limit}::integer
          for update skip locked
        ))
        returning user_id, ip, user_agent, created_at
      )
      select
        expired.user_id,
        host(expired.ip) as ip,
        expired.user_agent,
        expired.created_at,
        coalesce(
          user_logins.last_login_at >= expired.created_at and user_logins.last_login_ip = expired.ip,
          false
        ) as logged_in
      from expired
      left join user_logins on user_logins.user_id = expired.user_id
      order by expired.created_at`);
  }
}
