import { Injectable } from '@nestjs/common';
import { sql } from '../../../http/lists/sql';
import { Database } from '../../../platform/database/database';
import type { FactorRecord } from '../factors.repository';

/** A passkey, as far as its verification needs it. */
export interface StoredPasskey {
  factor_id: string;
  user_id: string;
  public_key: Buffer;
  backup_eligible: boolean;
  signature_counter: number;
}

/** Identifies a passkey to a browser. */
export interface PasskeyDescriptor {
  credential_id: Buffer;
  transports: string[];
}

/** A passkey to insert. */
export interface NewPasskey extends PasskeyDescriptor {
  public_key: Buffer;
  signature_counter: number;
  rp_id: string;
  /** null if the authenticator does not disclose its model */
  aaguid: string | null;
  backup_eligible: boolean;
}

/** The SQL of passkeys and their used challenges. */
@Injectable()
export class PasskeysRepository {
  constructor(private readonly database: Database) {}

  find(credential_id: Buffer, rp_id: string): Promise<StoredPasskey | null> {
    return this.database.findPrepared<StoredPasskey>(sql`
      select factor_id, user_id, public_key, backup_eligible, signature_counter::float8 as signature_counter
      from second_factors
      where credential_id = ${credential_id}::bytea and rp_id = ${rp_id}::text`);
  }

  list(user_id: string, rp_id: string): Promise<PasskeyDescriptor[]> {
    return this.database.runPrepared<PasskeyDescriptor>(sql`
      select credential_id, coalesce(transports, '{}') as transports
      from second_factors
      where user_id = ${user_id}::uuid and kind = 'passkey' and rp_id = ${rp_id}::text
      order by created_at, factor_id`);
  }

  /** Inserts a passkey, which is confirmed from the beginning. */
  async insert(factor_id: string, user_id: string, name: string, passkey: NewPasskey): Promise<FactorRecord> {
    const { credential_id, public_key, signature_counter, transports, rp_id, aaguid, backup_eligible } = passkey;
    const [row] = await this.database.run<FactorRecord>(sql`
      insert into second_factors (
        factor_id, user_id, kind, name, confirmed_at,
        credential_id, public_key, signature_counter, transports, rp_id, aaguid, backup_eligible
      )
      values (
        ${factor_id}::uuid, ${user_id}::uuid, 'passkey', ${name}, now(),
        ${credential_id}::bytea, ${public_key}::bytea, ${signature_counter}::bigint, ${transports}::text[],
        ${rp_id}, ${aaguid}::uuid, ${backup_eligible}::boolean
      )
      returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, true as confirmed`);
    return row as FactorRecord;
  }

  /**
   * Notes the use of a passkey with its new signature counter. Returns false if the counter did not
   * grow, or the passkey was removed. Authenticators without a counter always send 0.
   */
  async moveCounter(factor_id: string, signature_counter: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      update second_factors
      set signature_counter = ${signature_counter}::bigint, last_used_at = now()
      where factor_id = ${factor_id}::uuid
        and (
          signature_counter < ${signature_counter}::bigint
          or (signature_counter = 0 and ${signature_counter}::bigint = 0)
        )
      returning 1`);
    return rows.length > 0;
  }

  /** Uses up a challenge. Returns false if it was used before. */
  async useChallenge(challenge_hash: Buffer, expires_at: Date): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into used_passkey_challenges (challenge_hash, expires_at)
      values (${challenge_hash}::bytea, ${expires_at}::timestamptz)
      on conflict (challenge_hash) do nothing
      returning 1`);
    return rows.length > 0;
  }

  /**
   * Deletes used challenges an hour after their expiry, so that differing clocks of instances do
   * not matter. Returns their number.
   */
  async removeExpiredChallenges(limit: number): Promise<number> {
    const rows = await this.database.run(sql`
      delete from used_passkey_challenges
      where ctid = any(array(
        select ctid
        from used_passkey_challenges
        where expires_at < now() - interval '1 hour'
        limit ${limit}::integer
        for update skip locked
      ))
      returning 1`);
    return rows.length;
  }
}
