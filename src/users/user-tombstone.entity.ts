import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The id of a purged user. No import may reuse it and inherit data stored under this id (Z24). */
@Entity('user_tombstones')
export class UserTombstoneEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_tombstones_pkey' }) user_id!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) purged_at!: Date;
}
