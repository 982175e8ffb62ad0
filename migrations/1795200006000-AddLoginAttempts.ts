import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the counters of wrong passwords. `used_on` is a date, so that only the first attempt of a
 * day updates its index.
 */
export class AddLoginAttempts1795200006000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table login_attempts (
        account text not null,
        address text not null,
        failures integer not null default 0,
        pending jsonb not null default '{}',
        locked_until timestamptz(3),
        known_until timestamptz(3),
        used_on date not null,
        constraint login_attempts_pkey primary key (account, address)
      ) with (fillfactor = 70);
      create index login_attempts_used_on_idx on login_attempts (used_on);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table login_attempts');
  }
}
