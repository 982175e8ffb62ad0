import type { TestAnswer, TestService } from './service';

/**
 * Lets the next link be mailed at once: ends the pause of 5 minutes and the limits per address.
 */
export async function endPause(service: TestService): Promise<void> {
  await service.rows(`update one_time_tokens set requested_at = requested_at - interval '1 hour'`);
  await service.rows('delete from rate_limits');
}

/** Requests a reset without any mail limit, and returns the token from the mail. */
export async function mailedResetToken(service: TestService, email: string): Promise<string> {
  await endPause(service);
  await service.post('/auth/reset_email', { body: { email } });
  return (await service.mailbox.take(email, /\/auth\/reset\//)).token ?? '';
}

/**
 * Waits until no job is left but delayed ones. Jobs that wait for another attempt are not delayed.
 */
export async function queueEmpty(service: Pick<TestService, 'rows'>): Promise<void> {
  await until(
    async () =>
      (await service.rows('select 1 from graphile_worker._private_jobs where run_at <= now() or attempts > 0 limit 1'))
        .length === 0,
  );
}

/** Polls until something holds. */
export async function until(holds: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for: ${String(holds)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What an answer tells whoever gets it: all of it but the id and the time of the request. */
export function tellsOf({ status, headers, text }: TestAnswer): unknown {
  const told = Object.entries(headers).filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, told, text: text.replace(/"request_id":"[^"]*"/, '').replace(/"instance":"[^"]*"/, '') };
}
