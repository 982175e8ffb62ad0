import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Most rows of these tables may be deleted users and ended sessions. Statistics taken while they
 * all were make the planner believe that an index of the living is empty, and look up each user and
 * session by reading it whole; of a million rows autovacuum would wait for 100,000 changes to look
 * again.
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
