import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a condition holds.
 * @throws after `timeoutMs`
 */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 200_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain for: ${String(holds)}`);
    await delay(20);
  }
}
