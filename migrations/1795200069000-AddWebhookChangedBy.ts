import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds who last changed a webhook, so that "This was not me" finds webhooks of others, too. */
export class AddWebhookChangedBy1795200069000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table webhooks add column if not exists changed_by uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table webhooks drop column if exists changed_by');
  }
}
