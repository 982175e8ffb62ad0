import { Injectable } from '@nestjs/common';
import { rawSql, sql } from '../common/query/sql';
import { Database } from '../database/database';
import { keptForSeconds, rotateAfterSeconds, verifiesForSeconds } from './signing-key-times';
import type { SigningKeyEntity } from './signing-key.entity';

/** Any number: of several instances that start together, one makes the key. */
const signingKeyLock = 7_263_007;

const ago = (seconds: number) => rawSql(`now() - interval '${seconds} s'`);

/** Each key with the moment from which another one signs in its place; null for the last one. */
const keys =
  rawSql(`(select kid, public_jwk, private_key, signs_from, lead(signs_from) over (order by signs_from, kid) as successor_from
  from signing_keys) keys`);
const dispensable = sql`successor_from <= ${ago(keptForSeconds)}`;

/** A key that verifies tokens now, and signs them now or later or has signed them. */
export interface SigningKeyRecord extends Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key' | 'signs_from'> {
  /** milliseconds until it signs; zero or less when it has begun */
  signs_in_ms: number;
  /** a successor is to be made, or a row to be deleted; the same in each */
  rotation_due: boolean;
}

/** The SQL of signing keys. The database's clock decides everything. */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly database: Database) {}

  /** Waits for other instances that may be making a key; until the end of the transaction. */
  async lock(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${signingKeyLock}::bigint)`);
  }

  /** The keys that verify, those that sign later too; the last to sign comes first. */
  list(): Promise<SigningKeyRecord[]> {
    return this.database.runPrepared<SigningKeyRecord>(sql`select kid, public_jwk, private_key, signs_from,
        (extract(epoch from signs_from - now()) * 1000)::float8 as signs_in_ms, rotation_due
      from (select *, bool_or((successor_from is null and signs_from <= ${ago(rotateAfterSeconds)}) or ${dispensable}) over () as rotation_due from ${keys}) keys
      where successor_from is null or successor_from > ${ago(verifiesForSeconds)} order by signs_from desc, kid desc`);
  }

  /** Returns the public half of a key, retired keys included, or null if the key has no row. */
  async findPublicKey(kid: string): Promise<SigningKeyEntity['public_jwk'] | null> {
    const [row] = await this.database.runPrepared<SigningKeyEntity>(
      sql`select public_jwk from signing_keys where kid = ${kid}`,
    );
    return row?.public_jwk ?? null;
  }

  /** Adds a key that signs in so many seconds; returns from when. */
  async insert(key: Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key'>, seconds: number): Promise<Date> {
    const [row] = await this.database.run<{
      signs_from: Date;
    }>(sql`insert into signing_keys (kid, public_jwk, private_key, signs_from)
      values (${key.kid}, ${JSON.stringify(key.public_jwk)}::jsonb, ${key.private_key}, now() + ${seconds}::integer * interval '1 second') returning signs_from`);
    return (row as { signs_from: Date }).signs_from;
  }

  /**
   * Lets a key that is to sign later sign in so many seconds; null when it does so by then, or a
   * moment after: `now()` is when a transaction began.
   */
  async advance(kid: string, seconds: number): Promise<Date | null> {
    const [row] = await this.database.run<{
      signs_from: Date;
    }>(sql`update signing_keys set signs_from = now() + ${seconds}::integer * interval '1 second'
      where kid = ${kid} and signs_from > now() + (${seconds}::integer + 5) * interval '1 second' returning signs_from`);
    return row?.signs_from ?? null;
  }

  /** Puts the same private key in another encryption. */
  async updateEncryption(kid: string, private_key: Buffer): Promise<void> {
    await this.database.run(sql`update signing_keys set private_key = ${private_key} where kid = ${kid}`);
  }

  /** Deletes the keys that were retired 30 days ago. */
  async deleteDispensable(): Promise<void> {
    await this.database.run(sql`delete from signing_keys where kid in (select kid from ${keys} where ${dispensable})`);
  }

  /** Deletes all keys but one; returns how many there were. */
  async deleteOthers(kid: string): Promise<number> {
    return (await this.database.run(sql`delete from signing_keys where kid <> ${kid} returning kid`)).length;
  }
}
