import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds address blocks, and lets the built-in role `operator` stop attacks: it reads the audit log,
 * retries mails and manages address blocks. An operator role with other permissions stays as it is.
 */
export class AddAddressBlocks1795200067000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table address_blocks (
        address_block_id uuid constraint address_blocks_pkey primary key,
        network cidr not null,
        reason text,
        created_at timestamptz(3) not null default now(),
        created_by uuid not null,
        expires_at timestamptz(3) not null
      )`);
    await runner.query(`
      create trigger address_blocks_changed after insert or update or delete or truncate on address_blocks
        for each statement execute function notify_change('address_blocks_changed')`);
    await runner.query(`
      update roles
      set permissions = array(select unnest(permissions || ${added}) order by 1), version = version + 1
      where name = 'operator' and built_in and permissions @> ${before} and permissions <@ ${before}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array(select unnest(${before}) order by 1), version = version + 1
      where name = 'operator' and built_in
        and permissions @> (${before} || ${added}) and permissions <@ (${before} || ${added})`);
    await runner.query('drop table address_blocks');
  }
}

const before = `'{
        user:read,user:read_deleted,user:create,user:update,user:delete,user:import,user:export,user:reset_factors,
        session:read,session:revoke,role:read
      }'::text[]`;
const added = `'{audit:read,mail:manage,address_block:manage}'::text[]`;
