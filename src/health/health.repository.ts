import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** SQL of the health checks. */
@Injectable()
export class HealthRepository {
  constructor(private readonly database: Database) {}

  /** Counts the jobs that have waited for more than a minute, up to 1,000. */
  async countOverdueJobs(): Promise<number> {
    const rows = await this.database.run(sql`
      select 1
      from graphile_worker.jobs
      where locked_at is null and attempts < max_attempts and run_at < now() - interval '1 minute'
      limit 1000`);
    return rows.length;
  }
}
