import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the counts of the overview, which a job refreshes. `''` stands for no carrier. */
export class AddOverview1795200050000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table overview_counts (
        carrier_id text not null,
        user_type text not null,
        kind text not null,
        count integer not null,
        constraint overview_counts_pkey primary key (carrier_id, user_type, kind)
      );
      create table login_counts (
        hour timestamptz(3) not null,
        carrier_id text not null,
        succeeded integer not null,
        failed integer not null,
        constraint login_counts_pkey primary key (hour, carrier_id)
      );
      create table overview_refreshes (
        only_row boolean constraint overview_refreshes_pkey primary key default true
          constraint overview_refreshes_only_row_check check (only_row),
        as_of timestamptz(3) not null,
        due_at timestamptz(3) not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table overview_refreshes, login_counts, overview_counts');
  }
}
