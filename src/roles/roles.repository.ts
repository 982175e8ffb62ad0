import { Injectable } from '@nestjs/common';
import type { UserType } from '../access/actor';
import { administratorsLock, isAdministrator } from '../access/administrators.sql';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';
import { RoleEntity } from './role.entity';

/** Any number: whoever gives roles shares it, whoever changes one has it alone. */
const rolesLock = 7_263_006;

/** The SQL of roles. */
@Injectable()
export class RolesRepository {
  constructor(private readonly database: Database) {}

  /** All roles by name: there are few of them. */
  listAll(): Promise<RoleEntity[]> {
    return this.database.repository(RoleEntity).find({ order: { name: 'asc' } });
  }

  /** The role of this name, or null. */
  find(name: string): Promise<RoleEntity | null> {
    return this.database.repository(RoleEntity).findOneBy({ name });
  }

  /**
   * Until the transaction ends no role is changed; others may give roles at the same time. Costs
   * one round trip and no row.
   */
  async freeze(): Promise<void> {
    await this.database.runPrepared(sql`select pg_advisory_xact_lock_shared(${rolesLock}::bigint)`);
  }

  /**
   * Until the transaction ends nobody else changes or gives roles. Comes before every other lock.
   * Waits for a moment only: all who give roles would wait behind it, each with a connection.
   * @throws service.database_unavailable while a change of many users gives roles
   */
  async lock(): Promise<void> {
    await this.database.run(sql`select set_config('lock_timeout', '500ms', true)`);
    await this.database.run(sql`select pg_advisory_xact_lock(${rolesLock}::bigint)`);
  }

  /** Until the transaction ends nobody else changes who is an administrator. */
  async lockAdministrators(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${administratorsLock}::bigint)`);
  }

  /** Whether there is an administrator. */
  async hasAdministrator(): Promise<boolean> {
    const rows = await this.database.run(sql`select 1 from users where ${isAdministrator} limit 1`);
    return rows.length > 0;
  }

  /** The kinds of living users who have a role. */
  async kindsOfHolders(name: string): Promise<UserType[]> {
    const rows = await this.database.run<{
      user_type: UserType;
    }>(sql`select user_type from (values ('system'), ('carrier')) kind (user_type)
      where exists (select 1 from users where users.user_type = kind.user_type and users.roles @> array[${name}::text] and users.deleted_at is null)`);
    return rows.map(({ user_type }) => user_type);
  }

  /** Adds a role; uniqueness is decided by the index. */
  async insert({ name, description, user_types, permissions, may_grant }: RoleEntity): Promise<void> {
    await this.database.run(sql`insert into roles (name, description, user_types, permissions, may_grant)
      values (${name}, ${description}, ${user_types}::text[], ${permissions}::text[], ${may_grant}::text[])`);
  }

  /** Writes all of a role but its name. */
  async update({ name, description, user_types, permissions, may_grant }: RoleEntity): Promise<void> {
    await this.database.run(sql`update roles set description = ${description}, user_types = ${user_types}::text[],
      permissions = ${permissions}::text[], may_grant = ${may_grant}::text[] where name = ${name}`);
  }

  /** Removes a role. */
  async delete(name: string): Promise<void> {
    await this.database.run(sql`delete from roles where name = ${name}`);
  }
}
