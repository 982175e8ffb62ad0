import { userTypes } from '../access/actor';
import type { QueryContext } from '../access/list-query.decorator';
import { assertHolds } from '../access/permissions';
import { type FieldError, invalid, limitFault } from '../http/errors/app-error';
import { readBoolean } from '../http/lists/boolean-parameter';
import {
  type FilterField,
  type FilterSpec,
  parseFilter,
  type RawQuery,
  type SpecialParameter,
} from '../http/lists/filter';
import { type ListQuery, type ListSpec, parseListQuery } from '../http/lists/list-query';
import { userStatuses } from './user.entity';
import { searchedFields } from './user-fields';

const wordsMax = 5;
/** White space of ECMA-262, spelled out because `\s` differs between languages. */
const space = '\\x09-\\x0d \\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
const word = `[^\\x00${space}]+`;

const fields: Record<string, FilterField> = {
  user_id: { type: 'uuid', meaning: 'Id' },
  user_type: { type: 'text', values: userTypes, meaning: 'Kind of user' },
  status: { type: 'text', values: userStatuses, meaning: 'State' },
  name: { type: 'text', fold: true, meaning: 'Login name, without regard to case' },
  email: { type: 'text', fold: true, meaning: 'E-mail address, without regard to case' },
  ...searchedFields((_name, { filter, empty }) => ({
    type: 'text',
    ...(empty === undefined && { nullable: true }),
    meaning: filter,
  })),
  carrier_id: { type: 'text', nullable: true, meaning: 'Carrier' },
  role: { type: 'text', operators: ['eq', 'in'], meaning: 'A role that the user has' },
  online: { type: 'boolean', meaning: 'Seen within 5 minutes in a session that has not ended' },
  last_login_ip: { type: 'address', nullable: true, meaning: 'Address of the last login (address or CIDR)' },
  must_change_password: { type: 'boolean', meaning: 'Must change the password before any other request' },
  has_second_factor: { type: 'boolean', meaning: 'Has a confirmed second factor' },
  must_enroll_second_factor: { type: 'boolean', meaning: 'Has no second factor although one is required now' },
  created_at: { type: 'time', meaning: 'When the user was created' },
  updated_at: { type: 'time', meaning: 'When a field was last changed' },
  last_login_at: { type: 'time', nullable: true, meaning: 'Last login' },
  last_seen_at: { type: 'time', nullable: true, meaning: 'Last activity' },
  password_changed_at: { type: 'time', nullable: true, meaning: 'When the password was last set' },
  locked_until: { type: 'time', nullable: true, meaning: 'End of the account lockout' },
};

/** Labels of the fields that `q` searches besides name and e-mail. */
const found = Object.values(searchedFields((_name, { filter, searched }) => ({ filter, searched })))
  .filter(({ searched }) => searched === 'names')
  .map(({ filter }) => filter.toLowerCase());

const q: SpecialParameter = {
  pattern: new RegExp(`^[${space}]*${word}(?:[${space}]+${word}){0,${wordsMax - 1}}[${space}]*$`),
  fault: limitFault('parameter.malformed', { min: 1, max: wordsMax, unit: 'words' }),
  meaning:
    `Up to ${wordsMax} words, each found in one of name, e-mail, ${found.join(', ')}; ` +
    'words of 1 or 2 characters match beginnings',
  example: 'ada',
};

/** Filters of users, for lists, bulk changes and exports. */
export const userFilter: FilterSpec = { selects: 'user', fields, specials: { q }, attributes: true };

/** Filters and sort fields of user lists. */
export const userList: ListSpec = {
  name: 'users',
  filter: userFilter,
  sorts: {
    created_at: { type: 'time' },
    updated_at: { type: 'time' },
    name: { type: 'text' },
    email: { type: 'text' },
    last_name: { type: 'text' },
    last_login_at: { type: 'time', nullable: true },
    last_seen_at: { type: 'time', nullable: true },
    status: { type: 'text' },
    carrier_id: { type: 'text', nullable: true },
  },
  defaultSort: 'created_at',
};

/** Filters and sort fields of the list of deleted users. */
export const deletedUserList: ListSpec = {
  ...userList,
  name: 'deleted users',
  filter: {
    ...userFilter,
    fields: { ...fields, deleted_at: { type: 'time', meaning: 'When the user was deleted (with `deleted=true`)' } },
  },
  sorts: { ...userList.sorts, deleted_at: { type: 'time' } },
};

/** Fields of a deleted user that `user:read` shows. All others need `user:read_deleted`. */
export const deletedUserFields = ['user_id', 'user_type', 'carrier_id', 'created_at', 'deleted_at', 'version'] as const;

/** The parsed query of a user list. */
export interface UserListQuery extends ListQuery {
  /** lists deleted users only, otherwise only users that are not deleted */
  deleted: boolean;
}

/**
 * Parses the query of a user list.
 * @throws request.invalid, page.too_deep, page.cursor_invalid
 * @throws access.denied if the query reads deleted users by a field that the actor may not see
 */
export function parseUserListQuery(query: RawQuery, { actor, cursors, owner }: QueryContext): UserListQuery {
  const errors: FieldError[] = [];
  const { deleted: given, ...rest } = query;
  const deleted = readBoolean({ deleted: given }, 'deleted', errors, ['true']);
  if (errors.length > 0) throw invalid(...errors);
  if (deleted && readsHiddenFields(rest)) assertHolds(actor, 'user:read_deleted');
  return { deleted, ...parseListQuery(rest, deleted ? deletedUserList : userList, owner, cursors) };
}

/** Returns whether a query filters or sorts by a field that `user:read` does not show. */
function readsHiddenFields(query: RawQuery): boolean {
  const hidden = (field: unknown) => !deletedUserFields.some((shown) => shown === field);
  const sort = String(query['order_by']);
  const sorts = Object.hasOwn(deletedUserList.sorts, sort) && hidden(sort);
  // Faulty parameters are rejected later.
  return (
    sorts || parseFilter(query, deletedUserList.filter, []).some((one) => one.kind !== 'field' || hidden(one.field))
  );
}
