import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A user's password, hashed. A row of its own, so that reading users never reads it. */
@Entity('credentials')
// a bare MD5 is no way to keep a password, and never gets this far
@Check('credentials_password_hash_check', `password_hash like '$%'`)
@Index('credentials_foreign_idx', { synchronize: false })
export class CredentialEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'credentials_pkey' })
  @ForeignKey('users', 'user_id', { name: 'credentials_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  /** PHC string: algorithm, parameters, salt and hash */
  @Column('text') password_hash!: string;
  /** an initial password dies unused at this time */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
  /** false for an imported password until its first login */
  @Column({ type: 'boolean', default: true }) policy_checked!: boolean;
}
