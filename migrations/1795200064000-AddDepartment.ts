import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the department of a user. From here on, the triggers of `users` get their columns from the
 * tables: after a new column, call `refresh_user_triggers()`.
 */
export class AddDepartment1795200064000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users add column department text');
    await runner.query('alter table user_search add column department text');
    await runner.query(`comment on column user_search.department is 'names'`);
    await runner.query('create index user_search_department_idx on user_search (department)');
    await runner.query(refreshTriggers);
    await runner.query('select refresh_user_triggers()');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`select refresh_user_triggers('{department}')`);
    await runner.query(`
      update user_search
      set names = search_names(u.name, u.email, u.first_name, u.last_name, u.job_title)
      from users u
      where u.user_id = user_search.user_id and u.department is not null`);
    await runner.query('alter table user_search drop column department');
    await runner.query('alter table users drop column department');
    await runner.query('drop function refresh_user_triggers');
  }
}

/**
 * Writes the triggers that notify of changes of a user and copy columns to `user_search`.
 * Each column of `users` is watched, except those that only activity writes (ADR 12). Each column
 * that `user_search` has too is copied. Columns of `user_search` with the comment `names` are found
 * by `q`.
 */
const refreshTriggers = `
  create function refresh_user_triggers(without text[] default '{}') returns void language plpgsql as $refresh$
  declare
    watched text[] := array(
      select quote_ident(attname)
      from pg_attribute
      where attrelid = 'users'::regclass and attnum > 0 and not attisdropped
        and attname <> all (without || '{last_login_at,last_login_ip,last_seen_at,locked_until}'::text[])
      order by attnum);
    copied text[] := array(
      select quote_ident(attname)
      from pg_attribute
      where attrelid = 'user_search'::regclass and attnum > 0 and not attisdropped
        and attname <> 'user_id' and quote_ident(attname) = any (watched)
      order by attnum);
    found text[] := array(
      select quote_ident(attname)
      from pg_attribute
      where attrelid = 'user_search'::regclass and quote_ident(attname) = any (copied)
        and col_description(attrelid, attnum) = 'names'
      order by attnum);
    searched text[] := copied || '{name,email,carrier_id}'::text[];
    -- %1$s is replaced by the row.
    texts text := 'search_names(%1$sname, %1$semail, %1$sfirst_name, %1$slast_name, %1$sjob_title)'
      || (select coalesce(string_agg(' || coalesce('' '' || search_text(%1$s' || name || ') || ''!'', '''')', ''), '')
          from unnest(found) name)
      || ', search_others(%1$sphone, %1$scarrier_id, %1$slocale, %1$stimezone)';
  begin
    execute format($create$
      create or replace function user_search_add() returns trigger language plpgsql as $body$
      begin
        insert into user_search (user_id, %s, names, others)
          select user_id, %1$s, %s from added;
        return null;
      end $body$ $create$, array_to_string(copied, ', '), format(texts, ''));
    execute format($create$
      create or replace function user_search_change() returns trigger language plpgsql as $body$
      begin
        update user_search set (%s, names, others) = row(%s, %s) where user_id = new.user_id;
        return null;
      end $body$ $create$,
      array_to_string(copied, ', '), 'new.' || array_to_string(copied, ', new.'), format(texts, 'new.'));
    execute format(
      'create or replace trigger user_search_change after update of %s on users for each row '
        'when ((old.%s) is distinct from (new.%s)) execute function user_search_change()',
      array_to_string(searched, ', '), array_to_string(searched, ', old.'), array_to_string(searched, ', new.'));
    execute format(
      'create or replace trigger user_changed after update on users for each row '
        'when ((old.%s) is distinct from (new.%s)) execute function notify_old_user()',
      array_to_string(watched, ', old.'), array_to_string(watched, ', new.'));
  end $refresh$`;
