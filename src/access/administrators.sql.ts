import { rawSql, sql } from '../http/lists/sql';

/** Renders whether a row of `users` has a role with the permission `*`, built in or not. */
export const permitsAll = rawSql(`users.roles && array(select name from roles where '*' = any(permissions))`);

/**
 * Renders whether a row of `users` is an administrator: an active System User without a scope, with
 * the permission `*` and a password that does not expire and was not voided.
 */
export const isAdministrator = sql`(
    users.user_type = 'system'
    and users.status = 'active'
    and users.carrier_scope is null
    and users.deleted_at is null
    and exists (
      select 1
      from credentials
      where credentials.user_id = users.user_id and credentials.expires_at is null
        and credentials.password_hash is not null
    )
    and ${permitsAll}
  )`;
