import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds the users who are known at an address. Accounts of 36 characters are ids of users. The keyed
 * hash of a missing login has 43, and its rows must not lengthen the search. The index leaves out
 * `known_until` on purpose: each login changes it, and an update outside all indexes is cheap (HOT).
 */
export class IndexKnownAddresses1795200014000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index login_attempts_address_idx on login_attempts (address, account)
      where address <> '' and length(account) = 36`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index login_attempts_address_idx');
  }
}
