import { Injectable } from '@nestjs/common';
import { sql } from '../../common/query/sql';
import { Database } from '../../database/database';

/** The SQL of the codes to enrol the first second factor. */
@Injectable()
export class EnrollmentCodesRepository {
  constructor(private readonly database: Database) {}

  /** Stores the code of a user who requested one. Returns false if none was requested. */
  async put(user_id: string, code_hash: Buffer, ttl_seconds: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      update enrollment_codes
      set code_hash = ${code_hash}::bytea,
        expires_at = now() + ${ttl_seconds}::integer * interval '1 second',
        wrong_codes = 0
      where user_id = ${user_id}::uuid
      returning 1`);
    return rows.length > 0;
  }
}
