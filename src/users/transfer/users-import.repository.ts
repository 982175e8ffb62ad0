import { Injectable } from '@nestjs/common';
import type { Scope } from '../../access/scope';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { insertImportedHashesSql } from '../../auth/passwords/imported-hashes.sql';
import { Database } from '../../platform/database/database';
import { recordEventsSql } from '../../audit/events.sql';
import type { EventBase } from '../../audit/event-base';
import { userFieldsWith } from '../user-fields';
import {
  insertActivitySql,
  insertUsersSql,
  isIdTaken,
  isTaken,
  newUserColumns,
  ofHolder,
  visibleUsers,
} from '../users.sql';
import type { ImportedUser } from './import-rows';

/** A row whose user cannot be created because a value is taken. */
export interface Conflict {
  line: number;
  field: 'user_id' | 'name' | 'email';
  /**
   * true if the actor cannot see the holder of the value: a user outside the scope, a purged user
   * or an API key
   */
  hidden: boolean;
}

/** The same fields as in the event of a user that `POST /user/create` creates. */
const recordedChanges = userFieldsWith('creatable')
  .map((field) => `'${field}', jsonb_build_object('after', created.${field})`)
  .join(', ');

/** SQL of imports, with a constant number of statements per batch. */
@Injectable()
export class UsersImportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Creates users with their passwords and events in one statement. Skips users whose id, name or
   * address is taken.
   * @returns the lines of the created users
   */
  async create(users: ImportedUser[], created_by: string | null, event: EventBase): Promise<number[]> {
    const source = sql`imported
      where not ${isIdTaken(rawSql('imported.user_id'))}
      order by line`;
    const created = await this.database.run<{ line: number }>(sql`
      with imported as materialized (
        select row.*, row.password_hash is not null as has_password
        from jsonb_to_recordset(${JSON.stringify(users)}::jsonb)
          as row (line integer, password_hash text, ${newUserColumns})
      ),
      created as (
        ${insertUsersSql(source, created_by)}
        on conflict do nothing
        returning *
      ),
      made as (
        -- Several rows may have the same id, name and address. The first one is created.
        select distinct on (user_id)
          line, user_id, password_hash,
          imported.last_login_at, imported.last_login_ip, imported.last_seen_at
        from created
        join imported using (user_id, name, email)
        order by user_id, line
      ),
      passwords as (
        ${insertImportedHashesSql(sql`made where password_hash is not null`)}
      ),
      ${insertActivitySql(rawSql('made'))},
      recorded as (
        ${recordEventsSql(event, createdTargets)}
      )
      select line from made`);
    return created.map(({ line }) => line);
  }

  /**
   * Finds the values of users that are taken in the database, one conflict for each row.
   * @param scope scope whose users are visible to the actor; null = no user is visible
   */
  findConflicts(
    users: Pick<ImportedUser, 'line' | 'user_id' | 'name' | 'email'>[],
    scope: Scope | null,
  ): Promise<Conflict[]> {
    const rows = users.map(({ line, user_id, name, email }) => ({ line, user_id, name, email }));
    const visible = scope === null ? sql`false` : visibleUsers(scope, 'other');
    return this.database.run(sql`
      select line, field, case field
        when 'user_id' then (select ${visible} from users other where other.user_id = found.user_id)
        when 'name' then ${ofHolder('name', rawSql('found.name'), visible)}
        else ${ofHolder('email', rawSql('found.email'), visible)}
      end is not true as hidden
      from (
        select row.*, case
          when ${isIdTaken(rawSql('row.user_id'))} then 'user_id'
          when ${isTaken('name', rawSql('row.name'))} then 'name'
          when ${isTaken('email', rawSql('row.email'))} then 'email'
        end as field
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as row (line integer, user_id uuid, name text, email text)
      ) found
      where field is not null
      order by line`);
  }
}

const createdTargets: SqlFragment = sql`(
  select
    created.user_id as id,
    created.carrier_id,
    jsonb_build_object(${rawSql(recordedChanges)}) as changes,
    null::integer as version
  from created
) target`;
