import { Injectable } from '@nestjs/common';
import { sql } from '../../http/lists/sql';
import { advisoryLocks } from '../../platform/advisory-locks';
import { Database } from '../../platform/database/database';
import type { SigningKeyEntity } from './signing-key.entity';

/** A key with its times in milliseconds from now, by the clock of the database. */
export interface SigningKeyRecord extends Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key' | 'signs_from'> {
  /** time until the key signs; zero or negative once it signs */
  signs_in_ms: number;
  /** time until the next key signs; null for the last key */
  successor_in_ms: number | null;
}

/** SQL of the signing keys. All times are compared with the clock of the database. */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly database: Database) {}

  /** Locks the signing keys against other instances until the end of the transaction. */
  async lock(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.signingKeys}::bigint)`);
  }

  /** Lists all keys, including scheduled and retired keys. The last key to sign comes first. */
  list(): Promise<SigningKeyRecord[]> {
    return this.database.runPrepared<SigningKeyRecord>(sql`
      select kid, public_jwk, private_key, signs_from,
        extract(epoch from signs_from - now())::float8 * 1000 as signs_in_ms,
        extract(epoch from lead(signs_from) over (order by signs_from, kid) - now())::float8 * 1000 as successor_in_ms
      from signing_keys
      order by signs_from desc, kid desc`);
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

  /** Stores a new encryption of the same private key. */
  async updateEncryption(kid: string, private_key: Buffer): Promise<void> {
    await this.database.run(sql`update signing_keys set private_key = ${private_key} where kid = ${kid}`);
  }

  async delete(kids: string[]): Promise<void> {
    await this.database.run(sql`delete from signing_keys where kid = any(${kids}::text[])`);
  }
}
