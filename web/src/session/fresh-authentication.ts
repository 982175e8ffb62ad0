import { useSyncExternalStore } from 'react';

interface PendingProof {
  promise: Promise<boolean>;
  settle: (proved: boolean) => void;
}

let pending: PendingProof | null = null;
const listeners = new Set<() => void>();

/**
 * Asks the user to authenticate again, once for all waiting requests. Resolves with true after the
 * authentication, and with false if the user cancels.
 */
export function proveIdentity(): Promise<boolean> {
  if (pending !== null) return pending.promise;
  let settle: (proved: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((resolve) => {
    settle = (proved) => {
      set(null);
      resolve(proved);
    };
  });
  set({ promise, settle });
  return promise;
}

/** Returns the function that ends the pending authentication, or null if none is pending. */
export function useFreshAuthentication(): ((proved: boolean) => void) | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pending?.settle ?? null,
  );
}

function set(next: PendingProof | null): void {
  pending = next;
  for (const listener of [...listeners]) listener();
}
