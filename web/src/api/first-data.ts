import { useEffect } from 'react';
import { queryClient } from './query-client';

/** A request may wait for the service, or for a login. */
const atMostMs = 10_000;
let resolveFirstData: () => void;

/** Resolves when the first page has its data, which other files would delay on a slow network. */
export const firstData = new Promise<void>((resolve) => {
  resolveFirstData = resolve;
  setTimeout(resolve, atMostMs);
});

/** Resolves `firstData` when the page around the caller has its data. */
export function useFirstData(): void {
  useEffect(() => {
    let stop: (() => void) | undefined;
    const check = () => {
      if (queryClient.isFetching() > 0) return;
      stop?.();
      resolveFirstData();
    };
    // The parents of the caller send their requests after this effect.
    const timer = setTimeout(() => {
      stop = queryClient.getQueryCache().subscribe(check);
      check();
    });
    return () => {
      clearTimeout(timer);
      stop?.();
    };
  }, []);
}
