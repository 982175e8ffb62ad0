import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Number of rows that one short transaction copies. */
const batchMax = 5_000;
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Copies the existing rows to the tables of `AddUserActivity` and `AddSessionSearch`, and builds
 * their indexes. Runs outside a transaction, so that no statement blocks requests. After
 * an interruption, the next attempt skips rows and indexes that exist.
 */
export class FillActivityTables1795200028000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await copyAll(runner, userBatch);
    await copyAll(runner, sessionBatch);
    // A concurrent build blocks no writes but waits for all older transactions, such as exports.
    await runner.query('set lock_timeout = 0');
    try {
      for (const [name, definition] of Object.entries(indexes)) await build(runner, name, definition);
    } finally {
      await runner.query('reset lock_timeout');
    }
    for (const table of ['user_seen', 'user_logins', 'session_search']) await runner.query(`analyze ${table}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const name of Object.keys(indexes)) await runner.query(`drop index ${name}`);
  }
}

const indexes: Record<string, string> = {
  user_seen_last_seen_at_idx: 'user_seen (last_seen_at, user_id)',
  user_logins_last_login_at_idx: 'user_logins (last_login_at, user_id)',
  user_logins_last_login_ip_idx: 'user_logins (last_login_ip)',
  session_search_user_id_created_at_idx: 'session_search (user_id, created_at)',
  session_search_carrier_id_created_at_idx: 'session_search (carrier_id, created_at)',
  session_search_created_at_idx: 'session_search (created_at, session_id)',
  session_search_ip_idx: 'session_search (ip)',
  session_search_user_agent_idx: 'session_search (user_agent)',
  // Serves the foreign key and the live sessions of a user.
  sessions_user_id_idx: 'sessions (user_id, ended_at, expires_at)',
};

/**
 * Locks the users, so that no older instance changes their activity before the copy is committed.
 * A user may have one of the two rows: an older instance has noted an activity, but no login.
 * Locks in the order of ids, as all other statements do.
 */
const userBatch = `
  with batch as (
    select user_id, last_seen_at, last_login_at, last_login_ip
    from users
    where user_id > $1
      and not exists (
        select
        from user_seen
        join user_logins on user_logins.user_id = user_seen.user_id
        where user_seen.user_id = users.user_id
      )
    order by user_id
    limit $2
    for no key update
  ),
  logins as (
    insert into user_logins (user_id, last_login_at, last_login_ip)
    select user_id, last_login_at, last_login_ip
    from batch
    on conflict do nothing
  ),
  seen as (
    insert into user_seen (user_id, last_seen_at)
    select user_id, last_seen_at
    from batch
    on conflict do nothing
  )
  select user_id as id
  from batch
  order by user_id desc
  limit 1`;

/** Locks the sessions, so that no session is deleted before its copy is committed. */
const sessionBatch = `
  with batch as (
    select session_id, user_id, carrier_id, created_at, ip, user_agent
    from sessions
    where session_id > $1
      and not exists (select from session_search where session_search.session_id = sessions.session_id)
    order by session_id
    limit $2
    for key share
  ),
  copied as (
    insert into session_search (session_id, user_id, carrier_id, created_at, ip, user_agent)
    select session_id, user_id, carrier_id, created_at, ip, user_agent
    from batch
    on conflict do nothing
  )
  select session_id as id
  from batch
  order by session_id desc
  limit 1`;

async function copyAll(runner: QueryRunner, batch: string): Promise<void> {
  for (let last: string | undefined = firstId; last !== undefined;) {
    const rows = (await runner.query(batch, [last, batchMax])) as { id: string }[];
    last = rows[0]?.id;
  }
}

/** Builds an index, also in place of the invalid index that an interrupted build leaves behind. */
async function build(runner: QueryRunner, name: string, definition: string): Promise<void> {
  const found = (await runner.query(
    `select 1 from pg_index where indexrelid = to_regclass('${name}') and indisvalid`,
  )) as unknown[];
  if (found.length > 0) return;
  await runner.query(`drop index concurrently if exists ${name}`);
  await runner.query(`create index concurrently ${name} on ${definition}`);
}
