import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Closes two gaps in the append-only audit log: TRUNCATE fired no trigger, and the erasure of a
 * purged user could change or delete any event. The erasure can now only remove personal values.
 */
export class ProtectEvents1795200016000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(strict);
    await runner.query(`create trigger events_no_truncate before truncate on events
      for each statement execute function events_append_only()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger events_no_truncate on events');
    await runner.query(lenient);
  }
}

const strict = `
  create or replace function events_append_only() returns trigger language plpgsql as $$
  declare
    erasable constant text[] := '{ip,changes,target_version}';
  begin
    if tg_op = 'UPDATE' and current_setting('carrier_identity.erasing', true) = 'on' then
      if to_jsonb(new) - erasable = to_jsonb(old) - erasable and new.changes <@ old.changes
        and (new.ip is null or new.ip = old.ip)
        and (new.target_version is null or new.target_version = old.target_version) then
        return new;
      end if;
    end if;
    raise exception 'events are append-only';
  end $$
`;

/** The function as CreateSchema defines it. */
const lenient = `
  create or replace function events_append_only() returns trigger language plpgsql as $$
  begin
    if current_setting('carrier_identity.erasing', true) = 'on' then return coalesce(new, old); end if;
    raise exception 'events are append-only';
  end $$
`;
