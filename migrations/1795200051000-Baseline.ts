import type { MigrationInterface, QueryRunner } from 'typeorm';
import { events, months, retention } from './baseline/events';
import { challenges, counters, factors, links, passwords } from './baseline/logins';
import { actorTypes, answers, exportCells, operations, overview } from './baseline/operations';
import { guard, keys, sessions } from './baseline/sessions';
import { activity, changes, purged, roles, search, users } from './baseline/users';

/** Creates the schema of release 0.2.0. Names of constraints are mapped to error codes. */
export class Baseline1795200051000 implements MigrationInterface {
  /** The last migration of release 0.2.0: its databases are taken over without a change. */
  readonly name = 'IndexUserWarnings1795200051000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create extension if not exists pg_trgm');
    for (const statements of [
      shared,
      roles,
      users,
      search,
      activity,
      purged,
      changes,
      passwords,
      links,
      counters,
      factors,
      challenges,
      sessions,
      guard,
      keys,
      operations,
      answers,
      actorTypes,
      exportCells,
      overview,
      events,
      months,
      retention,
      'select events_add_months()',
    ])
      await runner.query(statements);
  }

  /** Removes all tables and functions of the service. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(remove);
  }
}

const shared = `
  create function uuid_v7() returns uuid language sql parallel safe as $$
    select encode(
      set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
  $$;
  create function notify_change() returns trigger language plpgsql as $$
  begin
    perform pg_notify(tg_argv[0], '');
    return null;
  end $$;
  create function notify_old_user() returns trigger language plpgsql as $$
  begin
    perform pg_notify('user_changed', old.user_id::text);
    return null;
  end $$;
`;

/** TypeORM records the migrations in its own tables, which stay. */
const remove = `
  do $$
  declare
    statement text;
  begin
    for statement in
      select format('drop table if exists %I cascade', relname)
      from pg_class
      where relnamespace = current_schema()::regnamespace
        and relkind in ('r', 'p')
        and relname not in ('migrations', 'typeorm_metadata')
    loop
      execute statement;
    end loop;
    for statement in
      select format('drop function %s', oid::regprocedure)
      from pg_proc
      where pronamespace = current_schema()::regnamespace
        and not exists (
          select
          from pg_depend
          where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
        )
    loop
      execute statement;
    end loop;
  end $$;
`;
