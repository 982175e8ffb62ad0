import { Injectable } from '@nestjs/common';
import type { ActiveApiKey } from '../actor';
import type { Scope } from '../scope';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { activeKey, apiKeyListSql, visibleKeys } from './api-key-list.sql';
import type { ApiKeyEntity } from './api-key.entity';
import type { ApiKeyRecord } from './api-keys.dto';

const columns = sql`
  keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope,
  ${activeKey} as active, keys.created_at, keys.created_by, keys.expires_at,
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at`;
/** Limits the record of the last use to one write per minute. */
const stale = rawSql(`coalesce(keys.last_used_at <= now() - interval '1 minute', true)`);
const activeColumns = sql`
  keys.key_id, keys.created_by, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions, keys.expires_at,
  ${stale} as stale,
  extract(epoch from keys.expires_at - now())::float8 * 1000 as expires_in_ms`;

/** An active API key as read from the database. */
export interface ActiveApiKeyRecord extends ActiveApiKey {
  /** whether the last use was recorded more than a minute ago */
  stale: boolean;
  /** milliseconds until the key expires, by the clock of the database */
  expires_in_ms: number;
}

/** The values of a new API key. */
export type NewApiKey = Pick<
  ApiKeyEntity,
  | 'key_id'
  | 'name'
  | 'token_hash'
  | 'permissions'
  | 'user_type'
  | 'carrier_id'
  | 'carrier_scope'
  | 'created_by'
  | 'expires_at'
>;

/** An active API key of a user. */
export type CreatedKey = Pick<ApiKeyEntity, 'key_id' | 'name' | 'created_at' | 'permissions'>;

/** The SQL of API keys. */
@Injectable()
export class ApiKeysRepository {
  constructor(private readonly database: Database) {}

  /** Returns the active key with a token hash, or null. Reads by the unique index. */
  async findActive(token_hash: Buffer): Promise<ActiveApiKeyRecord | null> {
    const [row] = await this.database.runPrepared<ActiveApiKeyRecord>(sql`
      select ${activeColumns}
      from keys
      where keys.token_hash = ${token_hash}::bytea and ${activeKey}`);
    return row ?? null;
  }

  /** Returns the active key with an id, or null. */
  async findActiveById(key_id: string): Promise<ActiveApiKeyRecord | null> {
    const [row] = await this.database.runPrepared<ActiveApiKeyRecord>(sql`
      select ${activeColumns}
      from keys
      where keys.key_id = ${key_id}::uuid and ${activeKey}`);
    return row ?? null;
  }

  /** Records a use of a key. Without `ip`, keeps the last address. Skips a row that is locked. */
  async touch(key_id: string, ip: string | null): Promise<void> {
    await this.database.runPrepared(sql`
      update keys
      set last_used_at = now(), last_used_ip = coalesce(${ip}::inet, last_used_ip)
      where key_id in (
        select key_id
        from keys
        where key_id = ${key_id}::uuid and ${stale}
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
  async insert(key: NewApiKey, session_id: string | null): Promise<ApiKeyRecord | null> {
    const { key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at } = key;
    const [row] = await this.database.run<ApiKeyRecord>(sql`
      insert into keys (
        key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at
      )
      select
        ${key_id}::uuid, ${name}::text, ${token_hash}::bytea, ${permissions}::text[], ${user_type}::text,
        ${carrier_id}::text, ${carrier_scope}::text[], ${created_by}::uuid, requested.expires_at
      from (select ${expires_at}::timestamptz(3) as expires_at) requested, sessions
      where requested.expires_at > now() and requested.expires_at <= now() + interval '1 year'
        and sessions.session_id = ${session_id}::uuid and sessions.ended_at is null
      for no key update of sessions
      returning ${columns}`);
    return row ?? null;
  }

  /** Returns a key within the scope, or null. */
  async find(key_id: string, scope: Scope): Promise<ApiKeyRecord | null> {
    const [row] = await this.database.run<ApiKeyRecord>(sql`
      select ${columns}
      from keys
      where keys.key_id = ${key_id}::uuid and ${visibleKeys(scope)}`);
    return row ?? null;
  }

  /** Returns one page of the keys within a scope that match a query. */
  list(scope: Scope, query: ListQuery): Promise<Page<ApiKeyRecord>> {
    const source = { ...apiKeyListSql, columns, visible: visibleKeys(scope) };
    return readPage<ApiKeyRecord>(this.database, source, query);
  }

  /** Lists the active keys that a user created, newest first. */
  listCreated(user_id: string): Promise<CreatedKey[]> {
    return this.database.run<CreatedKey>(sql`
      select keys.key_id, keys.name, keys.created_at, keys.permissions
      from keys
      where keys.created_by = ${user_id}::uuid and ${activeKey}
      order by keys.created_at desc, keys.key_id desc`);
  }

  /** Suspends keys. */
  async suspend(key_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update keys
      set suspended_at = now()
      where key_id = any(${key_ids}::uuid[])`);
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
