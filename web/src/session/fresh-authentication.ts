import { createStore, useStore } from '../store';

interface PendingProof {
  promise: Promise<boolean>;
  settle: (proved: boolean) => void;
}

const pending = createStore<PendingProof | null>(null);

/**
 * Asks the user to authenticate again, once for all waiting requests. Resolves with true after the
 * authentication, and with false if the user cancels.
 */
export function proveIdentity(): Promise<boolean> {
  const current = pending.get();
  if (current !== null) return current.promise;
  let settle: (proved: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((resolve) => {
    settle = (proved) => {
      pending.set(null);
      resolve(proved);
    };
  });
  pending.set({ promise, settle });
  return promise;
}

/** Returns the function that ends the pending authentication, or null if none is pending. */
export function useFreshAuthentication(): ((proved: boolean) => void) | null {
  return useStore(pending)?.settle ?? null;
}
