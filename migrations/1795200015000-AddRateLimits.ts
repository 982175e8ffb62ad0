import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the shared rate limits. The rows change often and exist for about a day at most. */
export class AddRateLimits1795200015000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table rate_limits (
        key bytea not null,
        hits integer not null,
        ends_at timestamptz(3) not null,
        constraint rate_limits_pkey primary key (key)
      ) with (fillfactor = 70);
      create index rate_limits_ends_at_idx on rate_limits (ends_at);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table rate_limits');
  }
}
