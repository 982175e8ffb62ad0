import type { MigrationInterface, QueryRunner } from 'typeorm';

const added = ['sessions_expires_at_idx', 'sessions_ip_idx', 'sessions_user_agent_idx', 'sessions_ended_reason_idx'];

/**
 * Adds indexes for a million ended sessions. The index of `ended_reason` contains ended sessions
 * only, so that live sessions do not update it.
 */
export class KeepSessions1795200008000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index sessions_expires_at_idx on sessions (expires_at, session_id)');
    await runner.query('create index sessions_ip_idx on sessions (ip)');
    await runner.query('create index sessions_user_agent_idx on sessions (user_agent)');
    await runner.query(
      'create index sessions_ended_reason_idx on sessions (ended_reason, created_at) where ended_reason is not null',
    );
    // Expired sessions are not marked as ended: `expires_at` in the index tells them from live
    // ones.
    await runner.query('drop index sessions_live_user_id_idx');
    await runner.query(
      'create index sessions_live_user_id_idx on sessions (user_id, expires_at) where ended_at is null',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index ${added.join(', ')}, sessions_live_user_id_idx`);
    await runner.query('create index sessions_live_user_id_idx on sessions (user_id) where ended_at is null');
  }
}
