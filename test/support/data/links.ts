import type { TestAnswer, TestService } from '../service';
import { until } from '../until';

/** Ends the 5-minute pause and the limits per address, so that the next mail is sent at once. */
export async function endMailLimits(service: TestService): Promise<void> {
  await service.rows(
    `update one_time_tokens set requested_at = requested_at - interval '1 hour' where purpose <> 'not_me'`,
  );
  await service.rows('delete from rate_limits');
}

/** Requests a reset without any mail limit, and returns the token from the mail. */
export async function mailedResetToken(service: TestService, email: string): Promise<string> {
  await endMailLimits(service);
  await service.post('/auth/reset_email', { body: { email } });
  return (await service.mailbox.take(email, /\/auth\/reset\//)).token ?? '';
}

/** Waits until only delayed jobs are left. A job that waits for another attempt is not delayed. */
export async function queueEmpty(service: Pick<TestService, 'rows'>): Promise<void> {
  await until(
    async () =>
      (await service.rows('select 1 from graphile_worker._private_jobs where run_at <= now() or attempts > 0 limit 1'))
        .length === 0,
  );
}

/** Returns a response without the id and the time of its request, to compare responses. */
export function visibleResponse({ status, headers, text }: TestAnswer): unknown {
  const shown = Object.entries(headers).filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, headers: shown, text: text.replace(/"request_id":"[^"]*"/, '').replace(/"instance":"[^"]*"/, '') };
}
