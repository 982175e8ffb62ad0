import { Injectable } from '@nestjs/common';
import type { TokenGrant } from '../access/token-grant';
import { sql } from '../common/query/sql';
import type { PasswordRenewal } from '../credentials/credentials.service';
import { Database } from '../database/database';

/** A challenge to insert. */
export interface NewChallenge {
  challenge_hash: Buffer;
  user_id: string;
  /** when the password that was entered was set */
  password_changed_at: Date | null;
  /** address of the password counter that the login clears; empty for unknown addresses */
  counter_address: string;
  /** what the login persists about the password; null if nothing changes */
  renewal: PasswordRenewal | null;
  /** limits of the tokens; null = none */
  token_grant: TokenGrant | null;
  ip: string | null;
  user_agent: string | null;
  ttl_seconds: number;
}

/** A challenge that has not expired. */
export interface LoginChallenge extends Pick<
  NewChallenge,
  'user_id' | 'password_changed_at' | 'counter_address' | 'renewal' | 'token_grant'
> {
  challenge_hash: Buffer;
  carrier_id: string | null;
}

/** The SQL of the challenges between the two steps of a login. */
@Injectable()
export class LoginChallengesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Inserts a challenge of a locked user, and ends the oldest challenges of the user with the same
   * counter address, so that at most `max` are left. A stranger with the password thus cannot end
   * the challenges of known addresses (L11).
   * Does not delete the challenges: `ExpiredChallengesService` reports them.
   */
  async insert(challenge: NewChallenge, max: number): Promise<void> {
    const { user_id, counter_address, ttl_seconds, renewal } = challenge;
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
            offset ${max - 1}::integer
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
        now() + ${ttl_seconds}::integer * interval '1 second'
      )`);
  }

  /** Returns an unexpired challenge with fewer than `max` rejected proofs, or null. */
  async find(challenge_hash: Buffer, max: number): Promise<LoginChallenge | null> {
    const [row] = await this.database.runPrepared<LoginChallenge>(sql`
      select
        challenge_hash, user_id, login_challenges.password_changed_at, counter_address, renewal, token_grant,
        users.carrier_id
      from login_challenges
      join users using (user_id)
      where challenge_hash = ${challenge_hash}::bytea
        and expires_at > now()
        and wrong_codes < ${max}::integer`);
    return row ?? null;
  }

  /** Counts a rejected proof. */
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

  /** Deletes a challenge. */
  async delete(challenge_hash: Buffer): Promise<void> {
    await this.database.runPrepared(sql`
      delete from login_challenges
      where challenge_hash = ${challenge_hash}::bytea`);
  }

  /** Ends the challenges of users. `ExpiredChallengesService` reports them. */
  async endOf(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update login_challenges
      set expires_at = now()
      where user_id = any(${user_ids}::uuid[]) and expires_at > now()`);
  }
}
