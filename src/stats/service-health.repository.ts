import { Injectable } from '@nestjs/common';
import { sql } from '../http/lists/sql';
import { Database } from '../platform/database/database';
import { jobStateSql } from '../platform/jobs/jobs.sql';
import { serverUnusable } from '../platform/mail/mail-error';
import { mailJob } from '../users/mails/mail-job';
import { mailListSql } from '../users/mails/mail-list.sql';
import { secondsBehind } from '../webhooks/webhook-list.sql';
import type {
  DatabaseHealthResponse,
  JobsHealthResponse,
  MailHealthResponse,
  WebhooksHealthResponse,
} from './service-health.dto';

/** Figures of the whole service, read from the database. */
export interface ServiceFigures {
  /** `unusable`: mails whose last attempt could not use the mail server */
  mail: Omit<MailHealthResponse, 'state'> & { unusable: number };
  jobs: Omit<JobsHealthResponse, 'state'>;
  webhooks: Omit<WebhooksHealthResponse, 'state'>;
  database: Omit<DatabaseHealthResponse, 'state'>;
}

/** The SQL of the health of the service. */
@Injectable()
export class ServiceHealthRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reads the figures of mails, jobs, webhooks and the database. A job is overdue if it has been
   * due or running for more than 10 minutes. The count of the overview is included by its due time,
   * because no job exists for it while no instance runs jobs.
   */
  async read(): Promise<ServiceFigures> {
    const [row] = await this.database.run<ServiceFigures>(sql`
      select mail.figures as mail, jobs.figures as jobs, webhooks.figures as webhooks, server.figures as database
      from
        (
          select json_build_object(
            'waiting', count(*) filter (where state <> 'failed'),
            'failing', count(*) filter (where state <> 'failed' and failing),
            'failed', count(*) filter (where state = 'failed'),
            'unusable', count(*) filter (where state <> 'failed' and last_error ~ ${serverUnusable}),
            'oldest_seconds',
            coalesce(floor(extract(epoch from now() - min(created_at) filter (where state <> 'failed'))), 0)
          ) as figures
          from ${mailListSql.from}
        ) mail,
        (
          select json_build_object(
            'overdue', count(*) filter (where state <> 'failed' and since < now() - interval '10 minutes'),
            'failed', count(*) filter (where state = 'failed'),
            'oldest_seconds',
            coalesce(floor(extract(epoch from now() - min(since) filter (
              where state <> 'failed' and since < now() - interval '10 minutes'
            ))), 0)
          ) as figures
          from (
            select ${jobStateSql} as state, coalesce(job.locked_at, job.run_at) as since
            from graphile_worker._private_jobs job
            join graphile_worker._private_tasks task on task.id = job.task_id
            where task.identifier <> ${mailJob}
            union all
            select 'waiting', greatest(due_at, as_of + interval '1 minute')
            from overview_refreshes
          ) job
        ) jobs,
        (
          select json_build_object(
            'disabled', count(*) filter (where disabled_reason <> 'requested'),
            'failing', count(*) filter (where state = 'failing'),
            'behind_seconds', coalesce(floor(max(${secondsBehind}) filter (where state <> 'disabled')), 0)
          ) as figures
          from webhooks
        ) webhooks,
        (
          select json_build_object(
            'size_bytes', pg_database_size(current_database()),
            'connections', count(*),
            'connections_max', current_setting('max_connections')::integer
          ) as figures
          from pg_stat_activity
          where backend_type = 'client backend'
        ) server`);
    if (row === undefined) throw new Error('the health query returned no row');
    return row;
  }
}
