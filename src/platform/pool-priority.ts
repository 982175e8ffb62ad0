import { readdirSync, stat } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const threads = '/proc/self/task';
/**
 * Increase of the nice value.
 * Beside a busy thread, a pool thread gets at most a third of a core.
 */
const nicer = 5;
const nicest = 19;

/**
 * Lowers the priority of libuv's pool threads, so that password hashing does not slow down
 * requests.
 * Linux has a priority per thread (setpriority(2)). Without this, each running hash takes half a
 * core from the main thread. Call it before anything else uses the pool, because it creates the
 * pool.
 * Does nothing without /proc.
 */
export function lowerPoolPriority(): void {
  const before = listThreads();
  stat('/', () => undefined);
  for (const thread of listThreads()) if (!before.includes(thread)) lower(Number(thread));
}

function lower(thread: number): void {
  try {
    setPriority(thread, Math.min(nicest, getPriority() + nicer));
  } catch {
    // The service also works without the lower priority.
  }
}

function listThreads(): string[] {
  try {
    return readdirSync(threads);
  } catch {
    return [];
  }
}
