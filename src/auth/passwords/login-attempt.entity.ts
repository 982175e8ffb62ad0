import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Counter of the wrong passwords for an account, or of the wrong codes of a user, from one known
 * address or all other addresses.
 */
@Entity('login_attempts')
@Index('login_attempts_used_on_idx', ['used_on'])
@Index('login_attempts_address_idx', ['address', 'account'], { where: `address <> '' and length(account) = 36` })
export class LoginAttemptEntity {
  /**
   * id of a user, or keyed hash of a login without a user, with the same limits; `codes:` and the
   * id of a user for wrong codes
   */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'login_attempts_pkey' }) account!: string;
  /**
   * Address from which the user logged in within the last 30 days; empty for all other addresses.
   * A login without a user has separate counters at some addresses too, see
   * `LoginAttemptsRepository`.
   */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'login_attempts_pkey' }) address!: string;
  /** wrong passwords or codes since the last right one */
  @Column('integer', { default: 0 }) failures!: number;
  /** open attempts: id → start in seconds since 1970 */
  @Column('jsonb', { default: () => `'{}'` }) pending!: Record<string, number>;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) locked_until!: Date | null;
  /** end of the 30 days in which the address is known */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) known_until!: Date | null;
  /** day of the last attempt */
  @Column('date') used_on!: string;
}
