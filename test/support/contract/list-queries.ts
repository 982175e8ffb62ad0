import { inspect } from 'node:util';
import { systemActor } from '../../../src/access/actor';
import { CursorCodec } from '../../../src/http/lists/cursor';
import type { RawQuery } from '../../../src/http/lists/filter';
import { type ListQuery, type ListSpec, parseListQuery } from '../../../src/http/lists/list-query';
import { parseUserListQuery, type UserListQuery } from '../../../src/users/user-list';

const cursors = new CursorCodec(Buffer.alloc(32));

/** Parses the query of a list, as a controller does for its repository. */
export function listQuery(spec: ListSpec, query: RawQuery = {}): ListQuery {
  return shownAs(query, parseListQuery(query, spec, 'caller', cursors));
}

/** Parses the query of a user list, for a caller with every permission. */
export function userListQuery(query: RawQuery = {}): UserListQuery {
  return shownAs(query, parseUserListQuery(query, { actor: systemActor, cursors, owner: 'caller' }));
}

/** Shows the parameters of a query in the comments of docs/sql. */
function shownAs<Parsed extends object>(query: RawQuery, parsed: Parsed): Parsed {
  return Object.defineProperty(parsed, inspect.custom, { value: () => query, enumerable: false });
}
