import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes the hashes of other systems by form, so that a login finds the forms in use. Does not
 * block logins.
 * `password_hash_costs` and its trigger stay for instances of the previous release, which read the
 * table. The next release can drop them.
 */
export class IndexHashForms1795200062000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The build waits for earlier transactions, such as a backup.
    await runner.query('set lock_timeout = 0');
    try {
      // An interrupted build leaves an invalid index.
      await runner.query('drop index concurrently if exists credentials_forms_idx');
      await runner.query(`
        create index concurrently credentials_forms_idx on credentials (((${form}) collate "C"))
          where ${isForeign}`);
      await runner.query('drop index concurrently if exists credentials_foreign_idx');
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create index if not exists credentials_foreign_idx on credentials (user_id) where ${isForeign}`,
    );
    await runner.query('drop index if exists credentials_forms_idx');
  }
}

const isForeign = `
  password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
  and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'`;
const form = `
  case
    when password_hash like '$2%' then left(password_hash, 6)
    when password_hash like '$pbkdf2%' then '$' || split_part(password_hash, '$', 2)
    else regexp_replace(regexp_replace(password_hash, '\\$[^$]*\\$[^$]*$', ''), '([=,])0+(?=\\d)', '\\1', 'g')
  end`;
