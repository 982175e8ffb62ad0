import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the index of the change feed: events about users, sessions, roles and API keys in the order
 * of their transactions. Logins are not in it, so that a login writes no more than before.
 * Builds the index of each month without blocking logins.
 */
export class IndexChanges1795200065000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const months = (await runner.query(`
      select inhrelid::regclass::text as name
      from pg_inherits
      where inhparent = 'events'::regclass
      order by 1`)) as { name: string }[];
    // The build waits for earlier transactions, such as a backup.
    await runner.query('set lock_timeout = 0');
    try {
      for (const { name } of months) await this.buildOn(name, runner);
    } finally {
      await runner.query('reset lock_timeout');
    }
    // Attaches the indexes of the months.
    await runner.query(`create index if not exists events_changes_idx on events (tx, event_id) where ${isChange}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index if exists events_changes_idx');
  }

  private async buildOn(month: string, runner: QueryRunner): Promise<void> {
    const index = `${month}_changes_idx`;
    const [known] = (await runner.query(
      `select indisvalid as is_valid from pg_index where indexrelid = to_regclass('${index}')`,
    )) as { is_valid: boolean }[];
    if (known?.is_valid === true) return;
    // An interrupted build leaves an invalid index.
    if (known !== undefined) await runner.query(`drop index concurrently ${index}`);
    await runner.query(`create index concurrently ${index} on ${month} (tx, event_id) where ${isChange}`);
  }
}

const isChange = `target_type in ('user', 'session', 'role', 'key')`;
