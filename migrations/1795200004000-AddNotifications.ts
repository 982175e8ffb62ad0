import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Notifies all instances at commit which cached state is outdated (ADR 0010). Triggers cover every
 * change of a user, a session or a role, including statements typed by hand. The extension of a
 * session sends no notification: an instance reads an expired session again.
 */
export class AddNotifications1795200004000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(functions);
    await runner.query(triggers);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger roles_changed on roles;
      drop trigger sessions_removed on sessions;
      drop trigger session_removed on sessions;
      drop trigger session_ended on sessions;
      drop trigger user_removed on users;
      drop trigger user_changed on users;
      drop function notify_change();
      drop function notify_old_user();
    `);
  }
}

const functions = `
  create function notify_old_user() returns trigger language plpgsql as $$
  begin
    perform pg_notify('user_changed', old.user_id::text);
    return null;
  end $$;
  create function notify_change() returns trigger language plpgsql as $$
  begin
    perform pg_notify(tg_argv[0], '');
    return null;
  end $$;
`;

/**
 * `version` increases with each change by the service. The other columns are relevant for security.
 */
const triggers = `
  create trigger user_changed after update on users for each row
    when ((old.version, old.status, old.deleted_at, old.must_change_password, old.email_pending,
        old.password_changed_at, old.roles, old.carrier_scope,
        old.user_type, old.carrier_id, old.name, old.email) is distinct from
      (new.version, new.status, new.deleted_at, new.must_change_password, new.email_pending,
        new.password_changed_at, new.roles, new.carrier_scope,
        new.user_type, new.carrier_id, new.name, new.email))
    execute function notify_old_user();
  create trigger user_removed after delete on users for each row execute function notify_old_user();
  create trigger session_ended after update on sessions for each row
    when ((old.ended_at is null and new.ended_at is not null) or new.expires_at < old.expires_at
      or new.absolute_expires_at < old.absolute_expires_at)
    execute function notify_old_user();
  create trigger session_removed after delete on sessions for each row
    when (old.ended_at is null) execute function notify_old_user();
  create trigger sessions_removed after truncate on sessions
    for each statement execute function notify_change('roles_changed');
  create trigger roles_changed after insert or update or delete or truncate on roles
    for each statement execute function notify_change('roles_changed');
`;
