import { useSyncExternalStore } from 'react';

interface Question {
  promise: Promise<boolean>;
  answer: (proved: boolean) => void;
}

let question: Question | null = null;
const listeners = new Set<() => void>();

/**
 * Asks the user to authenticate again, once for all requests that wait. Resolves with true after
 * the proof, and with false if the user cancels.
 */
export function proveIdentity(): Promise<boolean> {
  if (question !== null) return question.promise;
  let answer: (proved: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((resolve) => {
    answer = (proved) => {
      set(null);
      resolve(proved);
    };
  });
  set({ promise, answer });
  return promise;
}

/** Returns how to answer the open question, or null if none is open. */
export function useFreshAuthentication(): ((proved: boolean) => void) | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => question?.answer ?? null,
  );
}

function set(next: Question | null): void {
  question = next;
  for (const listener of [...listeners]) listener();
}
