import createClient from 'openapi-fetch';
import { proveIdentity } from '../session/fresh-authentication';
import { accessToken, renewToken, waitForLogin } from '../session/session';
import { apiPath } from './base';
import { fetchOrProblem, isProblem, problemOf } from './problems';
import { queryClient } from './query-client';
import { waitForService } from './reachable';
import type { components, operations, paths } from './schema';

/** Error codes for users who must first change the password or set up a second factor. */
const duties = ['auth.password_change_required', 'auth.second_factor_enrollment_required'];

/** A schema of the API. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** The query parameters of an operation of the API. */
export type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

/**
 * The API. Each call sends the access token and renews it when it expires. If the session is over,
 * the call waits for the login; if the operation needs a fresh authentication, it waits for that.
 * Then the call is repeated.
 * @throws ApiProblem for every response that is not a success
 */
export const api = createClient<paths>({
  baseUrl: apiPath,
  fetch: sendWithSession,
  querySerializer: { array: { style: 'form', explode: false } },
});

/** Returns the data of a call. */
export async function dataOf<Data>(call: Promise<{ data?: Data }>): Promise<Data> {
  const { data } = await call;
  return data as Data;
}

async function sendWithSession(request: Request): Promise<Response> {
  let renewed = false;
  for (;;) {
    const token = await accessToken();
    const attempt = request.clone();
    attempt.headers.set('authorization', `Bearer ${token}`);
    const response = await sendThroughOutage(attempt);
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.code === 'auth.token_invalid') {
      // If the renewed token is rejected too, the session has just ended.
      if (renewed || !(await renewToken(token))) await waitForLogin();
      renewed = !renewed;
    } else if (duties.includes(problem.code)) {
      // `Duties` shows what the user must do, after it has read the user again.
      void queryClient.invalidateQueries({ queryKey: ['me'] });
      throw problem;
    } else if (problem.code !== 'auth.reauthentication_required' || !(await proveIdentity())) throw problem;
  }
}

/**
 * Sends a request. If the service is not ready, a read waits until it is, and is sent again. A
 * change is not, because it may have taken effect: its form keeps the input and offers it again.
 */
async function sendThroughOutage(request: Request): Promise<Response> {
  const first = fetchOrProblem(request.clone());
  const isOutage = await first.then(({ status }) => status === 503, isProblem);
  if (!isOutage) return first;
  const outage = waitForService();
  return request.method === 'GET' && (await outage) ? fetchOrProblem(request) : first;
}
