import { ApiProblem } from './problems';

/** Longest time to wait for the service. */
const waitMaxMs = 10 * 60_000;
/** Time between two attempts, unless the service names another. */
const pauseSeconds = 2;
const pauseSecondsMax = 10;
/** Statuses while the service restarts, or its database or proxy switches over. 0 = no response. */
const outages = [0, 502, 503, 504];

/**
 * Sends a request until the service responds. The request must have no second effect, because a
 * response can be lost. Stops waiting after 10 minutes, or when `signal` aborts.
 * @param onWait called with true before each pause
 * @throws ApiProblem the last problem
 */
export async function untilAvailable<Result>(
  send: () => Promise<Result>,
  signal: AbortSignal,
  onWait: () => void,
): Promise<Result> {
  const end = Date.now() + waitMaxMs;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiProblem) || !outages.includes(error.status) || Date.now() > end) throw error;
      if (!signal.aborted) onWait();
      await pause(Math.min(error.retryAfter ?? pauseSeconds, pauseSecondsMax), signal);
      if (signal.aborted) throw error;
    }
  }
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, signal.aborted ? 0 : seconds * 1_000);
    signal.addEventListener('abort', end);
  });
}
