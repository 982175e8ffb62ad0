import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Notifies all instances of each change of a user that `GET /user` shows, also by a statement that
 * leaves `version` unchanged (ADR 10). `last_login_at`, `last_login_ip`, `last_seen_at` and
 * `locked_until` change at each login or more often, so they send no notification.
 */
export class NotifyAllUserColumns1795200036000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(triggerOn([...earlierColumns, ...addedColumns]));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(triggerOn(earlierColumns));
  }
}

/** Almost every change increases `version`, and the comparison ends at the first difference. */
const earlierColumns = [
  'version',
  'status',
  'deleted_at',
  'must_change_password',
  'email_pending',
  'password_changed_at',
  'roles',
  'carrier_scope',
  'user_type',
  'carrier_id',
  'name',
  'email',
];
const addedColumns = [
  'user_id',
  'email_verified_at',
  'first_name',
  'last_name',
  'phone',
  'job_title',
  'locale',
  'timezone',
  'allowed_ips',
  'attributes',
  'created_at',
  'created_by',
  'updated_at',
];

function triggerOn(columns: string[]): string {
  const row = (state: string) => columns.map((column) => `${state}.${column}`).join(', ');
  return `
    create or replace trigger user_changed after update on users for each row
      when ((${row('old')}) is distinct from (${row('new')}))
      execute function notify_old_user()`;
}
