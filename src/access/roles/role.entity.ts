import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { UserType } from '../actor';

/** A named set of permissions for System Users, Carrier Users or both. */
@Entity('roles')
@Check('roles_name_check', `name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$'`)
@Index('roles_name_key', { synchronize: false })
export class RoleEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'roles_pkey' }) name!: string;
  @Column('text', { default: '' }) description!: string;
  @Column('text', { array: true }) user_types!: UserType[];
  @Column('text', { array: true }) permissions!: string[];
  @Column('text', { array: true, default: () => `'{}'` }) may_grant!: string[];
  /** time from which users with the role need a second factor; null = not required */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) second_factor_required_from!: Date | null;
  @Column('boolean', { default: false }) built_in!: boolean;
  @Column('integer', { default: 1 }) version!: number;
}
