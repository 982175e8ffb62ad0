import { sql, type SqlFragment } from '../../http/lists/sql';

/**
 * Renders the INSERT of imported password hashes. The password policy checks each password at its
 * first login.
 * @param source FROM item, with WHERE if needed, with these columns:
 *   `user_id` uuid: a user without a password;
 *   `password_hash` text: never a plain MD5
 */
export function insertImportedHashesSql(source: SqlFragment): SqlFragment {
  return sql`
    insert into credentials (user_id, password_hash, policy_checked)
    select user_id, password_hash, false
    from ${source}`;
}
