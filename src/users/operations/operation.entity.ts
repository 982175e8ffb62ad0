import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import type { FieldError } from '../../http/errors/app-error';
import { namedEnum } from '../../platform/named-enum';

/** Kind of operation. */
export const operationKinds = namedEnum('OperationKind', ['change', 'delete', 'undo', 'import']);
/** Kind of an operation. */
export type OperationKind = (typeof operationKinds)[number];
/** State of an operation: during the upload, accepted, running, and the three final states. */
export const operationStatuses = namedEnum('OperationStatus', [
  'receiving',
  'waiting',
  'running',
  'done',
  'canceled',
  'failed',
]);
/** State of an operation. */
export type OperationStatus = (typeof operationStatuses)[number];

/**
 * Work on many users. `operation_batches` has the parts that are not done yet. One transaction
 * carries out a batch, adds its result to this row and removes the batch. So each user is processed
 * exactly once, no matter when a process is killed (ADR 8).
 */
@Entity('operations')
@Check('operations_actor_type_check', `actor_type in ('user', 'key')`)
@Check('operations_kind_check', `kind in ('change', 'delete', 'undo', 'import')`)
@Check('operations_status_check', `status in ('receiving', 'waiting', 'running', 'done', 'canceled', 'failed')`)
@Unique('operations_confirm_id_key', ['confirm_id'])
@Index('operations_created_at_idx', ['created_at', 'operation_id'])
@Index('operations_actor_id_idx', ['actor_id', 'created_at'])
@Index('operations_unfinished_idx', ['operation_id'], { where: 'finished_at is null' })
export class OperationEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'operations_pkey' }) operation_id!: string;
  @Column('text') kind!: OperationKind;
  /** needed to request, see, cancel and undo the operation */
  @Column('text') permission!: string;
  @Column('text') status!: OperationStatus;
  /** kind of the actor; a user and an API key may have the same `actor_id` */
  @Column('text') actor_type!: 'user' | 'key';
  @Column('uuid') actor_id!: string;
  @Column('uuid', { nullable: true }) session_id!: string | null;
  @Column('inet', { nullable: true }) ip!: string | null;
  @Column('text', { nullable: true }) request_id!: string | null;
  /** filters and change, or the options of an import; never a secret */
  @Column('jsonb') request!: Record<string, unknown>;
  /** number of users, or of rows of a file */
  @Column('integer', { default: 0 }) total!: number;
  @Column('integer', { default: 0 }) processed!: number;
  @Column('integer', { default: 0 }) changed!: number;
  @Column('integer', { default: 0 }) unchanged!: number;
  @Column('integer', { default: 0 }) skipped_count!: number;
  /** number of skipped users or rows by reason */
  @Column('jsonb', { default: () => `'{}'` }) skipped_reasons!: Record<string, number>;
  /** the first 100 skipped users or rows; `operation_skipped` has more rows */
  @Column('jsonb', { default: () => `'[]'` }) skipped!: Record<string, unknown>[];
  /** further counts of the result by name, such as `links_restored` */
  @Column('jsonb', { default: () => `'{}'` }) counts!: Record<string, number>;
  /** error code of a failed operation */
  @Column('text', { nullable: true }) error_code!: string | null;
  /** preview that the operation confirms; a preview can be confirmed once */
  @Column('uuid', { nullable: true }) confirm_id!: string | null;
  @Column('uuid', { nullable: true }) undo_of!: string | null;
  @Column('uuid', { nullable: true }) undone_by!: string | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) started_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) progressed_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) finished_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) undo_until!: Date | null;
}

/** A part of an operation that is not done yet. One transaction carries it out and removes it. */
@Entity('operation_batches')
export class OperationBatchEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'operation_batches_pkey' })
  @ForeignKey('operations', 'operation_id', { name: 'operation_batches_operation_id_fkey', onDelete: 'CASCADE' })
  operation_id!: string;
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'operation_batches_pkey' }) number!: number;
  /** users of a bulk change, by id */
  @Column('uuid', { array: true, nullable: true }) user_ids!: string[] | null;
  /** rows of an import */
  @Column('jsonb', { nullable: true }) rows!: unknown[] | null;
}

/** A row of a file that an operation skipped, kept for correction. */
@Entity('operation_skipped')
@Index('operation_skipped_identities_idx', { synchronize: false })
export class OperationSkippedEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'operation_skipped_pkey' })
  @ForeignKey('operations', 'operation_id', { name: 'operation_skipped_operation_id_fkey', onDelete: 'CASCADE' })
  operation_id!: string;
  /** first line of the row in the file, from 1 */
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'operation_skipped_pkey' }) line!: number;
  /** all faults of the row, without values */
  @Column('jsonb') errors!: FieldError[];
  /** texts by column, never a secret; null for a row that could not be read, and after a purge */
  @Column('jsonb', { nullable: true }) cells!: Record<string, string> | null;
  /** values of `cells` in lower case by which a purge finds the row */
  @Column('text', { array: true, default: () => `'{}'` }) identities!: string[];
}

/** A row that was skipped. */
export type SkippedRow = Omit<OperationSkippedEntity, 'operation_id'>;
