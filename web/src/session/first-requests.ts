import { apiPath, consolePath } from '../api/base';
import { fetchOrProblem, problemOf } from '../api/problems';
import { pageAt } from '../pages';
import { exclusively } from './exclusively';
import { type FirstUser, keepFirstAnswers } from './first-answers';
import { sessionRequests, type SessionTokens } from './session-requests';

// A separate script, which the page runs before the console has arrived: on a slow network, the
// session, the user and the code of the page then arrive together with the console.

const renewal = exclusively(() => {
  const sent = sessionRequests.refresh();
  // Only now: the files of the page would take all connections.
  const page = pageAt(location.pathname.slice(consolePath.length) || '/');
  // The router loads the page again, and shows the error.
  page?.load().catch(() => undefined);
  return sent;
});
keepFirstAnswers(renewal, renewal.then(readUser));

async function readUser({ access_token }: SessionTokens): Promise<FirstUser> {
  const headers = { authorization: `Bearer ${access_token}` };
  const response = await fetchOrProblem(new Request(`${apiPath}/user`, { headers }));
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as FirstUser;
}
