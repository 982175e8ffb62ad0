import { decodeJwt } from 'jose';
import { IdentityError, isInvalidToken } from './errors.js';
import { createIdentity } from './identity.js';
import type { ClientOptions, RequestOptions } from './transport.js';
import type { LoginResult } from './types.js';

/** The user at the portal. */
export interface Visitor {
  /** IP address of the user, as the portal sees it */
  address: string;
  /** header `User-Agent` of the user */
  userAgent?: string | undefined;
}

/** A session as the portal keeps it: on the server, or encrypted in an httpOnly cookie. */
export interface PortalSession {
  access_token: string;
  refresh_token: string;
  session_id: string;
  user_id: string;
  name: string;
  /** the session is restricted until the user chooses a new password */
  must_change_password: boolean;
  /** the session is restricted until the user enrols a second factor */
  must_enroll_second_factor: boolean;
}

/** Result of a login. Keep `challenge` on the server and ask for one of `factors`. */
export type LoginStep =
  | { session: PortalSession; challenge?: never; factors?: never }
  | { session?: never; challenge: string; factors: string[]; expires_in: number };

/** What a user enters as the second factor. */
export type SecondFactor = { challenge: string } & ({ code: string } | { recovery_code: string });

/** Limits of the tokens of a session. */
export interface TokenLimits {
  audience?: string[];
  permissions?: string[];
}

/** Settings of a portal. */
export interface LoginOptions extends Pick<ClientOptions, 'url' | 'timeout' | 'fetch'>, TokenLimits {
  /** API key with `login:forward`, so that limits apply to the address of the user */
  key: string;
  /** seconds before the end of an access token at which it is refreshed; default 60 */
  refreshBefore?: number;
}

/** Logs users of a portal in and out. */
export interface Login {
  /**
   * Checks name or e-mail address and password.
   * @throws IdentityError such as `auth.invalid_credentials`
   */
  login(credentials: { login: string; password: string }, visitor: Visitor): Promise<LoginStep>;
  /**
   * Completes a login.
   * @throws IdentityError such as `auth.invalid_second_factor` or `auth.challenge_invalid`
   */
  secondFactor(factor: SecondFactor, visitor: Visitor): Promise<PortalSession>;
  /**
   * Returns a session with a valid access token: the same one, or a refreshed one to store.
   * Returns null if the session has ended. Runs one refresh per session at a time.
   * @throws IdentityError if the service is unavailable and the token has expired: keep the session
   */
  refresh(session: PortalSession, visitor: Visitor): Promise<PortalSession | null>;
  /** Ends a session. Succeeds even if the session has already ended. */
  logout(session: PortalSession): Promise<void>;
  /** Mails a link to choose a new password, if the user exists. */
  requestReset(email: string, visitor: Visitor): Promise<void>;
  /**
   * Returns what a mailed link does, without using it.
   * @throws IdentityError `reset.token_invalid`
   */
  checkReset(token: string, visitor: Visitor): Promise<{ kind: string; expires_at: string }>;
  /**
   * Sets a new password with a mailed link.
   * @throws IdentityError with `errors` about the password: the link remains valid
   */
  reset(token: string, password: string, visitor: Visitor): Promise<void>;
}

/** Creates the logins of a portal. */
export function login(options: LoginOptions): Login {
  const { url, key, refreshBefore = 60, audience, permissions } = options;
  // This client has no key: the portal sends its key in `X-Api-Key`.
  const { auth } = createIdentity({ url, ...pick(options, 'timeout', 'fetch'), retries: 0 });
  const limits = { ...(audience && { audience }), ...(permissions && { permissions }) };
  const refreshing = new Map<string, Promise<PortalSession | null>>();
  const by = ({ address, userAgent = '' }: Visitor): RequestOptions => ({
    headers: { 'x-api-key': key, 'x-user-address': address, 'user-agent': userAgent },
  });

  async function renew(session: PortalSession, visitor: Visitor): Promise<PortalSession | null> {
    try {
      const body = { refresh_token: session.refresh_token };
      const renewed = await repeated(() => auth.checkToken(body, by(visitor)));
      return sessionOf({ ...session, ...renewed, session_id: session.session_id } as LoginResult);
    } catch (error) {
      if (isInvalidToken(error)) return null;
      if (error instanceof IdentityError && error.unavailable && secondsLeft(session) > 0) return session;
      throw error;
    }
  }

  return {
    async login(credentials, visitor) {
      try {
        return { session: sessionOf(await auth.login({ ...credentials, ...limits }, by(visitor))) };
      } catch (error) {
        if (!(error instanceof IdentityError) || error.code !== 'auth.second_factor_required') throw error;
        const { challenge = '', factors = [], expires_in = 0 } = error.problem;
        return { challenge, factors, expires_in };
      }
    },
    async secondFactor(factor, visitor) {
      return sessionOf(await auth.secondFactor(factor, by(visitor)));
    },
    async refresh(session, visitor) {
      if (secondsLeft(session) > refreshBefore) return session;
      const { refresh_token } = session;
      const running = refreshing.get(refresh_token) ?? renew(session, visitor);
      refreshing.set(refresh_token, running);
      return running.finally(() => refreshing.delete(refresh_token));
    },
    async logout({ refresh_token }) {
      await repeated(() => auth.logout({ refresh_token })).catch((error: unknown) => {
        if (!isInvalidToken(error)) throw error;
      });
    },
    async requestReset(email, visitor) {
      await auth.requestReset({ email }, by(visitor));
    },
    checkReset: (token, visitor) => auth.checkReset(token, by(visitor)),
    async reset(token, password, visitor) {
      await auth.reset(token, { password }, by(visitor));
    },
  };
}

/** Repeats a request without a response: within the grace period, the result is the same. */
async function repeated<T>(request: () => Promise<T>): Promise<T> {
  return request().catch((error: unknown) => {
    if (error instanceof IdentityError && error.status === 0) return request();
    throw error;
  });
}

/** Picks what a portal keeps, so that it fits into a cookie. */
function sessionOf({ access_token, refresh_token = '', session_id, user }: LoginResult): PortalSession {
  const { user_id, name, must_change_password, must_enroll_second_factor } = user;
  return { access_token, refresh_token, session_id, user_id, name, must_change_password, must_enroll_second_factor };
}

function secondsLeft({ access_token }: PortalSession): number {
  return (decodeJwt(access_token).exp ?? 0) - Date.now() / 1_000;
}

function pick<T, K extends keyof T>(from: T, ...keys: K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>;
}
