import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { UserType } from '../access/actor';
import type { UserResponse } from '../users/users.dto';

/** What the overview counts by carrier: users by status, sessions, and what needs attention. */
export type CountKind =
  UserResponse['status'] | 'locked' | 'must_enroll' | 'sessions' | 'mails_failed' | 'mails_failing';

/** A count of the last refresh. Counts of zero have no row. */
@Entity('overview_counts')
export class OverviewCountEntity {
  /** carrier of the Carrier Users; empty for System Users */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'overview_counts_pkey' }) carrier_id!: string;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'overview_counts_pkey' }) user_type!: UserType;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'overview_counts_pkey' }) kind!: CountKind;
  @Column('integer') count!: number;
}

/** Logins of an hour, counted from the audit log. */
@Entity('login_counts')
export class LoginCountEntity {
  /** beginning of the hour, in UTC */
  @PrimaryColumn({ type: 'timestamptz', precision: 3, primaryKeyConstraintName: 'login_counts_pkey' }) hour!: Date;
  /** carrier of the Carrier Users; empty for System Users and for logins without a user */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'login_counts_pkey' }) carrier_id!: string;
  @Column('integer') succeeded!: number;
  @Column('integer') failed!: number;
}

/** The last refresh of the counts. The table has at most one row. */
@Entity('overview_refreshes')
@Check('overview_refreshes_only_row_check', 'only_row')
export class OverviewRefreshEntity {
  @PrimaryColumn('boolean', { primaryKeyConstraintName: 'overview_refreshes_pkey', default: true }) only_row!: boolean;
  /** time to which the counts refer */
  @Column({ type: 'timestamptz', precision: 3 }) as_of!: Date;
  /** earliest time of the next refresh */
  @Column({ type: 'timestamptz', precision: 3 }) due_at!: Date;
}
