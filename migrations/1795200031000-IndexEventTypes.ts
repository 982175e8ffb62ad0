import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes events by type, and builds the index of the primary key that a partition needs. Does not
 * block writers.
 */
export class IndexEventTypes1795200031000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The build waits for earlier transactions, such as a backup, and does not block writers.
    await runner.query('set lock_timeout = 0');
    try {
      for (const { name, definition } of indexes) {
        // An interrupted build leaves an invalid index.
        await runner.query(`drop index concurrently if exists ${name}`);
        await runner.query(definition);
      }
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { name } of indexes) await runner.query(`drop index ${name}`);
  }
}

const indexes = [
  {
    name: 'events_first_pkey',
    definition: 'create unique index concurrently events_first_pkey on events (occurred_at, event_id)',
  },
  {
    name: 'events_event_type_idx',
    definition: 'create index concurrently events_event_type_idx on events (event_type, occurred_at)',
  },
];
