import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** The SQL that puts jobs into the queue. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  /** Adds a job in the current transaction; a job with the same key that has not run yet is replaced. */
  async add(name: string, payload: object, key: string | null): Promise<void> {
    await this.database.run(
      sql`select graphile_worker.add_job(${name}, payload => ${JSON.stringify(payload)}::json, job_key => ${key}, max_attempts => 25)`,
    );
  }

  /** Adds many jobs of a name in the current transaction. */
  async addMany(name: string, jobs: { payload: object; key: string }[]): Promise<void> {
    await this.database
      .run(sql`select count(graphile_worker.add_job(${name}, payload => job.payload, job_key => job.key, max_attempts => 25))
      from json_to_recordset(${JSON.stringify(jobs)}::json) as job (payload json, key text)`);
  }

  /** Takes a job that has not run yet out of the queue again. */
  async remove(key: string): Promise<void> {
    await this.database.run(sql`select graphile_worker.remove_job(${key})`);
  }

  /** Lets jobs run again whose process has died, or could not tell that it was done with them. */
  async releaseAbandoned(afterSeconds: number): Promise<void> {
    await this.database.run(
      sql`select graphile_worker.force_unlock_workers(array(
        select distinct locked_by from graphile_worker.jobs where locked_at < now() - make_interval(secs => ${afterSeconds})))`,
    );
  }
}
