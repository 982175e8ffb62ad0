import { Injectable } from '@nestjs/common';
import { sql, type SqlFragment } from '../lists/sql';
import { Database } from '../../platform/database/database';
import type { IdempotencyKeyEntity } from './idempotency-key.entity';

/** Identifies a key: its caller, its operation and its hash. */
export type KeyScope = Pick<IdempotencyKeyEntity, 'user_id' | 'actor_type' | 'method' | 'path' | 'key_hash'>;
interface NewReservation extends KeyScope {
  actor_scope: string;
  reservation_id: string;
}
/** The stored request and response of a key. */
export type KeyState = Pick<IdempotencyKeyEntity, 'actor_scope' | 'request_hash' | 'status' | 'answer'>;

/**
 * Number of expired rows to delete per reservation. More than one, so that they do not accumulate.
 */
const sweptAtOnce = 10;

/** SQL of the idempotency keys. All times are compared with the clock of the database. */
@Injectable()
export class IdempotencyRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reserves a key that is new or expired, or whose reservation expired for the same request.
   * Returns false if the key is taken.
   */
  async reserve(
    { user_id, actor_type, method, path, key_hash, actor_scope, reservation_id }: NewReservation,
    request_hash: Buffer | null,
    lease_seconds: number,
  ): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into idempotency_keys as kept (
        user_id, actor_type, actor_scope, method, path, key_hash,
        request_hash, claim_id, claimed_until
      )
      values (
        ${user_id}::uuid, ${actor_type}::text, ${actor_scope}::text, ${method}::text, ${path}::text,
        ${key_hash}::bytea, ${request_hash}::bytea, ${reservation_id}::uuid,
        now() + ${lease_seconds}::integer * interval '1 second'
      )
      on conflict (user_id, method, path, key_hash) do update
      set actor_scope = excluded.actor_scope,
        request_hash = excluded.request_hash,
        claim_id = excluded.claim_id,
        claimed_until = excluded.claimed_until,
        status = null,
        answer = null,
        created_at = now()
      where kept.actor_type = excluded.actor_type
        and kept.claimed_until < now()
        and (
          kept.created_at < now() - interval '24 hours'
          or (kept.status is null and coalesce(kept.request_hash = excluded.request_hash, true))
        )
      returning claim_id`);
    return rows.length > 0;
  }

  /** Deletes some expired rows. */
  async sweep(): Promise<void> {
    await this.database.runPrepared(sql`
      delete from idempotency_keys
      where (user_id, method, path, key_hash) in (
        select user_id, method, path, key_hash
        from idempotency_keys
        where created_at < now() - interval '24 hours' and claimed_until < now()
        order by created_at
        limit ${sweptAtOnce}::integer
        for update skip locked
      )`);
  }

  /** Returns the state of a key, or null if the key was released meanwhile. */
  find(scope: KeyScope): Promise<KeyState | null> {
    return this.database.findPrepared<KeyState>(sql`
      select actor_scope, request_hash, status, answer
      from idempotency_keys
      where ${isKey(scope)}`);
  }

  async renew(scope: KeyScope, reservation_id: string, lease_seconds: number): Promise<void> {
    await this.database.runPrepared(sql`
      update idempotency_keys
      set claimed_until = now() + ${lease_seconds}::integer * interval '1 second'
      where ${isKey(scope)} and claim_id = ${reservation_id}::uuid and status is null`);
  }

  /**
   * Stores the response. Returns false if another process took the request over.
   * @param replace replaces a response that the transaction of the request stored
   */
  async keep(
    scope: KeyScope,
    reservation_id: string,
    { status, answer, replace }: { status: number; answer: string; replace: boolean },
    request_hash: Buffer | null,
  ): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      update idempotency_keys
      set request_hash = coalesce(request_hash, ${request_hash}::bytea),
        answer = case when ${replace}::boolean or status is null then ${answer}::json else answer end,
        status = case when ${replace}::boolean or status is null then ${status}::integer else status end
      where ${isKey(scope)} and claim_id = ${reservation_id}::uuid
      returning claim_id`);
    return rows.length > 0;
  }

  /**
   * Releases a reservation. Keeps it if the change was committed after all: the response of the
   * database to a commit may be lost.
   */
  async release(scope: KeyScope, reservation_id: string): Promise<void> {
    await this.database.runPrepared(sql`
      delete from idempotency_keys
      where ${isKey(scope)} and claim_id = ${reservation_id}::uuid and status is null`);
  }

  /**
   * Deletes the rows of purged users, and clears the responses to other callers that contain their
   * ids. The rows of other callers remain, so that no request is carried out a second time.
   */
  async eraseUsers(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      delete from idempotency_keys
      where user_id = any(${user_ids}::uuid[]) and actor_type = 'user'`);
    await this.database.run(sql`
      update idempotency_keys
      set answer = null
      where exists (
        select
        from unnest(${user_ids}::uuid[]) as purged (id)
        where strpos(answer::text, purged.id::text) > 0
      )`);
  }
}

function isKey({ user_id, actor_type, method, path, key_hash }: KeyScope): SqlFragment {
  return sql`(
    user_id = ${user_id}::uuid
    and actor_type = ${actor_type}::text
    and method = ${method}::text
    and path = ${path}::text
    and key_hash = ${key_hash}::bytea
  )`;
}
