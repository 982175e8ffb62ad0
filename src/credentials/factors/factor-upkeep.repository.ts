import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../../common/query/sql';
import { Database } from '../../database/database';
import { expiredFactor } from './factors.repository';

/** The encrypted secret of any user. */
export interface StoredSecret {
  factor_id: string;
  user_id: string;
  secret: Buffer;
}

/** A secret that was encrypted again. */
export interface RenewedSecret {
  factor_id: string;
  before: Buffer;
  after: Buffer;
}

/** A ciphertext begins with the id of its key. Passkeys have no secret. */
const keyId = rawSql('substring(secret from 1 for 4)');

/** The SQL of the jobs about second factors. */
@Injectable()
export class FactorUpkeepRepository {
  constructor(private readonly database: Database) {}

  /** Deletes up to `limit` factors that were not confirmed in time, and returns their number. */
  async removeExpired(limit: number): Promise<number> {
    const removed = await this.database.run(sql`
      delete from second_factors
      where factor_id = any(array(
        select factor_id
        from second_factors
        where ${expiredFactor}
        limit ${limit}::integer
        for update skip locked
      ))
      returning 1`);
    return removed.length;
  }

  /** Lists secrets that another key encrypted, in the order of their ids. */
  listOutdated(key_id: Buffer, after_id: string, limit: number): Promise<StoredSecret[]> {
    return this.database.run<StoredSecret>(sql`
      select factor_id, user_id, secret
      from second_factors
      where factor_id > ${after_id}::uuid and ${keyId} <> ${key_id}::bytea
      order by factor_id
      limit ${limit}::integer`);
  }

  /** Replaces secrets that did not change since they were read. */
  async replaceSecrets(renewed: RenewedSecret[]): Promise<void> {
    await this.database.run(sql`
      update second_factors
      set secret = renewed.after
      from unnest(
        ${renewed.map(({ factor_id }) => factor_id)}::uuid[],
        ${renewed.map(({ before }) => before)}::bytea[],
        ${renewed.map(({ after }) => after)}::bytea[]
      ) renewed (factor_id, before, after)
      where second_factors.factor_id = renewed.factor_id and second_factors.secret = renewed.before`);
  }

  async countOutdated(key_id: Buffer): Promise<number> {
    const [row] = await this.database.run<{ count: number }>(sql`
      select count(*)::integer as count
      from second_factors
      where ${keyId} <> ${key_id}::bytea`);
    return row?.count ?? 0;
  }
}
