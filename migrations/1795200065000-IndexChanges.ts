import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A partition of the audit log and the name of its index, as SQL writes them. */
interface Month {
  name: string;
  index: string;
}

/**
 * Adds the index of the change feed: events about users, sessions, roles and API keys in the order
 * of their transactions. The index contains no logins, so that a login writes no more than before.
 * Builds the index of each month without blocking logins.
 */
export class IndexChanges1795200065000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const months = (await runner.query(`
      select quote_ident(relname) as name, quote_ident(relname || '_changes_idx') as index
      from pg_inherits
      join pg_class on pg_class.oid = inhrelid
      where inhparent = 'events'::regclass
      order by relname`)) as Month[];
    // The build waits for earlier transactions, such as a backup.
    await runner.query('set lock_timeout = 0');
    try {
      for (const month of months) await this.buildOn(month, runner);
    } finally {
      await runner.query('reset lock_timeout');
    }
    // Attaches the indexes of the months.
    await runner.query(`create index if not exists events_changes_idx on events (tx, event_id) where ${isChange}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index if exists events_changes_idx');
  }

  private async buildOn({ name, index }: Month, runner: QueryRunner): Promise<void> {
    const [known] = (await runner.query(
      `select indisvalid as is_valid from pg_index where indexrelid = to_regclass('${index}')`,
    )) as { is_valid: boolean }[];
    if (known?.is_valid === true) return;
    // An interrupted build leaves an invalid index.
    if (known !== undefined) await runner.query(`drop index concurrently ${index}`);
    await runner.query(`create index concurrently ${index} on ${name} (tx, event_id) where ${isChange}`);
  }
}

const isChange = `target_type in ('user', 'session', 'role', 'key')`;
