import { rawSql, sql } from '../common/query/sql';

/**
 * Any number: the advisory lock of whoever may end up removing an administrator, so that two at
 * once cannot remove the last two.
 */
export const administratorsLock = 7_263_005;

/** Whether a row of `users` has a role that permits everything, built in or not. */
export const permitsAll = rawSql(`users.roles && array(select name from roles where '*' = any(permissions))`);

/**
 * Whether a row of `users` is an administrator: an active System User with a password that does not
 * die unused, everything permitted, no scope.
 */
export const isAdministrator = sql`(users.user_type = 'system' and users.status = 'active' and users.carrier_scope is null and users.deleted_at is null
  and exists (select 1 from credentials where credentials.user_id = users.user_id and credentials.expires_at is null)
  and ${permitsAll})`;
