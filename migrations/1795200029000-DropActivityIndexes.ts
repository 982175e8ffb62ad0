import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Drops the indexes that `FillActivityTables` replaces, without blocking writes. */
export class DropActivityIndexes1795200029000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('set lock_timeout = 0');
    try {
      for (const name of Object.keys(dropped)) await runner.query(`drop index concurrently if exists ${name}`);
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name, definition] of Object.entries(dropped))
      await runner.query(`create index ${name} on ${definition}`);
  }
}

const dropped: Record<string, string> = {
  users_last_login_at_idx: 'users (last_login_at, user_id) where deleted_at is null',
  users_last_login_ip_idx: 'users (last_login_ip) where deleted_at is null',
  users_last_seen_at_idx: 'users (last_seen_at, user_id) where deleted_at is null',
  sessions_user_id_created_at_idx: 'sessions (user_id, created_at)',
  sessions_carrier_id_created_at_idx: 'sessions (carrier_id, created_at)',
  sessions_created_at_idx: 'sessions (created_at, session_id)',
  sessions_ip_idx: 'sessions (ip)',
  sessions_user_agent_idx: 'sessions (user_agent)',
  sessions_live_user_id_idx: 'sessions (user_id, expires_at) where ended_at is null',
};
