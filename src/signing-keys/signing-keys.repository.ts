import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../common/query/sql';
import { advisoryLocks } from '../common/advisory-locks';
import { Database } from '../database/database';
import { keptForSeconds, rotateAfterSeconds, verifiesForSeconds } from './signing-key-times';
import type { SigningKeyEntity } from './signing-key.entity';

const ago = (seconds: number) => rawSql(`now() - interval '${seconds} s'`);

/** All keys with the time when the successor signs; null for the last key. */
const withSuccessor = rawSql(`(
  select kid, public_jwk, private_key, signs_from,
    lead(signs_from) over (order by signs_from, kid) as successor_from
  from signing_keys
) with_successor`);
const isRetired = sql`successor_from <= ${ago(keptForSeconds)}`;

/** A key that verifies tokens: it signs now, will sign later, or signed before. */
export interface SigningKeyRecord extends Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key' | 'signs_from'> {
  /** milliseconds until the key signs; zero or negative once it signs */
  signs_in_ms: number;
  /** a successor must be created or a row deleted; the same value in all rows */
  rotation_due: boolean;
}

/** SQL of the signing keys. All times are compared with the clock of the database. */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly database: Database) {}

  /** Locks the signing keys against other instances until the end of the transaction. */
  async lock(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.signingKeys}::bigint)`);
  }

  /**
   * Lists the keys that verify tokens, including scheduled keys. The last key to sign comes first.
   */
  list(): Promise<SigningKeyRecord[]> {
    return this.database.runPrepared<SigningKeyRecord>(sql`
      select kid, public_jwk, private_key, signs_from,
        (extract(epoch from signs_from - now()) * 1000)::float8 as signs_in_ms, rotation_due
      from (
        select *,
          bool_or(
            (successor_from is null and signs_from <= ${ago(rotateAfterSeconds)}) or ${isRetired}
          ) over () as rotation_due
        from ${withSuccessor}
      ) with_rotation_due
      where successor_from is null or successor_from > ${ago(verifiesForSeconds)}
      order by signs_from desc, kid desc`);
  }

  /** Returns the public key with an id, or null. Includes retired keys. */
  async findPublicKey(kid: string): Promise<SigningKeyEntity['public_jwk'] | null> {
    const [row] = await this.database.runPrepared<SigningKeyEntity>(
      sql`select public_jwk from signing_keys where kid = ${kid}`,
    );
    return row?.public_jwk ?? null;
  }

  /** Inserts a key that signs after a number of seconds. Returns that time. */
  async insert(key: Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key'>, seconds: number): Promise<Date> {
    const [row] = await this.database.run<Pick<SigningKeyEntity, 'signs_from'>>(sql`
      insert into signing_keys (kid, public_jwk, private_key, signs_from)
      values (
        ${key.kid}, ${JSON.stringify(key.public_jwk)}::jsonb, ${key.private_key},
        now() + ${seconds}::integer * interval '1 second'
      )
      returning signs_from`);
    return (row as SigningKeyEntity).signs_from;
  }

  /**
   * Lets a scheduled key sign after a number of seconds. Returns that time, or null if the key
   * already signs by then. Ignores differences of up to 5 s: `now()` is the start of a transaction.
   */
  async advance(kid: string, seconds: number): Promise<Date | null> {
    const [row] = await this.database.run<Pick<SigningKeyEntity, 'signs_from'>>(sql`
      update signing_keys
      set signs_from = now() + ${seconds}::integer * interval '1 second'
      where kid = ${kid} and signs_from > now() + (${seconds}::integer + 5) * interval '1 second'
      returning signs_from`);
    return row?.signs_from ?? null;
  }

  /** Stores a new encryption of the same private key. */
  async updateEncryption(kid: string, private_key: Buffer): Promise<void> {
    await this.database.run(sql`update signing_keys set private_key = ${private_key} where kid = ${kid}`);
  }

  /** Deletes the keys that stopped verifying tokens 30 days ago. */
  async deleteRetired(): Promise<void> {
    await this.database.run(sql`
      delete from signing_keys
      where kid in (select kid from ${withSuccessor} where ${isRetired})`);
  }

  /** Deletes all keys except one. Returns the number of deleted keys. */
  async deleteOthers(kid: string): Promise<number> {
    return (await this.database.run(sql`delete from signing_keys where kid <> ${kid} returning kid`)).length;
  }
}
