import { apiPath, consolePath } from '../api/base';
import { fetchOrProblem, problemOf } from '../api/problems';
import type { components } from '../api/schema';
import { pageAt } from '../pages';
import { exclusively } from './exclusively';
import { sessionRequests, type SessionTokens } from './session-requests';

// A script of its own, which the page runs before the console has arrived: on a slow network, the
// session, the user and the code of the page then arrive together with the console.

type User = components['schemas']['CurrentUserResponse'];

let renewal: Promise<SessionTokens> | null = exclusively(() => {
  const sent = sessionRequests.refresh();
  // Only now: the files of the page would take all connections.
  const page = pageAt(location.pathname.slice(consolePath.length) || '/');
  // The router loads the page again, and shows the error.
  page?.load().catch(() => undefined);
  return sent;
});
let user: Promise<User> | null = renewal.then(readUser);
// Without a session both fail, and so does the caller that takes them.
user.catch(() => undefined);

/** Returns the renewal of the session that started with the page, once. */
export function takeFirstRenewal(): Promise<SessionTokens> | null {
  const taken = renewal;
  renewal = null;
  return taken;
}

/** Returns the user that the page read first, once, and null if that failed. */
export async function takeFirstUser(): Promise<User | null> {
  const taken = user;
  user = null;
  return taken === null ? null : taken.catch(() => null);
}

async function readUser({ access_token }: SessionTokens): Promise<User> {
  const headers = { authorization: `Bearer ${access_token}` };
  const response = await fetchOrProblem(new Request(`${apiPath}/user`, { headers }));
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as User;
}
