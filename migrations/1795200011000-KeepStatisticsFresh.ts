import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Analyzes users and sessions after 2,000 changes.
 * If statistics were taken while all users were deleted or all sessions ended, the planner
 * considers a partial index of the others empty, and reads it completely for each lookup. By
 * default, autovacuum would analyze a million rows only after 100,000 changes.
 */
export class KeepStatisticsFresh1795200011000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['users', 'sessions'])
      await runner.query(
        `alter table ${table} set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000)`,
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['users', 'sessions'])
      await runner.query(`alter table ${table} reset (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)`);
  }
}
