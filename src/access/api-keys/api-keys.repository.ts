import { Injectable } from '@nestjs/common';
import type { ActiveApiKey } from '../actor';
import type { Scope } from '../scope';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { activeKey, apiKeyListSql, visibleKeys } from './api-key-list.sql';
import type { ApiKeyEntity } from './api-key.entity';
import type { ApiKeyRecord } from './api-keys.dto';

const columns = sql`
  keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope,
  ${activeKey} as active, keys.created_at, keys.created_by, keys.expires_at,
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at,
  case when keys.previous_until > now() then keys.previous_until end as previous_until,
  case when keys.previous_until > now() then keys.previous_last_used_at end as previous_last_used_at`;
const activeColumns = sql`
  keys.key_id, keys.created_by, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions`;
const inOneYear = sql`requested.expires_at > now() and requested.expires_at <= now() + interval '1 year'`;

/** An active API key as read from the database. */
export interface ActiveApiKeyRecord extends ActiveApiKey {
  /** whether the secret is the one before the last rotation */
  is_previous: boolean;
  /** whether the last use of the secret was recorded more than a minute ago */
  stale: boolean;
  /** milliseconds until the secret expires, by the clock of the database */
  expires_in_ms: number;
}

/** The values of a new API key. */
export type NewApiKey = ActiveApiKey & Pick<ApiKeyEntity, 'name' | 'token_hash'>;

/** An active API key with a secret that a user received. */
export interface ReceivedKey extends Pick<ApiKeyEntity, 'key_id' | 'name' | 'permissions'> {
  /** time of the creation, or of the last rotation by the user */
  received_at: Date;
}

/** The new values of a rotated API key; the time of expiry stays if it is null. */
export type RotatedKey = Pick<ApiKeyEntity, 'key_id' | 'token_hash' | 'rotated_by'> & { expires_at: Date | null };

/** The SQL of API keys. */
@Injectable()
export class ApiKeysRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the active key with the hash of its secret or of a previous secret that still works, or
   * null. Reads by the unique indexes. `expires_at` is the time at which the secret expires.
   */
  findActive(hash: Buffer): Promise<ActiveApiKeyRecord | null> {
    return this.database.findPrepared<ActiveApiKeyRecord>(sql`
      select
        ${activeColumns}, secret.expires_at, secret.is_previous,
        ${stale(rawSql('secret.is_previous'))} as stale,
        extract(epoch from secret.expires_at - now())::float8 * 1000 as expires_in_ms
      from keys
      cross join lateral (
        select
          keys.token_hash <> ${hash}::bytea as is_previous,
          case
            when keys.token_hash <> ${hash}::bytea then least(keys.expires_at, keys.previous_until)
            else keys.expires_at
          end as expires_at
      ) secret
      where (keys.token_hash = ${hash}::bytea or keys.previous_hash = ${hash}::bytea)
        and ${activeKey}
        and secret.expires_at > now()`);
  }

  findActiveById(key_id: string): Promise<ActiveApiKey | null> {
    return this.database.findPrepared<ActiveApiKey>(sql`
      select ${activeColumns}, keys.expires_at
      from keys
      where keys.key_id = ${key_id}::uuid and ${activeKey}`);
  }

  /**
   * Records a use of a key, at most once a minute for each secret. Without `ip`, keeps the last
   * address. Skips a row that is locked.
   */
  async touch(key_id: string, ip: string | null, is_previous: boolean): Promise<void> {
    await this.database.runPrepared(sql`
      update keys
      set
        last_used_at = now(),
        last_used_ip = coalesce(${ip}::inet, last_used_ip),
        previous_last_used_at = case when ${is_previous}::boolean then now() else previous_last_used_at end
      where key_id in (
        select key_id
        from keys
        where key_id = ${key_id}::uuid and ${stale(sql`${is_previous}::boolean`)}
        for no key update skip locked
      )`);
  }

  /** Returns whether a portal used its key from a network within the last day. */
  async hasPortalWithin(network: string): Promise<boolean> {
    const [row] = await this.database.run<{ found: boolean }>(sql`
      select exists (
        select
        from keys
        where ${activeKey}
          and keys.permissions && '{login:forward,*}'
          and keys.last_used_at > now() - interval '1 day'
          and keys.last_used_ip <<= ${network}::inet
      ) as found`);
    return row?.found === true;
  }

  /**
   * Inserts a key. Returns null if it would expire in the past or in more than a year, or if the
   * session ended. The lock of the session lets `secure` find the key (R40).
   */
  insert(key: NewApiKey, session_id: string | null): Promise<ApiKeyRecord | null> {
    const { key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at } = key;
    return this.database.find<ApiKeyRecord>(sql`
      insert into keys (
        key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at
      )
      select
        ${key_id}::uuid, ${name}::text, ${token_hash}::bytea, ${permissions}::text[], ${user_type}::text,
        ${carrier_id}::text, ${carrier_scope}::text[], ${created_by}::uuid, requested.expires_at
      from (select ${expires_at}::timestamptz(3) as expires_at) requested, sessions
      where ${inOneYear}
        and sessions.session_id = ${session_id}::uuid and sessions.ended_at is null
      for no key update of sessions
      returning ${columns}`);
  }

  /** Returns a key within the scope, or null. */
  find(key_id: string, scope: Scope): Promise<ApiKeyRecord | null> {
    return this.database.find<ApiKeyRecord>(sql`
      select ${columns}
      from keys
      where keys.key_id = ${key_id}::uuid and ${visibleKeys(scope)}`);
  }

  /** Returns one page of the keys within a scope that match a query. */
  list(scope: Scope, query: ListQuery): Promise<Page<ApiKeyRecord>> {
    const source = { ...apiKeyListSql, columns, visible: visibleKeys(scope) };
    return readPage<ApiKeyRecord>(this.database, source, query);
  }

  /**
   * Lists the active keys that a user created or was the last to rotate, newest first, and those
   * whose previous secret, which still works, the user received by a rotation.
   */
  listReceived(user_id: string): Promise<ReceivedKey[]> {
    return this.database.run<ReceivedKey>(sql`
      select keys.key_id, keys.name, keys.permissions, received.at as received_at
      from keys
      cross join lateral (
        select max(at) as at
        from (
          select keys.created_at as at
          where keys.created_by = ${user_id}::uuid
          union all
          select keys.rotated_at
          where keys.rotated_by = ${user_id}::uuid
          union all
          select occurred_at
          from events
          where keys.previous_until > now()
            and event_type = 'key.rotated'
            and target_id = keys.key_id
            and actor_id = ${user_id}::uuid
        ) receipts
      ) received
      where received.at is not null and ${activeKey}
      order by received_at desc, keys.key_id desc`);
  }

  /**
   * Replaces the secret of an active key. The old secret works for a number of seconds, but not
   * longer than without the rotation. Returns null if the key is not active, if it would expire in
   * the past or in more than a year, or if the session ended. The lock of the session lets `secure`
   * find the key (R40).
   */
  rotate(
    { key_id, token_hash, expires_at, rotated_by }: RotatedKey,
    keep_old_seconds: number,
    session_id: string | null,
  ): Promise<ApiKeyRecord | null> {
    return this.database.find<ApiKeyRecord>(sql`
      update keys
      set
        token_hash = ${token_hash}::bytea,
        previous_hash = case when ${keep_old_seconds}::integer > 0 then keys.token_hash end,
        previous_until = case
          when ${keep_old_seconds}::integer > 0
            then least(keys.expires_at, now() + ${keep_old_seconds}::integer * interval '1 second')
        end,
        previous_last_used_at = null,
        expires_at = coalesce(requested.expires_at, keys.expires_at),
        rotated_at = now(),
        rotated_by = ${rotated_by}::uuid
      from
        (select ${expires_at}::timestamptz(3) as expires_at) requested,
        (
          select session_id
          from sessions
          where session_id = ${session_id}::uuid and ended_at is null
          for no key update
        ) session
      where keys.key_id = ${key_id}::uuid
        and ${activeKey}
        and (requested.expires_at is null or ${inOneYear})
      returning ${columns}`);
  }

  async suspend(key_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update keys
      set suspended_at = now()
      where key_id = any(${key_ids}::uuid[])`);
  }

  /** Suspends all active keys, and returns their number. */
  async suspendAll(): Promise<number> {
    const rows = await this.database.run(sql`
      update keys
      set suspended_at = now()
      where ${activeKey}
      returning key_id`);
    return rows.length;
  }

  /**
   * Resumes a key. Returns false if it was not suspended, or if the session ended. The lock of the
   * session lets `secure` find the key (R40).
   */
  async resume(key_id: string, session_id: string | null): Promise<boolean> {
    const rows = await this.database.run(sql`
      update keys
      set suspended_at = null
      from (
        select session_id
        from sessions
        where session_id = ${session_id}::uuid and ended_at is null
        for no key update
      ) session
      where key_id = ${key_id}::uuid and suspended_at is not null and revoked_at is null
      returning key_id`);
    return rows.length > 0;
  }

  /** Revokes a key. Returns false if it was revoked before. */
  async revoke(key_id: string, revoked_by: string | null): Promise<boolean> {
    const rows = await this.database.run(sql`
      update keys
      set revoked_at = now(), revoked_by = ${revoked_by}::uuid
      where key_id = ${key_id}::uuid and revoked_at is null
      returning key_id`);
    return rows.length > 0;
  }
}

/** Renders whether the last use of a secret was recorded more than a minute ago. */
function stale(isPrevious: SqlFragment): SqlFragment {
  return sql`coalesce(
          case when ${isPrevious} then keys.previous_last_used_at else keys.last_used_at end
            <= now() - interval '1 minute',
          true
        )`;
}
