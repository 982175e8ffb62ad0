import { Injectable } from '@nestjs/common';
import type { Client, DatabaseError } from 'pg';
import { rawSql, sql } from '../../http/lists/sql';
import { isRestoring } from '../instance';
import { StartFault } from '../start-fault';
import { Database } from './database';
import type { StartLog } from './migration-lock';

/** Reports that the database was restored, and that `after-restore` must run first. */
export class RestoredFault extends StartFault {
  constructor(what: string) {
    super(
      `The database ${what}. What was ended since may be valid again. Run \`npm run cli -- after-restore\` ` +
        '(in the image: node dist/src/cli/cli.js after-restore), see docs/backup.md.',
    );
  }
}

/** The server, as an ordinary role may read it. A standby has no timeline of its own. */
const serverSql = `
      select
        system_identifier::text,
        case when not pg_is_in_recovery()
          then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
        end as timeline,
        concat_ws(
          ' ',
          nullif(current_setting('recovery_target'), ''), nullif(current_setting('recovery_target_lsn'), ''),
          nullif(current_setting('recovery_target_name'), ''), nullif(current_setting('recovery_target_time'), ''),
          nullif(current_setting('recovery_target_xid'), '')
        ) as recovery_target
      from pg_control_system()`;
const lastChangeSql = `
      select coalesce(pg_last_xact_replay_timestamp(), max(occurred_at)) as at, now() as now
      from events`;
/** Some managed servers deny the functions that tell servers apart. */
const denied = /^(42501|42883|0A000)$/;
/** A failover takes less. */
const failoverMaxMs = 15 * 60_000;

interface Server {
  system_identifier: string;
  timeline: number | null;
  recovery_target: string;
}

/**
 * Compares the server with the one that the database is known on, and records a failover. Returns
 * the id of the history of the database, which a restore ends.
 * A copy has another system identifier. A restore to a point and a failover begin a new timeline,
 * but only a restore has a recovery target that is not known.
 * @throws RestoredFault
 */
export async function checkServer(client: Client, log: Pick<StartLog, 'warn'>): Promise<string> {
  const [server] = await client.query<Server>(serverSql).then(
    ({ rows }) => rows,
    ({ code, message }: DatabaseError) => {
      if (!denied.test(code ?? '')) throw new Error(message);
      return [];
    },
  );
  const known = await client.query<Server & { history_id: string }>('select * from database_server');
  const [record] = known.rows;
  if (server === undefined || server.timeline === null) return record?.history_id ?? '';
  const { system_identifier, timeline, recovery_target } = server;
  if (record === undefined) {
    await client.query(
      `insert into database_server (system_identifier, timeline, recovery_target)
      values ($1, $2, $3)
      on conflict do nothing`,
      [system_identifier, timeline, recovery_target],
    );
    return checkServer(client, log);
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
  async accept(nothingLost: boolean): Promise<void> {
    await this.database.run(
      sql`select set_config('lock_timeout', '60s', true), set_config('statement_timeout', '90s', true)`,
    );
    await this.database.run(sql`select feed_continue()`);
    await this.database.run(sql`
      with accepted as (
        update database_server
        set
          system_identifier = server.system_identifier,
          timeline = server.timeline,
          recovery_target = coalesce(nullif(server.recovery_target, ''), database_server.recovery_target),
          history_id = case when ${nothingLost}::boolean then history_id else gen_random_uuid() end
        from (${rawSql(serverSql)}) server
        returning history_id
      )
      select pg_notify('database_restored', history_id::text)
      from accepted`);
  }
}
