import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/**
 * Purpose of a link. `reset` sets a password, also of an invited user. `shown` sets a password with
 * a link at the terminal. `not_me` sets a password and undoes the changes that a mail reported.
 */
export type TokenPurpose = 'reset' | 'invite' | 'email' | 'shown' | 'not_me';

/**
 * The valid link of a user for a purpose. A newer link replaces it, except for `not_me`.
 * Only the hash of the token is stored.
 */
@Entity('one_time_tokens')
@Check('one_time_tokens_purpose_check', `purpose in ('reset', 'invite', 'email', 'shown', 'not_me')`)
@Index('one_time_tokens_token_hash_key', ['token_hash'], { unique: true })
export class OneTimeTokenEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'one_time_tokens_pkey' })
  @ForeignKey('users', 'user_id', { name: 'one_time_tokens_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'one_time_tokens_pkey' }) purpose!: TokenPurpose;
  /** null until the mail is sent, and after the link was used */
  @Column('bytea', { nullable: true }) token_hash!: Buffer | null;
  /** address that the link was mailed to, which an e-mail change confirms */
  @Column('text', { nullable: true }) email!: string | null;
  /** for `not_me`, the time of the first reported change */
  @Column({ type: 'timestamptz', precision: 3 }) requested_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
  /** when the user last used a link for this purpose */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) used_at!: Date | null;
  /** for `email`, digest of the user's rights at the proposal; for `not_me`, seed of the token */
  @Column('bytea', { nullable: true }) digest!: Buffer | null;
  /** factors of the user before the first change that a `not_me` link undoes */
  @Column('uuid', { array: true, nullable: true }) factors!: string[] | null;
}
