import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds `user_search` to the oldest databases and fills it. The first version of CreateSchema did
 * not create this table, which AddJobTitle changes. `migrateDatabase` therefore runs this migration
 * before all other pending migrations. In all other databases it does nothing.
 */
export class AddMissingUserSearch1795200020000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (await runner.hasTable('user_search')) return;
    await runner.query(userSearch);
    await runner.query(rows);
  }

  /** Does nothing: CreateSchema drops the table. */
  async down(): Promise<void> {}
}

/** Copied from CreateSchema, which explains it. AddJobTitle runs afterwards. */
const userSearch = `
  create function search_text(value text) returns text language sql immutable parallel safe as $$
    select case
      when value ~ '[^[:alnum:] +.@_-]' then
        translate(lower(value),
          '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~',
          'ᚠᚡᚢᚣᚤᚥᚦᚧᚨᚩᚪᚫᚬᚭᚮᚯᚰᚱᚲᚳᚴᚵᚶᚷᚸᚹᚺᚻᚼᚽᚾᚿ')
      else translate(lower(value), '+-.@_', 'ᚪᚬᚭᚵᚺ')
    end
  $$;
  create function search_names(name text, email text, first_name text, last_name text) returns text
  language sql immutable parallel safe as $$
    select ' ' || search_text(name) || ', ' || search_text(email) || '; ' || search_text(first_name) || ': '
      || search_text(last_name) || '.'
  $$;
  create function search_others(phone text, carrier_id text, locale text, timezone text) returns text
  language sql immutable parallel safe as $$
    select ' ' || coalesce(search_text(phone), '') || ', ' || coalesce(search_text(carrier_id), '') || '; '
      || coalesce(search_text(locale), '') || ': ' || coalesce(search_text(timezone), '') || '.'
  $$;
  create table user_search (
    user_id uuid constraint user_search_pkey primary key
      constraint user_search_user_id_fkey references users (user_id) on delete cascade,
    first_name text not null,
    last_name text not null,
    phone text,
    locale text,
    timezone text,
    names text not null,
    others text not null
  );
  create index user_search_first_name_idx on user_search (first_name);
  create index user_search_last_name_idx on user_search (last_name);
  create index user_search_lower_last_name_idx on user_search (lower(last_name), user_id);
  create index user_search_phone_idx on user_search (phone);
  create index user_search_locale_idx on user_search (locale);
  create index user_search_timezone_idx on user_search (timezone);
  create index user_search_trigrams_idx on user_search using gin (names gin_trgm_ops, others gin_trgm_ops);
  create function user_search_add() returns trigger language plpgsql as $$
  begin
    insert into user_search (user_id, first_name, last_name, phone, locale, timezone, names, others)
      select user_id, first_name, last_name, phone, locale, timezone,
        search_names(name, email, first_name, last_name), search_others(phone, carrier_id, locale, timezone)
      from added;
    return null;
  end $$;
  create function user_search_change() returns trigger language plpgsql as $$
  begin
    update user_search set first_name = new.first_name, last_name = new.last_name, phone = new.phone,
      locale = new.locale, timezone = new.timezone,
      names = search_names(new.name, new.email, new.first_name, new.last_name),
      others = search_others(new.phone, new.carrier_id, new.locale, new.timezone)
      where user_id = new.user_id;
    return null;
  end $$;
  create trigger user_search_add after insert on users referencing new table as added
    for each statement execute function user_search_add();
  create trigger user_search_change
    after update of name, email, first_name, last_name, phone, locale, timezone, carrier_id on users for each row
    when ((old.name, old.email, old.first_name, old.last_name, old.phone, old.locale, old.timezone, old.carrier_id)
      is distinct from
      (new.name, new.email, new.first_name, new.last_name, new.phone, new.locale, new.timezone, new.carrier_id))
    execute function user_search_change();
`;

const rows = `
  insert into user_search (user_id, first_name, last_name, phone, locale, timezone, names, others)
    select user_id, first_name, last_name, phone, locale, timezone,
      search_names(name, email, first_name, last_name), search_others(phone, carrier_id, locale, timezone)
    from users;
`;
