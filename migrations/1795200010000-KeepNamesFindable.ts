import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * While the statistics know of hardly any user who is not deleted, as after all were, every index
 * of those looks alike to the planner, and to look up each of 5,000 names it would read another one
 * from end to end. No time is beyond infinity: whoever asks with these words, which change nothing,
 * can only be led to the index that has them; whoever asks without them finds it as before.
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
