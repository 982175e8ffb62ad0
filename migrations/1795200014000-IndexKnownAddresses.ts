import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes the users who are known at an address.
 * Accounts of 36 characters are user ids. Keyed hashes of missing logins have 43 characters and
 * would only make the index larger. The index leaves out `known_until`, because each login updates
 * it: a column outside all indexes allows heap-only tuple (HOT) updates.
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
