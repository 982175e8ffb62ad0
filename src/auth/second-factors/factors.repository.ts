import { Injectable } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { SecretOwner } from './factor-secrets';
import type { SecondFactorEntity } from './second-factor.entity';
import { totpStepSeconds } from './codes/totp';

/** A second factor without its secret. */
export interface FactorRecord extends Pick<
  SecondFactorEntity,
  'factor_id' | 'user_id' | 'kind' | 'name' | 'created_at' | 'last_used_at' | 'aaguid'
> {
  /** false until the first right code */
  confirmed: boolean;
}

/** The encrypted secret of an authenticator app. */
export interface TotpSecret {
  factor_id: string;
  secret: Buffer;
  /** current step on the clock of the database, the same for all instances */
  step: number;
}

/** The ciphertext of a secret before and after it is encrypted with the current key. */
export interface RenewedSecret {
  factor_id: string;
  before: Buffer;
  after: Buffer;
}

/** What can complete a login of a user. */
export interface FactorSummary {
  /** kinds of the confirmed factors that can be used, each once */
  kinds: FactorKind[];
  recovery_codes_left: number;
}

const currentStep = rawSql(`floor(extract(epoch from clock_timestamp()) / ${totpStepSeconds})::integer`);
/** Renders whether a factor was not confirmed in time. */
const expiredFactor = rawSql(`(confirmed_at is null and created_at <= now() - interval '10 minutes')`);
/** A ciphertext begins with the id of its key. Passkeys have no secret. */
const keyId = rawSql('substring(secret from 1 for 4)');
const columns = rawSql(
  'factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed',
);

/** The SQL of second factors and recovery codes. */
@Injectable()
export class FactorsRepository {
  constructor(private readonly database: Database) {}

  list(user_id: string): Promise<FactorRecord[]> {
    return this.database.runPrepared<FactorRecord>(sql`
      select ${columns}
      from second_factors
      where user_id = ${user_id}::uuid and not ${expiredFactor}
      order by created_at, factor_id`);
  }

  /**
   * Returns the kinds of the confirmed factors that a user can use, and the number of recovery
   * codes.
   * @param rp_id RP id of the passkeys that can be used; null = none
   */
  async summary(user_id: string, rp_id: string | null): Promise<FactorSummary> {
    const [row] = await this.database.runPrepared<FactorSummary>(sql`
      select
        array(
          select distinct kind
          from second_factors
          where user_id = ${user_id}::uuid
            and confirmed_at is not null
            and (kind <> 'passkey' or rp_id = ${rp_id}::text)
          order by kind desc
        ) as kinds,
        (
          select count(*)::integer
          from recovery_codes
          where user_id = ${user_id}::uuid
        ) as recovery_codes_left`);
    return row ?? { kinds: [], recovery_codes_left: 0 };
  }

  /** Inserts an authenticator app that is not confirmed. */
  async insertTotp({ factor_id, user_id, name, secret }: Omit<TotpSecret, 'step'> & FactorName): Promise<void> {
    await this.database.run(sql`
      insert into second_factors (factor_id, user_id, kind, name, secret)
      values (${factor_id}::uuid, ${user_id}::uuid, 'totp', ${name}, ${secret}::bytea)`);
  }

  async deleteUnconfirmed(user_id: string): Promise<void> {
    await this.database.run(sql`
      delete from second_factors
      where user_id = ${user_id}::uuid and confirmed_at is null`);
  }

  /** Returns the secret of an authenticator app that is not confirmed, or null. */
  findUnconfirmed(user_id: string, factor_id: string): Promise<TotpSecret | null> {
    return this.database.find<TotpSecret>(sql`
      select factor_id, secret, ${currentStep} as step
      from second_factors
      where user_id = ${user_id}::uuid
        and factor_id = ${factor_id}::uuid
        and kind = 'totp'
        and confirmed_at is null
        and not ${expiredFactor}`);
  }

  /** Returns the secrets of the confirmed authenticator apps of a user. */
  listSecrets(user_id: string): Promise<TotpSecret[]> {
    return this.database.runPrepared<TotpSecret>(sql`
      select factor_id, secret, ${currentStep} as step
      from second_factors
      where user_id = ${user_id}::uuid and kind = 'totp' and confirmed_at is not null`);
  }

  /**
   * Accepts a step of an authenticator app, and notes its use; the first use confirms the factor.
   * Returns null if the step or a later one was accepted before: only one of several concurrent
   * requests with the same code succeeds.
   * @param confirmed whether the factor must be confirmed already
   */
  acceptStep(user_id: string, factor_id: string, step: number, confirmed: boolean): Promise<FactorRecord | null> {
    return this.database.findPrepared<FactorRecord>(sql`
      with accepted as (
        insert into totp_steps (user_id, step)
        values (${user_id}::uuid, ${step}::bigint)
        on conflict (user_id) do update set step = excluded.step
        where totp_steps.step < excluded.step
        returning user_id as owner_id
      )
      update second_factors
      set last_used_at = now(), confirmed_at = coalesce(confirmed_at, now())
      from accepted
      where user_id = owner_id
        and factor_id = ${factor_id}::uuid
        and (confirmed_at is not null) = ${confirmed}::boolean
      returning ${columns}`);
  }

  /** Counts a wrong code of an unconfirmed factor. The one with number `max` deletes the factor. */
  async countWrong(factor_id: string, max: number): Promise<void> {
    await this.database.run(sql`
      with counted as (
        update second_factors
        set wrong_codes = wrong_codes + 1
        where factor_id = ${factor_id}::uuid and wrong_codes < ${max - 1}::integer
        returning factor_id
      )
      delete from second_factors
      where factor_id = ${factor_id}::uuid and not exists (select from counted)`);
  }

  rename(user_id: string, factor_id: string, name: string): Promise<(FactorRecord & PreviousName) | null> {
    return this.database.find<FactorRecord & PreviousName>(sql`
      with before as (
        select factor_id as renamed_id, name as previous_name
        from second_factors
        where user_id = ${user_id}::uuid and factor_id = ${factor_id}::uuid and not ${expiredFactor}
        for no key update
      )
      update second_factors
      set name = ${name}
      from before
      where factor_id = renamed_id
      returning ${columns}, previous_name`);
  }

  delete(user_id: string, factor_id: string): Promise<FactorRecord | null> {
    return this.database.find<FactorRecord>(sql`
      delete from second_factors
      where user_id = ${user_id}::uuid and factor_id = ${factor_id}::uuid and not ${expiredFactor}
      returning ${columns}`);
  }

  deleteAll(user_ids: string[]): Promise<FactorRecord[]> {
    return this.database.run<FactorRecord>(sql`
      delete from second_factors
      where user_id = any(${user_ids}::uuid[])
      returning ${columns}`);
  }

  async insertCodes(user_id: string, code_hashes: Buffer[]): Promise<void> {
    await this.database.run(sql`
      insert into recovery_codes (user_id, code_hash)
      select ${user_id}::uuid, code_hash
      from unnest(${code_hashes}::bytea[]) code_hash`);
  }

  async deleteCodes(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      delete from recovery_codes
      where user_id = any(${user_ids}::uuid[])`);
  }

  /**
   * Deletes a recovery code. Returns the number of codes that are left, or null if the code is not
   * one of the user's.
   */
  async useCode(user_id: string, code_hash: Buffer): Promise<number | null> {
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
  listOutdated(key_id: Buffer, after_id: string, limit: number): Promise<(SecretOwner & { secret: Buffer })[]> {
    return this.database.run<SecretOwner & { secret: Buffer }>(sql`
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

type FactorName = Pick<FactorRecord, 'user_id' | 'name'>;

interface PreviousName {
  previous_name: string;
}
