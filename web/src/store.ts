import { useSyncExternalStore } from 'react';

/** A value outside of React that components can follow. */
export interface Store<Value> {
  get: () => Value;
  set: (value: Value) => void;
  /** Calls a function after each change. Returns a function that removes the listener. */
  subscribe: (listener: () => void) => () => void;
}

/** Returns a store with an initial value. */
export function createStore<Value>(initial: Value): Store<Value> {
  const listeners = new Set<() => void>();
  let current = initial;
  return {
    get: () => current,
    set: (value) => {
      current = value;
      for (const listener of [...listeners]) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the value of a store and follows its changes. */
export function useStore<Value>({ subscribe, get }: Store<Value>): Value {
  return useSyncExternalStore(subscribe, get);
}
