import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds narrow tables for the activity of users: `user_seen` and `user_logins`. Recording activity
 * then no longer adds an entry to each of the 18 indexes of `users` (ADR 12).
 * `FillActivityTables` copies the existing rows and builds the indexes.
 */
export class AddUserActivity1795200026000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(tables);
    await runner.query(newUsers);
    await runner.query(olderInstances);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger user_logins_copy on users;
      drop trigger user_seen_copy on users;
      drop trigger user_activity_add on users;
      drop function user_logins_copy();
      drop function user_seen_copy();
      drop function user_activity_add();
      update users
      set
        last_seen_at = user_seen.last_seen_at,
        last_login_at = user_logins.last_login_at,
        last_login_ip = user_logins.last_login_ip
      from user_seen
      join user_logins using (user_id)
      where users.user_id = user_seen.user_id;
      drop table user_logins;
      drop table user_seen;
    `);
  }
}

/**
 * Lets autovacuum start after changes of 2 % of the rows. With the default of 20 %, tables of a
 * million users would keep 200,000 dead rows.
 */
const settings = `with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 2000
  )`;

const tables = `
  create table user_seen (
    user_id uuid constraint user_seen_pkey primary key
      constraint user_seen_user_id_fkey references users (user_id) on delete cascade,
    last_seen_at timestamptz(3)
  ) ${settings};
  create table user_logins (
    user_id uuid constraint user_logins_pkey primary key
      constraint user_logins_user_id_fkey references users (user_id) on delete cascade,
    last_login_at timestamptz(3),
    last_login_ip inet
  ) ${settings};
`;

/**
 * Gives each new user a row in both tables. The statement that creates the users may insert the
 * rows with values itself. Users of older instances bring their values in the columns of `users`.
 */
const newUsers = `
  create function user_activity_add() returns trigger language plpgsql as $$
  begin
    insert into user_logins (user_id, last_login_at, last_login_ip)
      select user_id, last_login_at, last_login_ip from added
      on conflict do nothing;
    insert into user_seen (user_id, last_seen_at)
      select user_id, last_seen_at from added
      on conflict do nothing;
    return null;
  end $$;
  create trigger user_activity_add after insert on users referencing new table as added
    for each statement execute function user_activity_add();
`;

/**
 * Copies the activity that instances of the previous release write to `users` during a rolling
 * upgrade. Never replaces a later time. The next release drops these triggers and columns.
 */
const olderInstances = `
  create function user_seen_copy() returns trigger language plpgsql as $$
  begin
    insert into user_seen (user_id, last_seen_at) values (new.user_id, new.last_seen_at)
      on conflict (user_id) do update
      set last_seen_at = excluded.last_seen_at
      where user_seen.last_seen_at is null or user_seen.last_seen_at < excluded.last_seen_at;
    return null;
  end $$;
  create function user_logins_copy() returns trigger language plpgsql as $$
  begin
    insert into user_logins (user_id, last_login_at, last_login_ip)
      values (new.user_id, new.last_login_at, new.last_login_ip)
      on conflict (user_id) do update
      set last_login_at = excluded.last_login_at, last_login_ip = excluded.last_login_ip
      where user_logins.last_login_at is null or user_logins.last_login_at <= excluded.last_login_at;
    return null;
  end $$;
  create trigger user_seen_copy after update of last_seen_at on users for each row
    when (old.last_seen_at is distinct from new.last_seen_at)
    execute function user_seen_copy();
  create trigger user_logins_copy after update of last_login_at, last_login_ip on users for each row
    when ((old.last_login_at, old.last_login_ip) is distinct from (new.last_login_at, new.last_login_ip))
    execute function user_logins_copy();
`;
