import { sql } from '../common/query/sql';
import { onlineSql } from './user-list.sql';

/** Columns of a `UserRecord`. */
export const userColumns = sql`
  users.user_id, users.user_type, users.name, users.email, users.email_pending, users.email_verified_at,
  users.first_name, users.last_name, users.phone, users.locale, users.timezone, users.carrier_id,
  users.carrier_scope, users.roles, users.status, users.allowed_ips, users.attributes, users.must_change_password,
  coalesce(${onlineSql(true)}, false) as online, users.created_at, users.created_by, users.updated_at,
  users.last_login_at, host(users.last_login_ip) as last_login_ip, users.last_seen_at, users.password_changed_at,
  users.locked_until, users.deleted_at, users.version`;
