import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { QueryOf } from '../api/client';
import { uuidPattern } from '../api/ids';
import { listUsers } from '../api/list-users';
import { readEvents } from '../audit/data';
import { searchMinLength } from '../components/filter/conditions';
import type { User } from '../users/data';

const usersMax = 7;
/** Any text of at least 8 characters may be a request id, because clients may choose it. */
const requestPattern = /^\S{8,}$/;
const phonePattern = /^\+?[\d ()/-]{4,}$/;

/** Returns the query of users by name, e-mail address, phone number, id, or the id of a request. */
export const foundUsersQuery = (text: string, mayReadAudit: boolean) =>
  queryOptions({
    queryKey: ['users', 'found', text],
    queryFn: ({ signal }) => find(text, mayReadAudit, signal),
    placeholderData: keepPreviousData,
  });

async function find(text: string, mayReadAudit: boolean, signal: AbortSignal): Promise<User[]> {
  const list = async (query: QueryOf<'listUsers'>): Promise<User[]> => {
    const { items } = await listUsers({ ...query, per_page: usersMax, count: 'none' }, signal);
    return items;
  };
  if (uuidPattern.test(text)) {
    const ids = [text, ...(mayReadAudit ? await usersOfRequest(text, signal) : [])];
    return list({ user_id_in: [...new Set(ids)] });
  }
  if (phonePattern.test(text) && digitsOf(text).length >= searchMinLength) {
    const [byPhone, byText] = await Promise.all([list({ phone_like: digitsOf(text) }), list({ q: text })]);
    return joined(byPhone, byText);
  }
  // The exact match comes first: newer users with the same prefix must not push it off the list.
  const exact = list(text.includes('@') ? { email: text } : { name: text });
  const found = joined(...(await Promise.all([exact, list({ q: text })])));
  if (found.length > 0 || !mayReadAudit || !requestPattern.test(text)) return found;
  const ids = await usersOfRequest(text, signal);
  return ids.length === 0 ? [] : list({ user_id_in: [...new Set(ids)] });
}

/** Returns the users of both lists, each once. */
const joined = (first: User[], second: User[]) => [
  ...first,
  ...second.filter(({ user_id }) => first.every((known) => known.user_id !== user_id)),
];

/** Returns the digits of a phone number without leading zeros, which country codes replace. */
const digitsOf = (phone: string) => phone.replace(/\D/g, '').replace(/^0+/, '');

/** Returns the ids of the users that a request affected, and of the user who sent it. */
async function usersOfRequest(request_id: string, signal: AbortSignal): Promise<string[]> {
  const { items } = await readEvents({ request_id, per_page: usersMax }, signal);
  return items.flatMap(({ target_id, target_type, actor_id, actor_type }) => [
    ...(target_id !== null && (target_type === 'user' || target_type === 'login') ? [target_id] : []),
    ...(actor_id !== null && actor_type === 'user' ? [actor_id] : []),
  ]);
}
