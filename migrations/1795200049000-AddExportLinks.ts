import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the one-time links to exports. A session has at most one. */
export class AddExportLinks1795200049000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table export_links (
        session_id uuid constraint export_links_pkey primary key
          constraint export_links_session_id_fkey references sessions on delete cascade,
        token_hash bytea not null,
        query jsonb not null,
        expires_at timestamptz(3) not null
      );
      create unique index export_links_token_hash_key on export_links (token_hash)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table export_links');
  }
}
