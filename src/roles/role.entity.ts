import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { UserType } from '../access/actor';

/** A role: a named set of permissions, open to one or both kinds of users. */
@Entity('roles')
export class RoleEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'roles_pkey' }) name!: string;
  @Column('text', { default: '' }) description!: string;
  @Column('text', { array: true }) user_types!: UserType[];
  @Column('text', { array: true }) permissions!: string[];
  @Column('text', { array: true, default: () => `'{}'` }) may_grant!: string[];
  @Column('boolean', { default: false }) built_in!: boolean;
}
