import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { RoleEntity } from './role.entity';

/** The SQL of roles. */
@Injectable()
export class RolesRepository {
  constructor(private readonly database: Database) {}

  /** All roles by name: there are few of them. */
  listAll(): Promise<RoleEntity[]> {
    return this.database.repository(RoleEntity).find({ order: { name: 'asc' } });
  }
}
