import { queryClient } from './query-client';

/** Time without requests after which the data is complete: new parts send requests, too. */
const quietMs = 250;
/** A request may wait for the service, or for a login. */
const atMostMs = 10_000;

/** Resolves when the first page has its data, which other files would delay on a slow network. */
export const firstData = new Promise<void>((resolve) => {
  const finish = () => {
    stop();
    clearTimeout(timer);
    clearTimeout(latest);
    resolve();
  };
  const check = () => {
    if (queryClient.isFetching() === 0) finish();
  };
  let timer = setTimeout(check, quietMs);
  const latest = setTimeout(finish, atMostMs);
  const stop = queryClient.getQueryCache().subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(check, quietMs);
  });
});
