import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { isKnownSql } from './known-addresses.sql';
import type { TokenPurpose } from './one-time-token.entity';

/** A link that is valid. */
export interface LiveToken {
  user_id: string;
  purpose: TokenPurpose;
  /** address that the link was mailed to */
  email: string;
  /** for `not_me`, the time of the first change that the link undoes */
  requested_at: Date;
  expires_at: Date;
  /** for `not_me`, the factors of the user before that change */
  factors: string[] | null;
}

/** A link whose mail was sent. */
export interface SentLink {
  purpose: 'reset' | 'invite' | 'email';
  requested_at: Date;
  expires_at: Date;
}

const linkColumns = rawSql('user_id, purpose, one_time_tokens.email, requested_at, expires_at, factors');
/**
 * Renders whether a link may be used. The link of a proposed address requires that the address is
 * still proposed, and that the rights of the user have not changed since the proposal. An
 * invitation is suspended while its user is disabled or deleted (R41).
 */
const isUsable = rawSql(`case purpose
          when 'email' then users.email_pending = one_time_tokens.email and rights_digest(user_id) = digest
          when 'invite' then users.status = 'invited' and users.deleted_at is null
          else true
        end`);
/** Renders whether the `not_me` link of earlier changes is valid. */
const isLive = rawSql('coalesce(link.expires_at > now(), false)');

/** Matches hashes of other systems. Must equal the predicate of credentials_forms_idx. */
const isForeign = rawSql(`password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
            and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'`);
/** Renders the form of a hash. Must equal the expression of credentials_forms_idx. */
const form = rawSql(`(case
              when password_hash like '$2%' then left(password_hash, 6)
              when password_hash like '$pbkdf2%' then '$' || split_part(password_hash, '$', 2)
              else regexp_replace(regexp_replace(password_hash, '\\$[^$]*\\$[^$]*$', ''), '([=,])0+(?=\\d)', '\\1', 'g')
            end) collate "C"`);

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
   * Lists the forms of the stored hashes of other systems, at most 64.
   * A form is the version and cost of bcrypt, the digest of PBKDF2, or all parameters of another
   * algorithm. Each step skips to the next form in the index. Imports accept about 90 forms.
   */
  async listForeignForms(): Promise<string[]> {
    const rows = await this.database.runPrepared<{ form: string }>(sql`
      with recursive forms as (
        (
          select ${form} as form
          from credentials
          where ${isForeign}
          order by 1
          limit 1
        )
        union all
        select (
          select ${form}
          from credentials
          where ${isForeign} and ${form} > forms.form
          order by 1
          limit 1
        )
        from forms
        where form is not null
      )
      select form
      from forms
      where form is not null
      limit 256`);
    return rows.map(({ form }) => form);
  }

  /**
   * Voids the passwords of users. The rows stay, because the rules of status check whether a user
   * has a password, voided or not. An expired initial password stays expired.
   */
  async voidPasswords(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update credentials
      set password_hash = null, expires_at = case when expires_at <= now() then expires_at end
      where user_id = any(${user_ids}::uuid[])`);
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
   * Records the request of a link for each user, and voids the previous links.
   * Returns false if the last requests are less than `pause_seconds` ago.
   */
  async requestTokens(user_ids: string[], purpose: TokenPurpose, pause_seconds: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into one_time_tokens (user_id, purpose, requested_at)
      select user_id, ${purpose}, now()
      from users
      where user_id = any(${user_ids}::uuid[])
      on conflict (user_id, purpose) do update set
        requested_at = now(),
        token_hash = null,
        email = null,
        expires_at = null
      where one_time_tokens.requested_at <= now() - ${pause_seconds}::integer * interval '1 second'
      returning user_id`);
    return rows.length > 0;
  }

  async wasRequested(user_id: string, purpose: TokenPurpose, within_seconds: number): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from one_time_tokens
      where user_id = ${user_id}::uuid
        and purpose = ${purpose}
        and requested_at > now() - ${within_seconds}::integer * interval '1 second'`);
    return rows.length > 0;
  }

  async recordProposal(user_id: string): Promise<void> {
    await this.database.run(sql`
      insert into one_time_tokens (user_id, purpose, requested_at, digest)
      values (${user_id}, 'email', now(), rights_digest(${user_id}::uuid))
      on conflict (user_id, purpose) do update set digest = excluded.digest`);
  }

  /**
   * Records a change, and stores a link for the owner of the current address, who can undo the
   * change for 24 hours. Keeps a valid link of earlier changes, and extends the link if the address
   * is the same, up to 48 hours after the first change.
   * @param seed value that the token is derived from
   * @param removed factor that the change removed
   */
  async recordChange(user_id: string, seed: Buffer, token_hash: Buffer, removed: string | null): Promise<void> {
    await this.database.run(sql`
      insert into one_time_tokens as link (
        user_id, purpose, email, digest, token_hash, requested_at, expires_at, factors
      )
      select
        user_id, 'not_me', email, ${seed}::bytea, ${token_hash}::bytea, now(), now() + interval '24 hours',
        array(
          select factor_id
          from second_factors
          where second_factors.user_id = users.user_id and confirmed_at < now()::timestamptz(3)
        ) || array_remove(array[${removed}::uuid], null)
      from users
      where user_id = ${user_id}::uuid
      on conflict (user_id, purpose) do update set
        expires_at = least(excluded.expires_at, case when ${isLive} then link.requested_at + interval '48 hours' end),
        email = excluded.email,
        digest = case when ${isLive} then link.digest else excluded.digest end,
        token_hash = case when ${isLive} then link.token_hash else excluded.token_hash end,
        requested_at = case when ${isLive} then link.requested_at else excluded.requested_at end,
        factors = case when ${isLive} then link.factors else excluded.factors end
      where link.email = excluded.email or not ${isLive}`);
  }

  /** Returns the seed of the valid `not_me` link that belongs to an address, or null. */
  async findSeed(user_id: string, email: string): Promise<Buffer | null> {
    const [row] = await this.database.run<{ digest: Buffer }>(sql`
      select digest
      from one_time_tokens
      where user_id = ${user_id}::uuid and purpose = 'not_me' and email = ${email} and expires_at > now()`);
    return row?.digest ?? null;
  }

  /** Lists the links of a user whose mails were sent, unless they were used or voided. */
  listSent(user_id: string): Promise<SentLink[]> {
    return this.database.run<SentLink>(sql`
      select purpose, requested_at, expires_at
      from one_time_tokens
      where user_id = ${user_id}::uuid and purpose in ('reset', 'invite', 'email') and expires_at is not null`);
  }

  async isKnown(user_id: string, address: string): Promise<boolean> {
    const [row] = await this.database.runPrepared<{ known: boolean }>(sql`
      select ${isKnownSql(user_id, address)} as known`);
    return row?.known ?? false;
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
  findToken(token_hash: Buffer, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return this.database.find<LiveToken>(sql`
      select ${linkColumns}
      from one_time_tokens
      join users using (user_id)
      where token_hash = ${token_hash}
        and purpose = any(${purposes}::text[])
        and expires_at > now()
        and ${isUsable}`);
  }

  /**
   * Uses a link. Only one of several concurrent requests succeeds.
   * Locks the user first, like every change of a user, so that the two cannot deadlock.
   */
  consumeToken(token_hash: Buffer, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return this.database.find<LiveToken>(sql`
      with used as (
        select ${linkColumns}
        from one_time_tokens
        join users using (user_id)
        where token_hash = ${token_hash}
          and purpose = any(${purposes}::text[])
          and expires_at > now()
          and ${isUsable}
        for no key update of users
        for update of one_time_tokens
      )
      update one_time_tokens
      set token_hash = null, expires_at = null, used_at = now()
      from used
      where one_time_tokens.user_id = used.user_id and one_time_tokens.purpose = used.purpose
      returning used.*`);
  }

  /** Voids up to `limit` links of any users, and returns their number. */
  async voidAnyTokens(limit: number): Promise<number> {
    const rows = await this.database.run(sql`
      update one_time_tokens
      set token_hash = null, expires_at = null
      where (user_id, purpose) in (
        select user_id, purpose
        from one_time_tokens
        where expires_at is not null
        limit ${limit}::integer
      )
      returning 1`);
    return rows.length;
  }

  /**
   * Voids the links of users.
   * @param proven_email keeps `not_me` links that were mailed to another address; null keeps none
   */
  async voidTokens(user_ids: string[], purposes: TokenPurpose[], proven_email: string | null): Promise<void> {
    await this.database.run(sql`
      update one_time_tokens
      set token_hash = null, expires_at = null
      where user_id = any(${user_ids}::uuid[])
        and purpose = any(${purposes}::text[])
        and expires_at is not null
        and (purpose <> 'not_me' or lower(email) = lower(coalesce(${proven_email}::text, email)))`);
  }
}
