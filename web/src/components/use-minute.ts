import { useSyncExternalStore } from 'react';

const everyMs = 60_000;

const listeners = new Set<() => void>();
let minute = 0;
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    minute++;
    for (const notify of [...listeners]) notify();
  }, everyMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Re-renders the component each minute, for times relative to now. */
export function useMinute(): void {
  useSyncExternalStore(subscribe, () => minute);
}
