import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** The hashed password of a user. A separate table, so that reading users never reads hashes. */
@Entity('credentials')
// A bare MD5 is wrapped before it is stored.
@Check('credentials_password_hash_check', `password_hash like '$%'`)
@Index('credentials_forms_idx', { synchronize: false })
export class CredentialEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'credentials_pkey' })
  @ForeignKey('users', 'user_id', { name: 'credentials_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  /** PHC string: algorithm, parameters, salt and hash; null = voided, until a new one is chosen */
  @Column('text', { nullable: true }) password_hash!: string | null;
  /** expiry of an initial password that was not used; null = never */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
  /** false for an imported password until its first login */
  @Column({ type: 'boolean', default: true }) policy_checked!: boolean;
}
