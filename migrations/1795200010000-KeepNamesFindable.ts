import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds an impossible timestamp to the predicate of each unique index, one per index.
 * While stale statistics count almost no undeleted users, all partial indexes have the same cost
 * for the planner: it may look up each of 5,000 names by reading another index completely. A query
 * with the same impossible condition can use only the index that contains it. Other queries still
 * can use the index.
 */
export class KeepNamesFindable1795200010000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await replace(runner, 'name', `deleted_at is null or deleted_at > 'infinity'`);
    await replace(runner, 'email', `deleted_at is null or deleted_at < '-infinity'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const column of ['name', 'email']) await replace(runner, column, 'deleted_at is null');
  }
}

async function replace(runner: QueryRunner, column: string, condition: string): Promise<void> {
  await runner.query(`drop index users_${column}_key`);
  await runner.query(`create unique index users_${column}_key on users (lower(${column})) where ${condition}`);
}
