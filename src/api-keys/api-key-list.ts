import type { ListSpec } from '../common/query/list-query';
import { rawSql, sql } from '../common/query/sql';

/** SQL that tells a key that works. */
export const activeKey = rawSql('(keys.revoked_at is null and keys.expires_at > now())');

/** What keys can be filtered and sorted by. */
export const apiKeyList: ListSpec = {
  name: 'keys',
  filter: {
    fields: {
      key_id: { column: 'keys.key_id', type: 'uuid', meaning: 'Id of the key' },
      name: { column: 'keys.name', type: 'text', meaning: 'Name' },
      permission: {
        column: 'keys.permissions',
        type: 'text',
        guessed: true,
        operators: ['eq', 'in'],
        equals: (value) => sql`keys.permissions @> array[${value}::text]`,
        equalsAny: (values) => sql`keys.permissions && ${values}::text[]`,
        meaning: 'Permission that it has by name',
      },
      user_type: {
        column: 'keys.user_type',
        type: 'text',
        values: ['system', 'carrier'],
        meaning: 'Kind of user that it acts like',
      },
      carrier_id: { column: 'keys.carrier_id', type: 'text', nullable: true, meaning: 'Carrier whose key it is' },
      active: {
        column: 'keys.revoked_at',
        type: 'boolean',
        equals: (value) => sql`${activeKey} = ${value}::boolean`,
        meaning: 'Whether it works',
      },
      created_at: { column: 'keys.created_at', type: 'time', meaning: 'When it was made' },
      created_by: { column: 'keys.created_by', type: 'uuid', meaning: 'Who made it' },
      expires_at: { column: 'keys.expires_at', type: 'time', meaning: 'When it expires' },
      last_used_at: { column: 'keys.last_used_at', type: 'time', nullable: true, meaning: 'Last use, to the minute' },
      last_used_ip: {
        column: 'keys.last_used_ip',
        type: 'address',
        nullable: true,
        meaning: 'Address of the last use (address or CIDR)',
      },
      revoked_at: { column: 'keys.revoked_at', type: 'time', nullable: true, meaning: 'When it was revoked' },
      revoked_by: { column: 'keys.revoked_by', type: 'uuid', nullable: true, meaning: 'Who revoked it' },
    },
  },
  sorts: {
    created_at: { column: 'keys.created_at', type: 'timestamptz' },
    name: { column: 'keys.name', type: 'text' },
    expires_at: { column: 'keys.expires_at', type: 'timestamptz' },
    last_used_at: { column: 'keys.last_used_at', type: 'timestamptz', nullable: true },
  },
  defaultSort: 'created_at',
};
