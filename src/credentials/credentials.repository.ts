import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';
import type { TokenPurpose } from './one-time-token.entity';

/** A mailed link that is valid. */
export interface LiveToken {
  user_id: string;
  purpose: TokenPurpose;
  /** address that the link was mailed to */
  email: string;
  expires_at: Date;
}

/** The SQL of passwords and mailed links. */
@Injectable()
export class CredentialsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Sets a password that the policy has checked.
   * An initial password that is not used expires after `expires_in_seconds`.
   */
  async upsertHash(user_id: string, password_hash: string, expires_in_seconds: number | null): Promise<void> {
    await this.database.run(sql`
      insert into credentials (user_id, password_hash, expires_at, policy_checked)
      values (
        ${user_id}, ${password_hash}, now() + ${expires_in_seconds}::integer * interval '1 second', true
      )
      on conflict (user_id) do update set
        password_hash = excluded.password_hash,
        expires_at = excluded.expires_at,
        policy_checked = excluded.policy_checked`);
  }

  /**
   * Keeps a password that was used: an initial password no longer expires.
   * @param renewed_hash replaces `verified_hash`, unless another login replaced it before
   * @param policy_checked whether the policy checked the password; otherwise the next login does
   */
  async keep(
    user_id: string,
    verified_hash: string | null,
    renewed_hash: string | null,
    policy_checked: boolean,
  ): Promise<void> {
    await this.database.runPrepared(sql`
      update credentials
      set
        expires_at = null,
        policy_checked = ${policy_checked}::boolean,
        password_hash = case
          when password_hash = ${verified_hash}::text then coalesce(${renewed_hash}::text, password_hash)
          else password_hash
        end
      where user_id = ${user_id}::uuid`);
  }

  /**
   * Records the request of a link, and voids the previous link.
   * Returns false if the last request is less than `pause_seconds` ago.
   */
  async requestToken(user_id: string, purpose: TokenPurpose, pause_seconds: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into one_time_tokens (user_id, purpose, requested_at)
      values (${user_id}, ${purpose}, now())
      on conflict (user_id, purpose) do update set
        requested_at = now(),
        token_hash = null,
        email = null,
        expires_at = null
      where one_time_tokens.requested_at <= now() - ${pause_seconds}::integer * interval '1 second'
      returning user_id`);
    return rows.length > 0;
  }

  /** Returns whether a link was requested in the last `within_seconds`. */
  async wasRequested(user_id: string, purpose: TokenPurpose, within_seconds: number): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from one_time_tokens
      where user_id = ${user_id}::uuid
        and purpose = ${purpose}
        and requested_at > now() - ${within_seconds}::integer * interval '1 second'`);
    return rows.length > 0;
  }

  /**
   * Stores the hash of a token, and returns true. Returns false if the user is disabled or deleted,
   * or if the address is no longer the user's.
   * @param email address that the link is mailed to; `''` = no address
   */
  async putToken(
    user_id: string,
    purpose: TokenPurpose,
    token_hash: Buffer,
    email: string,
    ttl_seconds: number,
  ): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into one_time_tokens (user_id, purpose, token_hash, email, requested_at, expires_at)
      select
        user_id, ${purpose}, ${token_hash}::bytea, ${email}::text, now(),
        now() + ${ttl_seconds}::integer * interval '1 second'
      from users
      where user_id = ${user_id}::uuid
        and status <> 'disabled'
        and deleted_at is null
        and ${email} in ('', case when ${purpose} = 'email' then email_pending else email end)
      for share
      on conflict (user_id, purpose) do update set
        token_hash = excluded.token_hash,
        email = excluded.email,
        expires_at = excluded.expires_at
      returning user_id`);
    return rows.length > 0;
  }

  /** Returns the valid link with a token, without using the link. */
  async findToken(token_hash: Buffer, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    const [row] = await this.database.run<LiveToken>(sql`
      select user_id, purpose, email, expires_at
      from one_time_tokens
      where token_hash = ${token_hash} and purpose = any(${purposes}::text[]) and expires_at > now()`);
    return row ?? null;
  }

  /**
   * Uses a link. Only one of several concurrent requests succeeds.
   * Locks the user first, like every change of a user, so that the two cannot deadlock.
   */
  async consumeToken(token_hash: Buffer, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    const [row] = await this.database.run<LiveToken>(sql`
      with used as (
        select user_id, purpose, one_time_tokens.email, expires_at
        from one_time_tokens
        join users using (user_id)
        where token_hash = ${token_hash} and purpose = any(${purposes}::text[]) and expires_at > now()
        for no key update of users
        for update of one_time_tokens
      )
      update one_time_tokens
      set token_hash = null, expires_at = null, used_at = now()
      from used
      where one_time_tokens.user_id = used.user_id and one_time_tokens.purpose = used.purpose
      returning used.user_id, used.purpose, used.email, used.expires_at`);
    return row ?? null;
  }

  /** Voids the links of users. */
  async voidTokens(user_ids: string[], purposes: TokenPurpose[]): Promise<void> {
    await this.database.run(sql`
      update one_time_tokens
      set token_hash = null, expires_at = null
      where user_id = any(${user_ids}::uuid[])
        and purpose = any(${purposes}::text[])
        and token_hash is not null`);
  }
}
