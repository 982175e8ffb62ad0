import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Counts the hits of one subject on one rate limit in one time window. */
@Entity('rate_limits')
@Index('rate_limits_ends_at_idx', ['ends_at'])
export class RateLimitEntity {
  /** keyed hash of limit and subject, so that no e-mail address or id of a purged user remains */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'rate_limits_pkey' }) key!: Buffer;
  @Column('integer') hits!: number;
  /** end of the window, which begins with its first hit */
  @Column({ type: 'timestamptz', precision: 3 }) ends_at!: Date;
}
