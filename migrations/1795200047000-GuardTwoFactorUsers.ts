import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Rejects sessions that were opened with one factor for users who have a second one. Instances of
 * a release without second factors share the database during a rolling upgrade, and after going
 * back. They would log these users in with the password alone.
 */
export class GuardTwoFactorUsers1795200047000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function require_second_factor() returns trigger language plpgsql as $$
      begin
        if exists (select from users where user_id = new.user_id and second_factors <> '{}') then
          raise exception 'the user has a second factor, and the session was opened without it';
        end if;
        return new;
      end
      $$`);
    await runner.query(`
      create trigger session_needs_second_factor before insert on sessions for each row
        when (not new.amr @> '{mfa}')
        execute function require_second_factor()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger session_needs_second_factor on sessions');
    await runner.query('drop function require_second_factor');
  }
}
