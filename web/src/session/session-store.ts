import type { components } from '../api/schema';
import { createStore, useStore } from '../store';

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

/** The state of the session. */
export const sessionStore = createStore<SessionState>({ phase: 'restoring' });

/** Returns the state of the session and follows its changes. */
export function useSession(): SessionState {
  return useStore(sessionStore);
}
