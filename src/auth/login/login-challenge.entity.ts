import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { TokenGrant } from '../../access/token-grant';
import type { PasswordRenewal } from '../passwords/credentials.service';

/**
 * The state between a right password and the second factor. It is deleted when it is used, or when
 * the missing second step is reported.
 */
@Entity('login_challenges')
@Index('login_challenges_user_id_idx', ['user_id'])
@Index('login_challenges_expires_at_idx', ['expires_at'])
export class LoginChallengeEntity {
  /** SHA-256 of the challenge */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'login_challenges_pkey' }) challenge_hash!: Buffer;
  @ForeignKey('users', 'user_id', { name: 'login_challenges_user_id_fkey', onDelete: 'CASCADE' })
  @Column('uuid')
  user_id!: string;
  /** when the password that was entered was set; another password voids the challenge */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) password_changed_at!: Date | null;
  /** address of the password counter that the login clears; empty for unknown addresses */
  @Column('text') counter_address!: string;
  /** what the login persists about the password; null if nothing changes */
  @Column('jsonb', { nullable: true }) renewal!: PasswordRenewal | null;
  /** limits of the tokens that the first step asked for; null = none */
  @Column('jsonb', { nullable: true }) token_grant!: TokenGrant | null;
  @Column('inet', { nullable: true }) ip!: string | null;
  @Column('text', { nullable: true }) user_agent!: string | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
  @Column('integer', { default: 0 }) wrong_codes!: number;
}
