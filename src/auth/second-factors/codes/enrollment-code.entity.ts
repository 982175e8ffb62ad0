import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The mailed code that a user enters to enrol the first factor. Enrolment deletes it. */
@Entity('enrollment_codes')
export class EnrollmentCodeEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'enrollment_codes_pkey' })
  @ForeignKey('users', 'user_id', { name: 'enrollment_codes_user_id_fkey', onDelete: 'CASCADE' })
  user_id!: string;
  /** hash of the eight digits; null until the first mail is sent */
  @Column('bytea', { nullable: true }) code_hash!: Buffer | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) requested_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) expires_at!: Date | null;
  /** wrong codes since the code was sent */
  @Column('integer', { default: 0 }) wrong_codes!: number;
  /** whether the factors of the user were reset, and the user has enrolled none since */
  @Column('boolean', { default: false }) after_reset!: boolean;
}
