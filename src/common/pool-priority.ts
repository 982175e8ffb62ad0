import { readdirSync, stat } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const threads = '/proc/self/task';
/**
 * So much nicer than the process: beside a thread that wants all of a core, one of these gets a
 * third of it or less; alone, all of it.
 */
const nicer = 5;
const nicest = 19;

/**
 * Lets requests go before passwords: the threads of libuv's pool, which hash them, get a lower
 * priority than the one that answers (setpriority(2): under Linux each thread has its own). Else
 * every hash in flight takes half of a core from everybody. Call it before anything uses the pool:
 * it is made here. Does nothing where there is no /proc.
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
    // a favour, and no reason not to start
  }
}

function listThreads(): string[] {
  try {
    return readdirSync(threads);
  } catch {
    return [];
  }
}
