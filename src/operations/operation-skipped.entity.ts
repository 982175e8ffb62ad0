import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { FieldError } from '../common/errors/app-error';

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
