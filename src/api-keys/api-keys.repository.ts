import { Injectable } from '@nestjs/common';
import type { ActiveApiKey } from '../access/actor';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import { apiKeyList } from './api-key-list';
import { activeKey, apiKeyListSql } from './api-key-list.sql';
import type { ApiKeyEntity } from './api-key.entity';
import type { ApiKeyRecord } from './api-keys.dto';

const columns = sql`keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope, ${activeKey} as active, keys.created_at,
  keys.created_by, keys.expires_at, keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by`;
/** Use is noted at most once a minute. */
const stale = rawSql(`coalesce(keys.last_used_at <= now() - interval '1 minute', true)`);
const acting = sql`keys.key_id, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions, ${stale} as stale,
  extract(epoch from keys.expires_at - now())::float8 * 1000 as ends_in_ms`;

/** A key that works. */
export interface ActiveApiKeyRecord extends ActiveApiKey {
  /** the last use was noted a while ago */
  stale: boolean;
  /** milliseconds until it expires, by the clock of the database */
  ends_in_ms: number;
}

/** A key that begins. */
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

/** The SQL of keys. */
@Injectable()
export class ApiKeysRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /**
   * The key behind a token, if it works: one read by the unique index, with every request that a
   * key sends.
   */
  async findActing(token_hash: Buffer): Promise<ActiveApiKeyRecord | null> {
    const [row] = await this.database.runPrepared<ActiveApiKeyRecord>(
      sql`select ${acting} from keys where keys.token_hash = ${token_hash}::bytea and ${activeKey}`,
    );
    return row ?? null;
  }

  /** A key that works, by its id. */
  async findActingById(key_id: string): Promise<ActiveApiKeyRecord | null> {
    const [row] = await this.database.runPrepared<ActiveApiKeyRecord>(
      sql`select ${acting} from keys where keys.key_id = ${key_id}::uuid and ${activeKey}`,
    );
    return row ?? null;
  }

  /** Notes that a key was used. Of many requests at once one does it; nobody waits for a lock. */
  async touch(key_id: string, ip: string | null): Promise<void> {
    await this.database
      .runPrepared(sql`update keys set last_used_at = now(), last_used_ip = ${ip}::inet where key_id in (
      select key_id from keys where key_id = ${key_id}::uuid and ${stale} for no key update skip locked)`);
  }

  /** Adds a key; null when it would expire at once, or in more than a year. */
  async insert(key: NewApiKey): Promise<ApiKeyRecord | null> {
    const { key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at } = key;
    const [row] = await this.database.run<ApiKeyRecord>(sql`insert into keys
        (key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at)
      select ${key_id}::uuid, ${name}::text, ${token_hash}::bytea, ${permissions}::text[], ${user_type}::text, ${carrier_id}::text, ${carrier_scope}::text[],
        ${created_by}::uuid, wanted.expires_at
      from (select ${expires_at}::timestamptz(3) as expires_at) wanted
      where wanted.expires_at > now() and wanted.expires_at <= now() + interval '1 year'
      returning ${columns}`);
    return row ?? null;
  }

  /** One key that the condition shows, or null. */
  async find(key_id: string, visible: SqlFragment): Promise<ApiKeyRecord | null> {
    const [row] = await this.database.run<ApiKeyRecord>(
      sql`select ${columns} from keys where keys.key_id = ${key_id}::uuid and ${visible}`,
    );
    return row ?? null;
  }

  /** One page of what the condition shows and the caller's query finds. */
  async list(visible: SqlFragment, query: RawQuery, caller_id: string): Promise<Page<ApiKeyRecord>> {
    const parsed = parseListQuery(query, apiKeyList, caller_id, this.cursors);
    return readPage<ApiKeyRecord>(this.database, { ...apiKeyListSql, columns, visible }, parsed, this.cursors);
  }

  /** Revokes a key; false when it was revoked before. */
  async revoke(key_id: string, revoked_by: string | null): Promise<boolean> {
    const rows = await this.database.run(sql`update keys set revoked_at = now(), revoked_by = ${revoked_by}::uuid
      where key_id = ${key_id}::uuid and revoked_at is null returning key_id`);
    return rows.length > 0;
  }
}
