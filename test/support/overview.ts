import type { StatsService } from '../../src/stats/stats.service';
import type { TestService } from './service';

/** Refreshes the figures of the overview, even if a refresh is not due. */
export async function refreshOverview(service: TestService): Promise<void> {
  await service.rows('update overview_refreshes set due_at = now()');
  await service.inside<StatsService>('StatsService').refresh();
}

/** Adds a mail to a user that the mail server rejected for the last time. */
export async function addFailedMail(service: TestService, user_id: string): Promise<void> {
  await service.rows(
    `
      select graphile_worker.add_job(
        'send-mail', json_build_object('mail', 'reset', 'user_id', $1::text), max_attempts => 1,
        run_at => now() + interval '1 day'
      )`,
    [user_id],
  );
  await service.rows(`
    update graphile_worker._private_jobs
    set attempts = max_attempts, last_error = '550 5.1.1 Mailbox unavailable'
    where max_attempts = 1`);
}
