import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** The SQL that tells whether the database answers. */
@Injectable()
export class HealthRepository {
  constructor(private readonly database: Database) {}

  /** Fails when the database does not answer. */
  async ping(): Promise<void> {
    await this.database.run(sql`select 1`);
  }
}
