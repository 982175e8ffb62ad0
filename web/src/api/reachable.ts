import { createStore, useStore } from '../store';
import { apiPath } from './base';

/** Milliseconds between two attempts to reach the service. */
const probeEveryMs = 2_000;

/** An outage: its end, or null while the service responds. */
const outage = createStore<Promise<void> | null>(null);

/** Returns whether the service serves the console. */
export async function isReachable(): Promise<boolean> {
  return responds(document.baseURI);
}

/**
 * Waits until the service is ready, for example after a failover of its database. Meanwhile, the
 * console shows that it waits. Returns false at once if the service is ready.
 */
export async function waitForService(): Promise<boolean> {
  if (await responds(`${apiPath}/health/ready`)) return false;
  if (outage.get() === null) outage.set(probe().finally(() => outage.set(null)));
  await outage.get();
  return true;
}

/** Returns whether the console waits for the service. */
export function useIsWaiting(): boolean {
  return useStore(outage) !== null;
}

async function probe(): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
  while (!(await responds(`${apiPath}/health/ready`)));
}

async function responds(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
