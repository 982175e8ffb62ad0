import { Injectable } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import { rawSql, sql } from '../../common/query/sql';
import { Database } from '../../database/database';
import { totpStepSeconds } from './totp';

/** The encrypted secret of an authenticator app. */
export interface TotpSecret {
  factor_id: string;
  secret: Buffer;
  /** current step on the clock of the database, the same for all instances */
  step: number;
}

const currentStep = rawSql(`floor(extract(epoch from clock_timestamp()) / ${totpStepSeconds})::integer`);

/** The SQL of second factors and recovery codes. */
@Injectable()
export class FactorsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the kinds of the confirmed factors of a user, and the number of recovery codes. */
  async summary(user_id: string): Promise<{ kinds: FactorKind[]; recovery_codes_left: number }> {
    const [row] = await this.database.runPrepared<{ kinds: FactorKind[]; recovery_codes_left: number }>(sql`
      select
        array(
          select distinct kind
          from second_factors
          where user_id = ${user_id}::uuid and confirmed_at is not null
          order by kind desc
        ) as kinds,
        (
          select count(*)::integer
          from recovery_codes
          where user_id = ${user_id}::uuid
        ) as recovery_codes_left`);
    return row ?? { kinds: [], recovery_codes_left: 0 };
  }

  /** Returns the secrets of the confirmed authenticator apps of a user. */
  listSecrets(user_id: string): Promise<TotpSecret[]> {
    return this.database.runPrepared<TotpSecret>(sql`
      select factor_id, secret, ${currentStep} as step
      from second_factors
      where user_id = ${user_id}::uuid and kind = 'totp' and confirmed_at is not null`);
  }

  /**
   * Accepts a step of an authenticator app, and notes its use. Returns false if the step or a later
   * one was accepted before: only one of several concurrent requests with the same code succeeds.
   */
  async acceptStep(user_id: string, factor_id: string, step: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      with accepted as (
        insert into totp_steps (user_id, step)
        values (${user_id}::uuid, ${step}::bigint)
        on conflict (user_id) do update set step = excluded.step
        where totp_steps.step < excluded.step
        returning user_id
      )
      update second_factors
      set last_used_at = now()
      from accepted
      where second_factors.user_id = accepted.user_id
        and factor_id = ${factor_id}::uuid
        and confirmed_at is not null
      returning factor_id`);
    return rows.length > 0;
  }

  /**
   * Deletes a recovery code. Returns the number of codes that are left, or null if the code is not
   * one of the user's.
   */
  async deleteCode(user_id: string, code_hash: Buffer): Promise<number | null> {
    const [row] = await this.database.runPrepared<{ codes_left: number }>(sql`
      with used as (
        delete from recovery_codes
        where code_hash = ${code_hash}::bytea and user_id = ${user_id}::uuid
        returning user_id
      )
      select (
        select count(*)::integer
        from recovery_codes
        where user_id = ${user_id}::uuid and code_hash <> ${code_hash}::bytea
      ) as codes_left
      from used`);
    return row?.codes_left ?? null;
  }
}
