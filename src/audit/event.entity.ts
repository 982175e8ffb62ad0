import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Change } from './event-catalogue';

/** Before and after of each changed field; never a secret. */
export type Changes = Record<string, Change>;

/**
 * An event of the audit log, written in the transaction of the change. Rows are only added.
 * The table has a partition for each month (ADR 13). TypeORM supports neither partitions nor the
 * type of the column `tx`, so the migrations alone describe the table.
 */
@Entity('events', { synchronize: false })
@Check('events_actor_type_check', `actor_type in ('user', 'key', 'system')`)
@Index('events_target_id_idx', ['target_id', 'occurred_at'])
@Index('events_actor_id_idx', ['actor_id', 'occurred_at'])
@Index('events_carrier_id_idx', ['carrier_id', 'occurred_at'])
@Index('events_event_type_idx', ['event_type', 'occurred_at'])
@Index('events_operation_id_idx', ['operation_id', 'target_id'], { where: 'operation_id is not null' })
export class EventEntity {
  @PrimaryColumn({ type: 'timestamptz', precision: 3, primaryKeyConstraintName: 'events_pkey', default: () => 'now()' })
  occurred_at!: Date;
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'events_pkey', default: () => 'uuid_v7()' }) event_id!: string;
  @Column('text') event_type!: string;
  @Column('uuid', { nullable: true }) actor_id!: string | null;
  @Column('text') actor_type!: 'user' | 'key' | 'system';
  @Column('text', { nullable: true }) target_type!: string | null;
  @Column('uuid', { nullable: true }) target_id!: string | null;
  @Column('text', { nullable: true }) carrier_id!: string | null;
  @Column('uuid', { nullable: true }) operation_id!: string | null;
  @Column('uuid', { nullable: true }) session_id!: string | null;
  @Column('inet', { nullable: true }) ip!: string | null;
  @Column('text', { nullable: true }) request_id!: string | null;
  @Column('jsonb', { default: () => `'{}'` }) changes!: Changes;
  /** version of the user after the change; an undo skips users whose version has changed since */
  @Column('integer', { nullable: true }) target_version!: number | null;
}
