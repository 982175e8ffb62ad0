import { Injectable } from '@nestjs/common';
import { sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { IdempotencyKeyEntity } from './idempotency-key.entity';

/** Whose key it is, and for what. */
export type KeyScope = Pick<IdempotencyKeyEntity, 'user_id' | 'actor_type' | 'method' | 'path' | 'key_hash'>;
/** What is known of a request with this key. */
export type KeyState = Pick<IdempotencyKeyEntity, 'actor_scope' | 'request_hash' | 'status' | 'answer'>;

/** Rows that are too old, removed at each claim: more than are added. */
const sweptAtOnce = 10;

/**
 * The SQL of idempotency keys. Leases and ages are compared with the clock of the database only.
 */
@Injectable()
export class IdempotencyRepository {
  constructor(private readonly database: Database) {}

  /**
   * Claims a key that is new, too old, or whose claim is over; the latter only for the same
   * request. False when none of these.
   */
  async claim(
    scope: KeyScope,
    actor_scope: string,
    claim_id: string,
    request_hash: Buffer | null,
    lease_seconds: number,
  ): Promise<boolean> {
    const { user_id, actor_type, method, path, key_hash } = scope;
    const rows = await this.database.runPrepared(sql`insert into idempotency_keys as kept
        (user_id, actor_type, actor_scope, method, path, key_hash, request_hash, claim_id, claimed_until)
      values (${user_id}::uuid, ${actor_type}, ${actor_scope}, ${method}, ${path}, ${key_hash}::bytea,
        ${request_hash}::bytea, ${claim_id}::uuid, now() + ${lease_seconds}::integer * interval '1 second')
      on conflict (user_id, method, path, key_hash) do update
        set actor_scope = excluded.actor_scope, request_hash = excluded.request_hash, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
          status = null, answer = null, created_at = now()
      where kept.actor_type = excluded.actor_type and kept.claimed_until < now() and (kept.created_at < now() - interval '24 hours'
        or (kept.status is null and coalesce(kept.request_hash = excluded.request_hash, true)))
      returning claim_id`);
    return rows.length > 0;
  }

  /** Removes some of what is too old. */
  async sweep(): Promise<void> {
    await this.database.runPrepared(sql`delete from idempotency_keys where (user_id, method, path, key_hash) in (
      select user_id, method, path, key_hash from idempotency_keys where created_at < now() - interval '24 hours' and claimed_until < now()
      order by created_at limit ${sweptAtOnce}::integer for update skip locked)`);
  }

  /** What is known of a key, or null when it was released meanwhile. */
  async find(scope: KeyScope): Promise<KeyState | null> {
    const [row] = await this.database.runPrepared<KeyState>(
      sql`select actor_scope, request_hash, status, answer from idempotency_keys where ${isKey(scope)}`,
    );
    return row ?? null;
  }

  /** Prolongs a claim. */
  async renew(scope: KeyScope, claim_id: string, lease_seconds: number): Promise<void> {
    await this.database
      .runPrepared(sql`update idempotency_keys set claimed_until = now() + ${lease_seconds}::integer * interval '1 second'
      where ${isKey(scope)} and claim_id = ${claim_id}::uuid and status is null`);
  }

  /** Keeps the answer; false when the claim was taken over. */
  async keep(
    scope: KeyScope,
    claim_id: string,
    status: number,
    answer: string,
    request_hash: Buffer | null,
  ): Promise<boolean> {
    const rows = await this.database
      .runPrepared(sql`update idempotency_keys set status = ${status}::integer, answer = ${answer}::json,
      request_hash = coalesce(request_hash, ${request_hash}::bytea)
      where ${isKey(scope)} and claim_id = ${claim_id}::uuid returning claim_id`);
    return rows.length > 0;
  }

  /**
   * Keeps the answer of a request that is over, unless the transaction of its change has kept one.
   */
  async settle(
    scope: KeyScope,
    claim_id: string,
    status: number,
    answer: string,
    request_hash: Buffer | null,
  ): Promise<void> {
    await this.database
      .runPrepared(sql`update idempotency_keys set request_hash = coalesce(request_hash, ${request_hash}::bytea),
      answer = case when status is null then ${answer}::json else answer end, status = coalesce(status, ${status}::integer)
      where ${isKey(scope)} and claim_id = ${claim_id}::uuid`);
  }

  /**
   * Gives up a claim, unless its change was committed all the same: an answer from the database may
   * be lost on the way.
   */
  async release(scope: KeyScope, claim_id: string): Promise<void> {
    await this.database.runPrepared(
      sql`delete from idempotency_keys where ${isKey(scope)} and claim_id = ${claim_id}::uuid and status is null`,
    );
  }

  /**
   * Removes the answers to purged users, and takes those that mention them out of the rows of
   * others. The rows stay: nothing is done a second time.
   */
  async eraseUsers(user_ids: string[]): Promise<void> {
    await this.database.run(
      sql`delete from idempotency_keys where user_id = any(${user_ids}::uuid[]) and actor_type = 'user'`,
    );
    await this.database.run(sql`update idempotency_keys set answer = null
      where exists (select from unnest(${user_ids}::uuid[]) as purged (id) where strpos(answer::text, purged.id::text) > 0)`);
  }
}

function isKey({ user_id, actor_type, method, path, key_hash }: KeyScope): SqlFragment {
  return sql`(user_id = ${user_id}::uuid and actor_type = ${actor_type}::text and method = ${method}::text and path = ${path}::text and key_hash = ${key_hash}::bytea)`;
}
