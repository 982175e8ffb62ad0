import type { Scope } from '../scope';
import { visibleTo } from '../scope.sql';
import type { ListSql } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { apiKeyList } from './api-key-list';

/** Renders whether an API key is active. */
export const activeKey = rawSql('(keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())');

/**
 * Renders which keys a scope shows. Keys of Carrier Users are visible like Carrier Users. A System
 * User who is limited to carriers sees no keys of other System Users.
 */
export function visibleKeys(scope: Scope): SqlFragment {
  return visibleTo(scope, { user_id: 'keys.created_by', user_type: 'keys.user_type', carrier_id: 'keys.carrier_id' });
}

/** Renders API key lists. */
export const apiKeyListSql: ListSql = {
  list: apiKeyList,
  filter: {
    spec: apiKeyList.filter,
    table: 'keys',
    fields: {
      permission: {
        equals: (value) => sql`keys.permissions @> array[${value}::text]`,
        equalsAny: (values) => sql`keys.permissions && ${values}::text[]`,
      },
      active: { equals: (value) => sql`${activeKey} = ${value}::boolean` },
    },
  },
  from: rawSql('keys'),
  id: 'keys.key_id',
};
