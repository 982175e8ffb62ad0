import { useSyncExternalStore } from 'react';
import type { components } from '../api/schema';

/** The user of the session, as logins return it. */
export type SessionUser = components['schemas']['UserResponse'];

/** The state of the session in this tab. */
export type SessionState =
  | { phase: 'restoring' }
  /** the session cannot be read, for example because the service is unreachable */
  | { phase: 'failed'; problem: unknown }
  | { phase: 'logged-out'; reason: 'none' | 'logout' }
  | { phase: 'logged-in'; user: SessionUser }
  /** the session ended while the user worked: the page stays, and a dialog asks for the login */
  | { phase: 'interrupted'; user: SessionUser };

let state: SessionState = { phase: 'restoring' };
const listeners = new Set<() => void>();

/** Returns the current state. */
export function sessionState(): SessionState {
  return state;
}

/** Replaces the state. */
export function setSessionState(next: SessionState): void {
  state = next;
  for (const listener of [...listeners]) listener();
}

/** Calls a function after each change. Returns a function that removes the listener. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the state of the session and follows its changes. */
export function useSession(): SessionState {
  return useSyncExternalStore(onSessionChange, sessionState);
}
