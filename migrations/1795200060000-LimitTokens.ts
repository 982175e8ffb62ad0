import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the audience and the permissions that the tokens of a session are limited to, and the portal
 * through which the user logged in. A login in two steps carries the limits in its challenge. A
 * change of the limits notifies the caches of all instances.
 */
export class LimitTokens1795200060000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table sessions add column token_grant jsonb');
    await runner.query('alter table login_challenges add column token_grant jsonb');
    await runner.query(triggerOn(['amr', 'auth_time', 'token_grant']));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(triggerOn(['amr', 'auth_time']));
    // A release that knows no limits would accept these sessions without them.
    await runner.query(`
      update sessions
      set ended_at = now(), ended_reason = 'revoked'
      where ended_at is null and (token_grant ? 'audience' or token_grant ? 'permissions')`);
    await runner.query(`delete from login_challenges where token_grant ? 'audience' or token_grant ? 'permissions'`);
    await runner.query('alter table login_challenges drop column token_grant');
    await runner.query('alter table sessions drop column token_grant');
  }
}

function triggerOn(columns: string[]): string {
  const row = (state: string) => columns.map((column) => `${state}.${column}`).join(', ');
  return `
    create or replace trigger session_reauthenticated after update of ${columns.join(', ')} on sessions for each row
      when ((${row('old')}) is distinct from (${row('new')}))
      execute function notify_old_user()`;
}
