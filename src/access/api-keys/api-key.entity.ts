import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { UserType } from '../actor';

/**
 * An API key. The key is an actor by itself: it stays active until it expires, is suspended or is
 * revoked, also when the user who created it is disabled, deleted or purged.
 */
@Entity('keys')
@Check('keys_user_type_check', `user_type in ('system', 'carrier')`)
@Check(
  'keys_carrier_check',
  `(user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null)`,
)
@Index('keys_token_hash_key', ['token_hash'], { unique: true })
@Index('keys_previous_hash_key', ['previous_hash'], { unique: true })
@Index('keys_created_at_idx', ['created_at', 'key_id'])
export class ApiKeyEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'keys_pkey' }) key_id!: string;
  @Column('text') name!: string;
  /** SHA-256 of the key; the key itself is not stored */
  @Column('bytea') token_hash!: Buffer;
  @Column('text', { array: true }) permissions!: string[];
  /** user type of the creator: the key sees the same kinds of users */
  @Column('text') user_type!: UserType;
  @Column('text', { nullable: true }) carrier_id!: string | null;
  /** carriers that the key is limited to; null = all */
  @Column('text', { array: true, nullable: true }) carrier_scope!: string[] | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  /** no foreign key: the key stays when its creator is purged */
  @Column('uuid') created_by!: string;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_used_at!: Date | null;
  @Column('inet', { nullable: true }) last_used_ip!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) revoked_at!: Date | null;
  @Column('uuid', { nullable: true }) revoked_by!: string | null;
  /** time at which the account of the creator was secured; null = not suspended */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) suspended_at!: Date | null;
  /** SHA-256 of the secret before the last rotation; null = never rotated, or replaced at once */
  @Column('bytea', { nullable: true }) previous_hash!: Buffer | null;
  /** time until which the previous secret works */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) previous_until!: Date | null;
  /** last use of the previous secret since the rotation */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) previous_last_used_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) rotated_at!: Date | null;
  @Column('uuid', { nullable: true }) rotated_by!: string | null;
}
