import type { FilterField, Reach, SpecialParameter } from '../common/query/filter';
import { readValue } from '../common/query/filter-value';
import type { ListSpec } from '../common/query/list-query';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { userStatuses } from './user.entity';

/** A user is online when seen within this time. */
const onlineWithin = rawSql(`interval '5 minutes'`);
const wordsMax = 5;
/** White space as ECMA-262 knows it, spelled out because `\s` differs between languages. */
const space = '\\x09-\\x0d \\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
const word = `[^\\x00${space}]+`;
const wordsForm = new RegExp(`^[${space}]*${word}(?:[${space}]+${word}){0,${wordsMax - 1}}[${space}]*$`);

/**
 * `user_search` holds what bulk changes leave alone (ADR 0007). The planner sees that this is a
 * join.
 */
const beside: Reach = (condition) =>
  sql`users.user_id in (select user_search.user_id from user_search where ${condition})`;

/** Contains, in that part of `names` or `others` which these patterns surround. */
function partLike(column: 'names' | 'others', start: string, end: string): FilterField['like'] {
  const condition = (value: string) =>
    sql`user_search.${rawSql(column)} like ${`${start}%`}::text || search_text(${value}) || ${`%${end}`}::text`;
  return { condition, reach: beside };
}

const fields: Record<string, FilterField> = {
  user_id: { column: 'users.user_id', type: 'uuid', meaning: 'Id' },
  user_type: {
    column: 'users.user_type',
    type: 'text',
    values: ['system', 'carrier'],
    // the same by users_carrier_check, and indexed
    equals: (value) => rawSql(value === 'system' ? 'users.carrier_id is null' : 'users.carrier_id is not null'),
    meaning: 'Kind of user',
  },
  status: { column: 'users.status', type: 'text', values: userStatuses, meaning: 'State' },
  name: {
    column: 'users.name',
    type: 'text',
    fold: true,
    like: partLike('names', ' ', ',%'),
    meaning: 'Login name, without regard to case',
  },
  email: {
    column: 'users.email',
    type: 'text',
    fold: true,
    like: partLike('names', '%, ', ';%'),
    meaning: 'E-mail address, without regard to case',
  },
  first_name: {
    column: 'user_search.first_name',
    reach: beside,
    type: 'text',
    like: partLike('names', '%; ', ':%'),
    meaning: 'First name',
  },
  last_name: {
    column: 'user_search.last_name',
    reach: beside,
    type: 'text',
    like: partLike('names', '%: ', '.'),
    meaning: 'Last name',
  },
  phone: {
    column: 'user_search.phone',
    reach: beside,
    type: 'text',
    nullable: true,
    like: partLike('others', ' ', ',%'),
    meaning: 'Phone number',
  },
  locale: {
    column: 'user_search.locale',
    reach: beside,
    type: 'text',
    nullable: true,
    like: partLike('others', '%; ', ':%'),
    meaning: 'Language',
  },
  timezone: {
    column: 'user_search.timezone',
    reach: beside,
    type: 'text',
    nullable: true,
    like: partLike('others', '%: ', '.'),
    meaning: 'Time zone',
  },
  carrier_id: {
    column: 'users.carrier_id',
    type: 'text',
    nullable: true,
    like: partLike('others', '%, ', ';%'),
    meaning: 'Carrier',
  },
  role: {
    column: 'users.roles',
    type: 'text',
    guessed: true,
    operators: ['eq', 'in'],
    equals: (value) => sql`users.roles @> array[${value}::text]`,
    equalsAny: (values) => sql`users.roles && ${values}::text[]`,
    meaning: 'A role the user has',
  },
  online: {
    column: 'users.last_seen_at',
    type: 'boolean',
    equals: (value) => onlineSql(value === true),
    meaning: 'Seen within 5 minutes',
  },
  last_login_ip: {
    column: 'users.last_login_ip',
    type: 'address',
    nullable: true,
    meaning: 'Address of the last login (address or CIDR)',
  },
  must_change_password: {
    column: 'users.must_change_password',
    type: 'boolean',
    meaning: 'Must change the password first',
  },
  created_at: { column: 'users.created_at', type: 'time', meaning: 'When the user was created' },
  updated_at: { column: 'users.updated_at', type: 'time', meaning: 'When a field was last changed' },
  last_login_at: { column: 'users.last_login_at', type: 'time', nullable: true, meaning: 'Last login' },
  last_seen_at: { column: 'users.last_seen_at', type: 'time', nullable: true, meaning: 'Last activity' },
  password_changed_at: {
    column: 'users.password_changed_at',
    type: 'time',
    nullable: true,
    meaning: 'When the password was last set',
  },
};

const q: SpecialParameter = {
  read: searchSql,
  reach: beside,
  pattern: wordsForm,
  meaning: `Up to ${wordsMax} words, each found in name, e-mail, first or last name; words of 1 or 2 characters match beginnings`,
};

/** What users can be found by; the same for lists and bulk changes. */
export const userFilter = { fields, specials: { q }, attributesColumn: 'users.attributes' };

/** What a list of users can be filtered and sorted by. */
export const userList: ListSpec = {
  name: 'users',
  filter: userFilter,
  sorts: {
    created_at: { column: 'users.created_at', type: 'timestamptz' },
    updated_at: { column: 'users.updated_at', type: 'timestamptz' },
    name: { column: 'lower(users.name)', type: 'text' },
    email: { column: 'lower(users.email)', type: 'text' },
    last_name: {
      column: 'lower(user_search.last_name)',
      type: 'text',
      join: { sql: 'join user_search on user_search.user_id = users.user_id', id: 'user_search.user_id' },
    },
    last_login_at: { column: 'users.last_login_at', type: 'timestamptz', nullable: true },
    last_seen_at: { column: 'users.last_seen_at', type: 'timestamptz', nullable: true },
    status: { column: 'users.status', type: 'text' },
    carrier_id: { column: 'users.carrier_id', type: 'text', nullable: true },
  },
  defaultSort: 'created_at',
};

/** SQL of "seen within 5 minutes", or of its contrary. */
export function onlineSql(online: boolean): SqlFragment {
  return online
    ? sql`users.last_seen_at > now() - ${onlineWithin}`
    : sql`(users.last_seen_at is null or users.last_seen_at <= now() - ${onlineWithin})`;
}

/** In `names` a blank is before each part, so that a blank before a short word finds beginnings. */
function searchSql(text: string): SqlFragment | { detail: string } {
  if (!wordsForm.test(text)) return { detail: `must have 1 to ${wordsMax} words, without NUL` };
  const read = readValue(text, { type: 'text' });
  if (!read.ok) return read;
  const words = text.trim().split(/\s+/);
  const conditions = words.map((word) => {
    const start = [...word].length < 3 ? '% ' : '%';
    return sql`user_search.names like ${start}::text || search_text(${word}) || '%'`;
  });
  return joinSql(conditions, ' and ');
}
