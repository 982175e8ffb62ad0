import type { components } from '../api/schema';
import type { SessionTokens } from './session-requests';

/** The user that the page reads first. */
export type FirstUser = components['schemas']['CurrentUserResponse'];

let renewal: Promise<SessionTokens> | null = null;
let user: Promise<FirstUser> | null = null;

/** Keeps the responses to the requests that the page sends before the console has arrived. */
export function keepFirstAnswers(firstRenewal: Promise<SessionTokens>, firstUser: Promise<FirstUser>): void {
  renewal = firstRenewal;
  user = firstUser;
  // Without a session both fail, and so does the caller that takes them.
  user.catch(() => undefined);
}

/** Returns the renewal of the session that started with the page, once. */
export function takeFirstRenewal(): Promise<SessionTokens> | null {
  const taken = renewal;
  renewal = null;
  return taken;
}

/** Returns the user that the page read first, once, and null if that failed. */
export async function takeFirstUser(): Promise<FirstUser | null> {
  const taken = user;
  user = null;
  return taken === null ? null : taken.catch(() => null);
}
