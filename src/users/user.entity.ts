import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { FactorKind, UserType } from '../access/actor';
import { namedEnum } from '../platform/named-enum';

/** State of a user: `invited` users have no password yet, `disabled` users cannot log in. */
export const userStatuses = namedEnum('UserStatus', ['active', 'invited', 'disabled']);
/** State of a user. */
export type UserStatus = (typeof userStatuses)[number];

/**
 * A user. The row contains no secret, so code that reads users cannot leak one; the password hash
 * is in `credentials`. Roles are an array of names, so lists, bulk changes and the audit log need
 * only this row (ADR 4).
 */
@Entity('users')
@Check('users_user_type_check', `user_type in ('system', 'carrier')`)
@Check('users_status_check', `status in ('invited', 'active', 'disabled')`)
@Check(
  'users_carrier_check',
  `(user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null)`,
)
@Check('users_attributes_check', `octet_length(attributes::text) <= 32768`)
@Index('users_name_key', { synchronize: false })
@Index('users_email_key', { synchronize: false })
@Index('users_created_at_idx', { synchronize: false })
@Index('users_updated_at_idx', { synchronize: false })
@Index('users_password_changed_at_idx', { synchronize: false })
@Index('users_status_idx', { synchronize: false })
@Index('users_carrier_id_idx', { synchronize: false })
@Index('users_carrier_id_user_id_idx', { synchronize: false })
@Index('users_carrier_id_status_idx', { synchronize: false })
@Index('users_must_change_password_idx', { synchronize: false })
@Index('users_roles_idx', { synchronize: false })
@Index('users_attributes_idx', { synchronize: false })
@Index('users_deleted_at_idx', { synchronize: false })
@Index('users_purge_idx', { synchronize: false })
@Index('users_second_factors_idx', { synchronize: false })
@Index('users_locked_until_idx', { synchronize: false })
@Index('users_second_factor_required_from_idx', { synchronize: false })
export class UserEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'users_pkey' }) user_id!: string;
  @Column('text') user_type!: UserType;
  @Column('text') name!: string;
  @Column('text') email!: string;
  @Column('text', { nullable: true }) email_pending!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) email_verified_at!: Date | null;
  @Column('text', { default: '' }) first_name!: string;
  @Column('text', { default: '' }) last_name!: string;
  @Column('text', { nullable: true }) phone!: string | null;
  @Column('text', { nullable: true }) job_title!: string | null;
  @Column('text', { nullable: true }) department!: string | null;
  @Column('text', { nullable: true }) locale!: string | null;
  @Column('text', { nullable: true }) timezone!: string | null;
  @Column('text', { nullable: true }) carrier_id!: string | null;
  @Column('text', { array: true, nullable: true }) carrier_scope!: string[] | null;
  @Column('text', { array: true, default: () => `'{}'` }) roles!: string[];
  @Column('text') status!: UserStatus;
  @Column('cidr', { array: true, default: () => `'{}'` }) allowed_ips!: string[];
  @Column('jsonb', { default: () => `'{}'` }) attributes!: Record<string, unknown>;
  @Column('boolean', { default: false }) must_change_password!: boolean;
  /**
   * kinds of the confirmed second factors, one item per factor; a trigger copies them from
   * `second_factors`
   */
  @Column('text', { array: true, default: () => `'{}'` }) second_factors!: FactorKind[];
  /** time from which the user needs a second factor; null = as the roles require */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) second_factor_required_from!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  @Column('uuid', { nullable: true }) created_by!: string | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) updated_at!: Date;
  /** @deprecated as a column: older instances write it. Statements read `user_logins` (ADR 12). */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_login_at!: Date | null;
  /** @deprecated as a column: older instances write it. Statements read `user_logins` (ADR 12). */
  @Column('inet', { nullable: true }) last_login_ip!: string | null;
  /** @deprecated as a column: older instances write it. Statements read `user_seen` (ADR 12). */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_seen_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) password_changed_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) locked_until!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) deleted_at!: Date | null;
  @Column('integer', { default: 1 }) version!: number;
}

/** The id of a purged user. No import may reuse the id and inherit data stored under it (Z24). */
@Entity('user_tombstones')
export class UserTombstoneEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_tombstones_pkey' }) user_id!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) purged_at!: Date;
}
