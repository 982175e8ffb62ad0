import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';
import { SigningKeyEntity } from './signing-key.entity';

/** Any number: of several instances that start together, one makes the key. */
const signingKeyLock = 7_263_006;

/** The SQL of signing keys. */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly database: Database) {}

  /** Waits for other instances that may be making a key; until the end of the transaction. */
  async lock(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${signingKeyLock}::bigint)`);
  }

  /** All keys, the newest first. */
  list(): Promise<SigningKeyEntity[]> {
    return this.database.repository(SigningKeyEntity).find({ order: { created_at: 'desc', kid: 'asc' } });
  }

  /** Adds a key. */
  async insert(key: Pick<SigningKeyEntity, 'kid' | 'public_jwk' | 'private_key'>): Promise<void> {
    await this.database.repository(SigningKeyEntity).insert(key as never);
  }
}
