import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

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
