import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The last time step whose code a user entered. No code of this or an earlier step is accepted. */
@Entity('totp_steps')
export class TotpStepEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'totp_steps_pkey' })
  @ForeignKey('users', 'user_id', { name: 'totp_steps_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  /** number of 30-second steps since 1970 */
  @Column('bigint') step!: string;
}
