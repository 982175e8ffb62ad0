import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** SQL of the health checks. */
@Injectable()
export class HealthRepository {
  constructor(private readonly database: Database) {}

  /** Throws if the database does not respond. */
  async ping(): Promise<void> {
    await this.database.run(sql`select 1`);
  }
}
