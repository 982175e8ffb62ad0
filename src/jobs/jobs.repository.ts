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
}
