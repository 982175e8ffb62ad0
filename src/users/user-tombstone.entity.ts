import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Keeps the id of a purged user, so that no imported user can take it and inherit what is remembered by id (Z24). */
@Entity('user_tombstones')
export class UserTombstoneEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'user_tombstones_pkey' }) user_id!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) purged_at!: Date;
}
