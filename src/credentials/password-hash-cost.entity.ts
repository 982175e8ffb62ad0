import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The highest cost among the stored hashes of other systems, for each computation. */
@Entity('password_hash_costs')
export class PasswordHashCostEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'password_hash_costs_pkey' }) computation!: string;
  @Column('integer') cost!: number;
}
