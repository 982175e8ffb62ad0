import { apiPath } from '../api/base';
import { fetchOrProblem, problemOf } from '../api/problems';
import type { components } from '../api/schema';

type Schemas = components['schemas'];

/**
 * The response to a login or a refresh. The refresh token is in a cookie that scripts cannot read.
 */
export type SessionTokens = Pick<
  Schemas['LoginResponse'],
  'access_token' | 'expires_in' | 'refresh_expires_in' | 'user'
>;

/** A proof for the second step of a login. */
export type SecondProof = { code: string } | { recovery_code: string } | { passkey: object };

/** Sends a request that sets or uses the cookie of the refresh token. */
async function send<Result>(path: string, body: object, headers: Record<string, string> = {}): Promise<Result> {
  const request = new Request(`${apiPath}/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const response = await fetchOrProblem(request);
  if (!response.ok) throw await problemOf(response);
  return (response.status === 204 ? undefined : await response.json()) as Result;
}

const transport = 'cookie';

/** Requests for the session itself, sent without `api`. @throws ApiProblem */
export const sessionRequests = {
  login: (login: string, password: string) => send<SessionTokens>('login', { login, password, transport }),
  secondFactor: (challenge: string, proof: SecondProof) =>
    send<SessionTokens>('second-factor', { challenge, ...proof, transport }),
  secondFactorOptions: (challenge: string) =>
    send<Schemas['PasskeyOptionsResponse']>('second-factor/passkey-options', { challenge }),
  passkeyOptions: () => send<Schemas['PasskeyOptionsResponse']>('passkey/options', {}),
  passkeyLogin: (challenge: string, passkey: object) =>
    send<SessionTokens>('passkey/login', { challenge, passkey, transport }),
  refresh: () => send<SessionTokens>('check-token', { transport }),
  /**
   * Ends the session. The access token is for cases without a usable cookie: plain HTTP, or a
   * second cookie that another application planted (H22).
   */
  logout: (token: string | null) =>
    send<undefined>('logout', { transport }, token === null ? {} : { authorization: `Bearer ${token}` }),
  requestReset: (email: string) => send<object>('reset_email', { email }),
};
