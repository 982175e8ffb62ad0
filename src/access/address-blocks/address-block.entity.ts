import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A blocked network. The table needs no index for its 10,000 rows. */
@Entity('address_blocks')
export class AddressBlockEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'address_blocks_pkey' }) address_block_id!: string;
  @Column('cidr') network!: string;
  @Column('text', { nullable: true }) reason!: string | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  /** user or API key; no foreign key: the block stays when its creator is purged */
  @Column('uuid') created_by!: string;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
}
