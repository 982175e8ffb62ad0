import { ApiProblem } from '../api/problems';
import { queryClient } from '../api/query-client';
import { announce, onAnnouncement } from './announcements';
import { exclusively } from './exclusively';
import { takeFirstRenewal } from './first-answers';
import { sessionRequests, type SessionTokens } from './session-requests';
import { sessionStore } from './session-store';

/** Milliseconds before the expiry of an access token at which the console renews it. */
const renewBeforeMs = 30_000;

// Only in memory, never in browser storage, which scripts can read (OWASP ASVS 3.4).
let token: { value: string; expiresAt: number } | null = null;
let renewal: Promise<boolean> | null = null;
/** First user since the page was loaded, who owns its content and its waiting requests. */
let ownerId: string | null = null;
/** Time at which the session ends unless it is renewed, by the clock of this computer. */
let endsAt = Infinity;

/** Returns the time at which the session ends unless it is renewed, in milliseconds. */
export function sessionEndsAt(): number {
  return endsAt;
}

/**
 * Returns an access token. Renews it shortly before it expires. If the session has ended, waits for
 * the login.
 */
export async function accessToken(): Promise<string> {
  for (;;) {
    if (token !== null && token.expiresAt - Date.now() > renewBeforeMs && sessionStore.get().phase === 'logged-in')
      return token.value;
    if (sessionStore.get().phase !== 'logged-in' || !(await renewToken(token?.value ?? null))) await waitForLogin();
  }
}

/**
 * Renews the access token, once for all callers in this tab, and in one tab at a time. Returns
 * false if the session has ended. Does nothing if the token `used` was already replaced.
 * @throws ApiProblem if the service is unreachable or fails
 */
export function renewToken(used: string | null = null): Promise<boolean> {
  if (used !== null && token !== null && token.value !== used) return Promise.resolve(true);
  renewal ??= refresh().finally(() => (renewal = null));
  return renewal;
}

/** Waits until the user has logged in again. */
export function waitForLogin(): Promise<void> {
  interrupt();
  return new Promise((resolve) => {
    const check = () => {
      if (sessionStore.get().phase !== 'logged-in') return;
      stop();
      resolve();
    };
    const stop = sessionStore.subscribe(check);
    check();
  });
}

/**
 * Ends the session of this tab without a request. The page stays, and a dialog asks for the login.
 */
export function interrupt(): void {
  const state = sessionStore.get();
  token = null;
  if (state.phase === 'logged-in') sessionStore.set({ phase: 'interrupted', user: state.user });
}

/** Reads the session from the cookie when the page loads, or after another tab logged in. */
export async function restoreSession(): Promise<void> {
  if (sessionStore.get().phase === 'failed') sessionStore.set({ phase: 'restoring' });
  try {
    if (!(await renewToken()) && sessionStore.get().phase === 'restoring')
      sessionStore.set({ phase: 'logged-out', reason: 'none' });
  } catch (problem) {
    if (sessionStore.get().phase === 'restoring') sessionStore.set({ phase: 'failed', problem });
  }
}

/** Starts a session with the response to a login. */
export function logIn(tokens: SessionTokens): void {
  accept(tokens);
  announce({ kind: 'logged-in' });
}

/** Replaces the access token after a fresh authentication. */
export function replaceToken(value: string, expiresIn: number): void {
  token = { value, expiresAt: Date.now() + expiresIn * 1_000 };
}

/**
 * Ends the session on the service and in all tabs.
 * @throws ApiProblem if the service is unreachable or fails
 */
export async function logOut(): Promise<void> {
  try {
    await exclusively(() => sessionRequests.logout(token?.value ?? null));
  } catch (error) {
    // The session had already ended.
    if (!hasEnded(error)) throw error;
  }
  leave();
  announce({ kind: 'logged-out' });
}

async function refresh(): Promise<boolean> {
  try {
    accept(await (takeFirstRenewal() ?? exclusively(sessionRequests.refresh)));
    announce({ kind: 'renewed', endsAt });
    return true;
  } catch (error) {
    if (hasEnded(error)) return false;
    throw error;
  }
}

const hasEnded = (error: unknown) => error instanceof ApiProblem && error.status === 401;

function accept({ access_token, expires_in, refresh_expires_in, user }: SessionTokens): void {
  ownerId ??= user.user_id;
  // The page and the requests that wait for a login or a fresh authentication belong to the
  // previous user. The next user must not send them (CWE-441), also after a logout.
  if (ownerId !== user.user_id) {
    location.reload();
    return;
  }
  replaceToken(access_token, expires_in);
  endsAt = Date.now() + refresh_expires_in * 1_000;
  sessionStore.set({ phase: 'logged-in', user });
}

function leave(): void {
  token = null;
  endsAt = Infinity;
  sessionStore.set({ phase: 'logged-out', reason: 'logout' });
  queryClient.clear();
}

onAnnouncement((announcement) => {
  const { phase } = sessionStore.get();
  if (announcement.kind === 'logged-out') leave();
  else if (announcement.kind === 'renewed') endsAt = announcement.endsAt;
  else if (phase === 'logged-out' || phase === 'interrupted') void restoreSession();
});
