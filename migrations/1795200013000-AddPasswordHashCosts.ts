import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Stores the costs of the hashes of other systems, to which refused logins are padded.
 * The index finds these hashes among millions of hashes of the service. HashCostsRepository repeats
 * its predicate.
 * A trigger notifies every instance of changes (ADR 0010).
 */
export class AddPasswordHashCosts1795200013000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table password_hash_costs (
        computation text constraint password_hash_costs_pkey primary key,
        cost integer not null
      )`);
    await runner.query(`
      create trigger password_hash_costs_changed after insert or update or delete on password_hash_costs
      for each row execute function notify_change('password_hash_costs_changed')`);
    await runner.query(`
      create index credentials_foreign_idx on credentials (user_id)
      where password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
        and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index credentials_foreign_idx');
    await runner.query('drop table password_hash_costs');
  }
}
