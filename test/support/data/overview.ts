import type { StatsService } from '../../../src/stats/stats.service';
import type { TestService } from '../service';

/** Refreshes the figures of the overview, even if a refresh is not due. */
export async function refreshOverview(service: TestService): Promise<void> {
  await service.rows('update overview_refreshes set due_at = now()');
  await service.inside<StatsService>('StatsService').refresh();
}

interface JobFields {
  payload?: object;
  attempts?: number;
  last_error?: string | null;
  /** time since the job was due; by default it is due in a day */
  due?: string;
  /** time since the job began to run */
  locked?: string | null;
}

/** Adds a job, whose last attempt is the 25th. A worker runs no job of an unknown name. */
export async function addJob(
  service: TestService,
  name: string,
  { payload = {}, attempts = 0, last_error = null, due = '-1 day', locked = null }: JobFields = {},
): Promise<void> {
  const add = `select (graphile_worker.add_job($1, $2::json, run_at => now() + interval '1 day')).id`;
  const [job] = await service.rows<{ id: string }>(add, [name, JSON.stringify(payload)]);
  await service.rows(
    `
      update graphile_worker._private_jobs
      set
        attempts = $2, last_error = $3, run_at = now() - $4::interval, locked_at = now() - $5::interval,
        locked_by = case when $5 is not null then 'a worker' end
      where id = $1`,
    [job?.id, attempts, last_error, due, locked],
  );
}

/** Adds a mail to a user that is not sent yet. */
export async function addMail(service: TestService, user_id: string, fields: JobFields): Promise<void> {
  await addJob(service, 'send-mail', { ...fields, payload: { mail: 'reset', user_id } });
}

/** Adds a mail to a user that the mail server rejected for the last time. */
export async function addFailedMail(service: TestService, user_id: string): Promise<void> {
  await addMail(service, user_id, { attempts: 25, last_error: 'mail server: 550 5.1.1 Mailbox unavailable' });
}

/** Adds a webhook that sent all changes so far, and sends no other within a day. */
export async function addWebhook(
  service: TestService,
  { state = 'active', disabled_reason = null }: { state?: string; disabled_reason?: string | null },
): Promise<void> {
  await service.rows(
    `
      insert into webhooks (
        webhook_id, url, type_in, include_values, user_type, created_by, secret, state, disabled_reason,
        place_tx, place_id, place_at, next_attempt_at
      )
      values (
        gen_random_uuid(), 'https://module.example', '{}', false, 'system', $1, '', $2, $3,
        pg_current_xact_id()::text, gen_random_uuid(), now(), now() + interval '1 day'
      )`,
    [service.admin.user_id, disabled_reason === null ? state : 'disabled', disabled_reason],
  );
}
