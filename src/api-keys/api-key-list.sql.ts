import type { ListSql } from '../common/query/page';
import { rawSql, sql } from '../common/query/sql';
import { apiKeyList } from './api-key-list';

/** Renders whether an API key is active. */
export const activeKey = rawSql('(keys.revoked_at is null and keys.expires_at > now())');

/** Renders API key lists. */
export const apiKeyListSql: ListSql = {
  list: apiKeyList,
  filter: {
    spec: apiKeyList.filter,
    table: 'keys',
    fields: {
      permission: {
        guessed: true,
        equals: (value) => sql`keys.permissions @> array[${value}::text]`,
        equalsAny: (values) => sql`keys.permissions && ${values}::text[]`,
      },
      active: { equals: (value) => sql`${activeKey} = ${value}::boolean` },
    },
  },
  from: rawSql('keys'),
  id: 'keys.key_id',
};
