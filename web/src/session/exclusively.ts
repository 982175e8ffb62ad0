import { apiPath } from '../api/base';

/**
 * Runs a function while no other tab does: two tabs must not send the same refresh token. Without
 * Web Locks, which need HTTPS or localhost, runs it at once.
 */
export function exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
  const locks = navigator.locks as LockManager | undefined;
  return locks === undefined ? work() : locks.request(`carrier-identity ${apiPath}`, work);
}
