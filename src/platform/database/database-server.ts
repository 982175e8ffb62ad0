import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Client } from 'pg';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { isRestoring } from '../instance';
import { StartFault } from '../start-fault';
import { Database } from './database';
import type { StartLog } from './migration-lock';

/** Reports that the database was restored, and that `after-restore` must run first. */
export class RestoredFault extends StartFault {
  constructor(what: string) {
    super(
      `The database ${what}. Ended sessions and keys may be valid again. Run \`npm run cli -- after-restore\` ` +
        '(in the image: node dist/src/cli/cli.js after-restore), see docs/backup.md.',
    );
  }
}

const lastChangeSql = `
      select coalesce(pg_last_xact_replay_timestamp(), max(occurred_at)) as at, now() as now
      from events`;
/** A failover takes less. */
const failoverMaxMs = 15 * 60_000;

interface Server {
  system_identifier: string;
  timeline: number | null;
  recovery_target: string;
}

interface Recorded extends Server {
  history_id: string;
}

/**
 * Compares the server with the recorded one, and records a failover. Returns the id of the history
 * of the database, which a restore ends.
 * A copy has another system identifier. A restore to a point and a failover begin a new timeline,
 * but only a restore has a recovery target that is not known.
 * @throws RestoredFault
 */
export async function checkServer(client: Client, log: Pick<StartLog, 'warn'>): Promise<string> {
  const [server] = (await client.query<Server>('select * from current_server()')).rows;
  const [record] = (await client.query<Recorded>('select * from database_server')).rows;
  if (!server?.timeline) return record?.history_id ?? '';
  const { system_identifier, timeline, recovery_target } = server;
  if (!record?.system_identifier) {
    const { rows } = await client.query<Recorded>(recordSql(rawSql('database_server.history_id')).toQuery().text);
    return rows[0]?.history_id ?? '';
  }
  if (isRestoring) return record.history_id;
  if (system_identifier !== record.system_identifier)
    throw new RestoredFault('was copied to another server, from a dump or with pg_upgrade');
  if (timeline === record.timeline) return record.history_id;
  if (recovery_target !== '' && recovery_target !== record.recovery_target)
    throw new RestoredFault(`was restored to ${recovery_target}`);
  // A server that was restored once keeps its target, and may become the primary again.
  await client.query('update database_server set timeline = $1', [timeline]);
  const { rows } = await client.query<{ at: Date | null; now: Date }>(lastChangeSql);
  const [last] = rows;
  if (last?.at && last.now.getTime() - last.at.getTime() > failoverMaxMs)
    log.warn(
      `database: timeline ${timeline} continues after ${last.at.toISOString()}. ` +
        'If it was restored from a backup, run `npm run cli -- after-restore` (docs/backup.md)',
    );
  return record.history_id;
}

/** Accepts the server that `checkServer` rejects. */
@Injectable()
export class DatabaseServer {
  constructor(private readonly database: Database) {}

  /**
   * Records the server, and lets the change feed continue on it. Instances learn of a new history
   * at commit.
   * @param nothingLost keeps the history, so that cursors stay valid
   */
  @Transactional()
  async accept(nothingLost: boolean): Promise<void> {
    await this.database.run(
      sql`select set_config('lock_timeout', '60s', true), set_config('statement_timeout', '90s', true)`,
    );
    await this.database.run(sql`select feed_continue()`);
    await this.database.run(sql`
      with accepted as (${recordSql(nothingLost ? rawSql('database_server.history_id') : rawSql('gen_random_uuid()'))})
      select pg_notify('database_restored', history_id::text)
      from accepted`);
  }
}

/** Renders the statement that records the server. A server that was restored keeps its target. */
function recordSql(history: SqlFragment): SqlFragment {
  return sql`
      insert into database_server (system_identifier, timeline, recovery_target)
      select system_identifier, timeline, recovery_target
      from (select) always
      left join current_server() on true
      on conflict (only_row) do update set
        system_identifier = excluded.system_identifier,
        timeline = excluded.timeline,
        recovery_target = coalesce(nullif(excluded.recovery_target, ''), database_server.recovery_target),
        history_id = ${history}
      returning history_id`;
}
