import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A WebAuthn challenge that was used. Unused challenges are signed, and not stored. */
@Entity('used_passkey_challenges')
@Index('used_passkey_challenges_expires_at_idx', ['expires_at'])
export class UsedPasskeyChallengeEntity {
  /** SHA-256 of the challenge */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'used_passkey_challenges_pkey' }) challenge_hash!: Buffer;
  /** expiry of the challenge, after which the row is deleted */
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
}
