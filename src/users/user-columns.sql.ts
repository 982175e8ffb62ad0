import { joinSql, rawSql, sql } from '../common/query/sql';
import { userFields } from './user-fields';
import { onlineSql } from './user-list.sql';

const stored = Object.entries(userFields).map(([name, { type }]) =>
  rawSql(type === 'inet' ? `host(users.${name}) as ${name}` : `users.${name}`),
);

/** Renders the columns of a `UserRecord`. */
export const userColumns = sql`
  ${joinSql(stored, ', ')}, coalesce(${onlineSql(true)}, false) as online`;
