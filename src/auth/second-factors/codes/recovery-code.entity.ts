import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A recovery code that was not used yet. */
@Entity('recovery_codes')
@Index('recovery_codes_user_id_idx', ['user_id'])
export class RecoveryCodeEntity {
  /** SHA-256 of the code */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'recovery_codes_pkey' }) code_hash!: Buffer;
  @ForeignKey('users', 'user_id', { name: 'recovery_codes_user_id_fkey', onDelete: 'CASCADE' })
  @Column('uuid')
  user_id!: string;
}
