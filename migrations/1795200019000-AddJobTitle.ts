import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the job title of users.
 * `names` gets a further part only where a job title is set, so no existing row changes, and adding
 * nullable columns rewrites no table.
 */
export class AddJobTitle1795200019000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users add column job_title text');
    await runner.query('alter table user_search add column job_title text');
    await runner.query('create index user_search_job_title_idx on user_search (job_title)');
    await runner.query(withJobTitle);
    await runner.query('drop function search_names(text, text, text, text)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(withoutJobTitle);
    await runner.query('drop function search_names(text, text, text, text, text)');
    await runner.query('alter table user_search drop column job_title');
    await runner.query('alter table users drop column job_title');
  }
}

const withJobTitle = `
  create function search_names(name text, email text, first_name text, last_name text, job_title text)
  returns text language sql immutable parallel safe as $$
    select ' ' || search_text(name) || ', ' || search_text(email) || '; ' || search_text(first_name) || ': '
      || search_text(last_name) || '.' || coalesce(' ' || search_text(job_title) || '!', '')
  $$;
  create or replace function user_search_add() returns trigger language plpgsql as $$
  begin
    insert into user_search (user_id, first_name, last_name, phone, job_title, locale, timezone, names, others)
      select user_id, first_name, last_name, phone, job_title, locale, timezone,
        search_names(name, email, first_name, last_name, job_title),
        search_others(phone, carrier_id, locale, timezone)
      from added;
    return null;
  end $$;
  create or replace function user_search_change() returns trigger language plpgsql as $$
  begin
    update user_search
      set first_name = new.first_name, last_name = new.last_name, phone = new.phone, job_title = new.job_title,
        locale = new.locale, timezone = new.timezone,
        names = search_names(new.name, new.email, new.first_name, new.last_name, new.job_title),
        others = search_others(new.phone, new.carrier_id, new.locale, new.timezone)
      where user_id = new.user_id;
    return null;
  end $$;
  create or replace trigger user_search_change
    after update of name, email, first_name, last_name, phone, job_title, locale, timezone, carrier_id on users
    for each row
    when (
      (
        old.name, old.email, old.first_name, old.last_name, old.phone, old.job_title, old.locale, old.timezone,
        old.carrier_id
      ) is distinct from (
        new.name, new.email, new.first_name, new.last_name, new.phone, new.job_title, new.locale, new.timezone,
        new.carrier_id
      )
    )
    execute function user_search_change();
`;

/** The functions and the trigger of CreateSchema. Removes the part of `names` where it is set. */
const withoutJobTitle = `
  create function search_names(name text, email text, first_name text, last_name text)
  returns text language sql immutable parallel safe as $$
    select ' ' || search_text(name) || ', ' || search_text(email) || '; ' || search_text(first_name) || ': '
      || search_text(last_name) || '.'
  $$;
  create or replace function user_search_add() returns trigger language plpgsql as $$
  begin
    insert into user_search (user_id, first_name, last_name, phone, locale, timezone, names, others)
      select user_id, first_name, last_name, phone, locale, timezone,
        search_names(name, email, first_name, last_name), search_others(phone, carrier_id, locale, timezone)
      from added;
    return null;
  end $$;
  create or replace function user_search_change() returns trigger language plpgsql as $$
  begin
    update user_search
      set first_name = new.first_name, last_name = new.last_name, phone = new.phone,
        locale = new.locale, timezone = new.timezone,
        names = search_names(new.name, new.email, new.first_name, new.last_name),
        others = search_others(new.phone, new.carrier_id, new.locale, new.timezone)
      where user_id = new.user_id;
    return null;
  end $$;
  create or replace trigger user_search_change
    after update of name, email, first_name, last_name, phone, locale, timezone, carrier_id on users
    for each row
    when (
      (old.name, old.email, old.first_name, old.last_name, old.phone, old.locale, old.timezone, old.carrier_id)
      is distinct from
      (new.name, new.email, new.first_name, new.last_name, new.phone, new.locale, new.timezone, new.carrier_id)
    )
    execute function user_search_change();
  update user_search
  set names = search_names(users.name, users.email, users.first_name, users.last_name)
  from users
  where users.user_id = user_search.user_id
    and user_search.job_title is not null;
`;
