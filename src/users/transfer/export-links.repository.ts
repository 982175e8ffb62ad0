import { Injectable } from '@nestjs/common';
import type { RawQuery } from '../../http/lists/filter';
import { sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';

/** An export that a link starts. */
export interface LinkedExport {
  session_id: string;
  /** user of the session */
  user_id: string;
  query: RawQuery;
}

/** The SQL of the links to exports. */
@Injectable()
export class ExportLinksRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the link of a session in place of its previous link, and returns the expiry. Returns
   * null if the session was removed.
   */
  async put(session_id: string, token_hash: Buffer, query: RawQuery, ttl_seconds: number): Promise<string | null> {
    const [row] = await this.database.answers.run<{ expires_at: string }>(sql`
      insert into export_links (session_id, token_hash, query, expires_at)
      select
        session_id, ${token_hash}::bytea, ${JSON.stringify(query)}::jsonb,
        now() + ${ttl_seconds}::integer * interval '1 second'
      from sessions
      where session_id = ${session_id}::uuid
      for key share
      on conflict (session_id) do update set
        token_hash = excluded.token_hash,
        query = excluded.query,
        expires_at = excluded.expires_at
      returning expires_at`);
    return row?.expires_at ?? null;
  }

  /** Deletes a link and returns its export, or null. Of parallel requests, only one gets it. */
  take(token_hash: Buffer): Promise<LinkedExport | null> {
    return this.database.find<LinkedExport>(sql`
      with used as (
        delete from export_links
        where token_hash = ${token_hash}::bytea
        returning session_id, query, expires_at
      )
      select used.session_id, sessions.user_id, used.query
      from used
      join sessions on sessions.session_id = used.session_id
      where used.expires_at > now()`);
  }

  /** Deletes the links that expired: their filters may contain personal values. */
  async removeExpired(): Promise<void> {
    await this.database.run(sql`
      delete from export_links
      where expires_at <= now()`);
  }
}
