import { Injectable } from '@nestjs/common';
import { sql } from '../http/lists/sql';
import { Database } from '../platform/database/database';

/** SQL of the health checks. */
@Injectable()
export class HealthRepository {
  constructor(private readonly database: Database) {}

  async ping(): Promise<void> {
    await this.database.run(sql`select 1`);
  }

  /** Counts the jobs that have waited for more than a minute, up to 1,000. */
  async countOverdueJobs(): Promise<number> {
    const rows = await this.database.run(sql`
      select 1
      from graphile_worker._private_jobs
      where is_available and run_at < now() - interval '1 minute'
      limit 1000`);
    return rows.length;
  }
}
