import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { type UserField, userFields } from './user-fields';

/** Columns that a new user has: what files contain, and what only `POST /user/create` can set. */
const columns = Object.entries<UserField>(userFields)
  .filter(([, { creatable, cell }]) => creatable === true || cell !== undefined)
  .map(([name, { type }]) => ({ name, type: type === 'cidr[]' ? 'text[]' : type }));

/** Columns whose value is not taken from the source as it is. */
const computed: Record<string, string> = {
  allowed_ips: `array(
      select distinct network(address::inet)::cidr
      from unnest(allowed_ips) address
      order by 1
    )`,
  created_at: 'coalesce(created_at, now())',
  password_changed_at: 'coalesce(password_changed_at, case when has_password then now() end)',
};

/** Renders the columns of `jsonb_to_recordset` that read new users from JSON. */
export const newUserColumns = rawSql(columns.map(({ name, type }) => `${name} ${type}`).join(', '));

/**
 * Renders the INSERT of new users, to be followed by ON CONFLICT or RETURNING.
 * The indexes decide whether names and addresses are free.
 * @param source FROM item, with WHERE and ORDER BY if needed, with these columns:
 *   those of `newUserColumns`: the fields of a user; null for no value, and for the current time
 *   in `created_at`;
 *   `has_password` boolean: whether a password of the user is stored by the same transaction
 * @param created_by user or API key that creates the users
 */
export function insertUsersSql(source: SqlFragment, created_by: string | null): SqlFragment {
  const values = columns.map(({ name }) => rawSql(computed[name] ?? name));
  return sql`
    insert into users (
      ${joinSql(
        columns.map(({ name }) => rawSql(name)),
        ', ',
      )}, created_by
    )
    select
      ${joinSql(values, ', ')}, ${created_by}::uuid
    from ${source}`;
}
