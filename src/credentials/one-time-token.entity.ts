import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** What a mailed link is for. `reset` sets a password, whether the user had one or is invited. */
export type TokenPurpose = 'reset' | 'invite' | 'email';

/**
 * The one living link of a user for a purpose: a newer one takes its place. Only the hash of its
 * token is kept.
 */
@Entity('one_time_tokens')
@Check('one_time_tokens_purpose_check', `purpose in ('reset', 'invite', 'email')`)
@Index('one_time_tokens_token_hash_key', ['token_hash'], { unique: true })
export class OneTimeTokenEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'one_time_tokens_pkey' })
  @ForeignKey('users', 'user_id', { name: 'one_time_tokens_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'one_time_tokens_pkey' }) purpose!: TokenPurpose;
  /** null until the mail is sent, and again once the link is used */
  @Column('bytea', { nullable: true }) token_hash!: Buffer | null;
  /** the address it was mailed to; what an e-mail change confirms */
  @Column('text', { nullable: true }) email!: string | null;
  @Column({ type: 'timestamptz', precision: 3 }) requested_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
}
