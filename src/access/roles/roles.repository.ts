import { Injectable } from '@nestjs/common';
import type { UserType } from '../actor';
import { isAdministrator } from '../administrators.sql';
import { sql } from '../../http/lists/sql';
import { advisoryLocks } from '../../platform/advisory-locks';
import { Database } from '../../platform/database/database';
import { RoleEntity } from './role.entity';

/**
 * Maximum waits of a change of a role: for running bulk changes, below the statement timeout of
 * 15 s, and for the lock of the roles.
 */
const rolesLockWait = { bulk_ms: 14_500, ms: 1_500 };

/** SQL of the roles. */
@Injectable()
export class RolesRepository {
  constructor(private readonly database: Database) {}

  /** Lists all roles, sorted by name. There are few roles, so there are no pages. */
  listAll(): Promise<RoleEntity[]> {
    return this.database.runPrepared(sql`
      select name, description, user_types, permissions, may_grant, second_factor_required_from, built_in, version
      from roles
      order by name`);
  }

  find(name: string): Promise<RoleEntity | null> {
    return this.database.repository(RoleEntity).findOneBy({ name });
  }

  /**
   * Locks the roles against changes until the end of the transaction. Other transactions may grant
   * roles at the same time.
   */
  async freeze(): Promise<void> {
    await this.database.runPrepared(sql`select pg_advisory_xact_lock_shared(${advisoryLocks.roles}::bigint)`);
  }

  /**
   * Locks the roles like `freeze`, for a bulk change. First waits until no change of a role is
   * announced or running, longer than for other locks. Changes of roles that are announced later
   * wait for the end of the bulk change.
   */
  async freezeForBulk(): Promise<void> {
    await this.waitAtMost(rolesLockWait.bulk_ms);
    await this.database.run(sql`select pg_advisory_xact_lock_shared(${advisoryLocks.roleChanges}::bigint)`);
    await this.database.run(sql`set local lock_timeout to default`);
    await this.freeze();
  }

  /**
   * Locks the roles exclusively until the end of the transaction. Take this lock before all others.
   * First announces the change, and waits until running bulk changes that grant roles end. During
   * this wait, single users can still get roles. Then waits only briefly for transactions that
   * grant roles to single users: later transactions queue behind this lock and hold connections.
   * @throws service.database_unavailable if a wait takes too long
   */
  async lock(): Promise<void> {
    await this.waitAtMost(rolesLockWait.bulk_ms);
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.roleChanges}::bigint)`);
    await this.waitAtMost(rolesLockWait.ms);
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.roles}::bigint)`);
  }

  private async waitAtMost(ms: number): Promise<void> {
    await this.database.run(sql`select set_config('lock_timeout', ${String(ms)}, true)`);
  }

  async lockAdministrators(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.administrators}::bigint)`);
  }

  async hasAdministrator(): Promise<boolean> {
    const rows = await this.database.run(sql`select 1 from users where ${isAdministrator} limit 1`);
    return rows.length > 0;
  }

  /** Returns the types of the users who have a role, without deleted users. */
  async userTypesOfHolders(name: string): Promise<UserType[]> {
    const rows = await this.database.run<{ user_type: UserType }>(sql`
      select user_type
      from (values ('system'), ('carrier')) kind (user_type)
      where exists (
        select 1
        from users
        where users.user_type = kind.user_type
          and users.roles @> array[${name}::text]
          and users.deleted_at is null
      )`);
    return rows.map(({ user_type }) => user_type);
  }

  /** Inserts a role. The unique index rejects a taken name. */
  async insert(role: RoleEntity): Promise<void> {
    const { name, description, user_types, permissions, may_grant, second_factor_required_from } = role;
    await this.database.run(sql`
      insert into roles (name, description, user_types, permissions, may_grant, second_factor_required_from)
      values (
        ${name}, ${description}, ${user_types}::text[], ${permissions}::text[], ${may_grant}::text[],
        ${second_factor_required_from}::timestamptz
      )`);
  }

  /** Updates all fields of a role except its name, and sets its version. */
  async update(role: RoleEntity): Promise<void> {
    const { name, description, user_types, permissions, may_grant, second_factor_required_from, version } = role;
    await this.database.run(sql`
      update roles
      set description = ${description},
        user_types = ${user_types}::text[],
        permissions = ${permissions}::text[],
        may_grant = ${may_grant}::text[],
        second_factor_required_from = ${second_factor_required_from}::timestamptz,
        version = ${version}
      where name = ${name}`);
  }

  async delete(name: string): Promise<void> {
    await this.database.run(sql`delete from roles where name = ${name}`);
  }
}
