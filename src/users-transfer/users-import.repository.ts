import { Injectable } from '@nestjs/common';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import { isIdTaken, isTaken, ofHolder } from '../users/users.sql';
import type { ImportedUser } from './import-rows';

/** A row whose user cannot be, and what of it is taken. */
export interface Conflict {
  line: number;
  field: 'user_id' | 'name' | 'email';
  /**
   * whether the actor cannot see what is in the way: a user outside the scope, a purged user or an
   * API key
   */
  hidden: boolean;
}

const rowColumns =
  rawSql(`(line integer, user_id uuid, user_type text, name text, email text, first_name text, last_name text, phone text, locale text,
  timezone text, carrier_id text, carrier_scope text[], roles text[], allowed_ips text[], attributes jsonb, status text, must_change_password boolean,
  password_hash text, created_at timestamptz, email_verified_at timestamptz, last_login_at timestamptz, last_login_ip inet, last_seen_at timestamptz,
  password_changed_at timestamptz)`);

/**
 * Fields of which the audit log keeps what they were at creation: the same as of users who are
 * created one by one.
 */
const recorded = [
  ...[
    'name',
    'email',
    'first_name',
    'last_name',
    'phone',
    'locale',
    'timezone',
    'user_type',
    'carrier_id',
    'carrier_scope',
    'roles',
  ],
  ...['allowed_ips', 'attributes', 'status', 'must_change_password'],
];
const recordedSql = recorded.map((field) => `'${field}', jsonb_build_object('after', created.${field})`).join(', ');

/** The audit log's view of the users that were created: what comes after FROM. */
export const createdTargets =
  rawSql(`(select created.user_id as id, created.carrier_id, jsonb_build_object(${recordedSql}) as changes,
  null::integer as version from created) target`);

/** The SQL of imports: a batch is a few statements, however many rows it has. */
@Injectable()
export class UsersImportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Creates users with their passwords and events in one statement; uniqueness is decided by the
   * indexes, and whoever is in the way of one leaves that one out.
   * @param events inserts the events of `created`
   * @returns lines of those that were created
   */
  async create(users: ImportedUser[], created_by: string | null, events: SqlFragment): Promise<number[]> {
    const created = await this.database.run<{ line: number }>(sql`with imported as materialized (
        select * from jsonb_to_recordset(${JSON.stringify(users)}::jsonb) as row ${rowColumns}
      ), created as (
        insert into users (user_id, user_type, name, email, first_name, last_name, phone, locale, timezone, carrier_id, carrier_scope, roles, allowed_ips,
          attributes, status, must_change_password, created_by, created_at, email_verified_at, last_login_at, last_login_ip, last_seen_at, password_changed_at)
        select user_id, user_type, name, email, first_name, last_name, phone, locale, timezone, carrier_id, carrier_scope, roles,
          array(select distinct network(address::inet)::cidr from unnest(allowed_ips) address order by 1),
          attributes, status, must_change_password, ${created_by}::uuid, coalesce(created_at, now()), email_verified_at, last_login_at, last_login_ip,
          last_seen_at, coalesce(password_changed_at, case when password_hash is not null then now() end)
        from imported where not ${isIdTaken(rawSql('imported.user_id'))} order by line
        on conflict do nothing returning *
      ), made as (
        -- an id may be in several rows: of those that say the same of their user, it is the first
        select distinct on (user_id) line, user_id, password_hash from created join imported using (user_id, name, email) order by user_id, line
      ), passwords as (
        insert into credentials (user_id, password_hash, policy_checked)
        select user_id, password_hash, false from made where password_hash is not null
      ), recorded as (${events})
      select line from made`);
    return created.map(({ line }) => line);
  }

  /**
   * Finds what is in the way of users in the database, one conflict for each row.
   * @param visible which users (`other`) the actor may see
   */
  findConflicts(
    users: Pick<ImportedUser, 'line' | 'user_id' | 'name' | 'email'>[],
    visible: SqlFragment,
  ): Promise<Conflict[]> {
    const rows = users.map(({ line, user_id, name, email }) => ({ line, user_id, name, email }));
    return this.database.run(sql`select line, field, case field
          when 'user_id' then (select ${visible} from users other where other.user_id = found.user_id)
          when 'name' then ${ofHolder('name', rawSql('found.name'), visible)}
          else ${ofHolder('email', rawSql('found.email'), visible)} end is not true as hidden
      from (
        select row.*, case
          when ${isIdTaken(rawSql('row.user_id'))} then 'user_id'
          when ${isTaken('name', rawSql('row.name'))} then 'name'
          when ${isTaken('email', rawSql('row.email'))} then 'email' end as field
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as row (line integer, user_id uuid, name text, email text)
      ) found where field is not null order by line`);
  }
}
