import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { UserType } from '../../access/actor';
import type { TokenGrant } from '../../access/token-grant';
import { namedEnum } from '../../platform/named-enum';

/** Why a session ended. */
export const endedReasons = namedEnum('SessionEndReason', [
  'revoked',
  'logout',
  'expired',
  'replaced',
  'token_reuse',
  'password_changed',
  'ip_not_allowed',
  'user_disabled',
  'user_deleted',
  'factors_changed',
  'secured',
]);
/** Reason why a session ended. */
export type EndedReason = (typeof endedReasons)[number];

/** One login. It is live until it ends, is idle for too long or reaches its maximum age. */
@Entity('sessions')
@Check(
  'sessions_ended_reason_check',
  "ended_reason in ('logout', 'revoked', 'expired', 'replaced', 'token_reuse', 'password_changed', " +
    "'ip_not_allowed', 'user_disabled', 'user_deleted', 'factors_changed', 'secured')",
)
@Index('sessions_user_id_idx', ['user_id', 'ended_at', 'expires_at'])
@Index('sessions_last_seen_at_idx', ['last_seen_at', 'session_id'])
@Index('sessions_expires_at_idx', ['expires_at', 'session_id'])
@Index('sessions_ended_reason_idx', ['ended_reason', 'created_at'], { where: 'ended_reason is not null' })
export class SessionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'sessions_pkey' }) session_id!: string;
  @ForeignKey('users', 'user_id', { name: 'sessions_user_id_fkey', onDelete: 'CASCADE' })
  @Column('uuid')
  user_id!: string;
  @Column('text') user_type!: UserType;
  @Column('text', { nullable: true }) carrier_id!: string | null;
  /** SHA-256 of the current refresh token */
  @Column('bytea') refresh_token_hash!: Buffer;
  /** SHA-256 of the previous refresh token, which is accepted during the grace period */
  @Column('bytea', { nullable: true }) previous_refresh_token_hash!: Buffer | null;
  @Column({ type: 'timestamptz', precision: 3 }) refreshed_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) last_seen_at!: Date;
  /** expiry without activity; activity postpones it up to `absolute_expires_at` */
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) absolute_expires_at!: Date;
  /** authentication methods of the login (RFC 8176) */
  @Column('text', { array: true, default: () => `'{pwd}'` }) amr!: string[];
  /** time of the authentication; null in sessions from before this column: use `created_at` */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) auth_time!: Date | null;
  /** audience, permissions and portal of the tokens; null = not limited */
  @Column('jsonb', { nullable: true }) token_grant!: TokenGrant | null;
  @Column('inet', { nullable: true }) ip!: string | null;
  @Column('text', { nullable: true }) user_agent!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) ended_at!: Date | null;
  @Column('text', { nullable: true }) ended_reason!: EndedReason | null;
  @Column('uuid', { nullable: true }) ended_by!: string | null;
}
