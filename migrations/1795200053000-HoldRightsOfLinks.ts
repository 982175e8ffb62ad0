import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the purposes `shown` (links at the terminal) and `not_me` (links that undo changes).
 * `digest` is what a user may do when an address is proposed, or the seed of a `not_me` link, and
 * `factors` what the user had before the changes that this link undoes.
 * A change of the factors of a user drops the proposed address.
 */
export class HoldRightsOfLinks1795200053000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table one_time_tokens add column digest bytea, add column factors uuid[]');
    await replacePurposes(runner, `'reset', 'invite', 'email', 'shown', 'not_me'`);
    await runner.query(rightsDigest);
    await runner.query(factorsChanged(`case when users.second_factors = kinds then users.email_pending end`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(factorsChanged('users.email_pending'));
    await runner.query('drop function rights_digest(uuid)');
    await runner.query(`delete from one_time_tokens where purpose in ('shown', 'not_me')`);
    await replacePurposes(runner, `'reset', 'invite', 'email'`);
    await runner.query('alter table one_time_tokens drop column digest, drop column factors');
  }
}

/** What a user may do and must have, and whose change therefore voids a proposed address. */
const rightsDigest = `
  create function rights_digest(id uuid) returns bytea language sql stable as $$
    select sha256(convert_to(jsonb_build_array(
      status,
      carrier_scope,
      second_factors,
      must_change_password,
      extract(epoch from second_factor_required_from),
      (
        select jsonb_agg(
          jsonb_build_array(
            roles.name, roles.permissions, roles.may_grant, extract(epoch from roles.second_factor_required_from)
          )
          order by roles.name
        )
        from roles
        where roles.name = any(users.roles)
      )
    )::text, 'UTF8'))
    from users
    where user_id = id
  $$`;

async function replacePurposes(runner: QueryRunner, purposes: string): Promise<void> {
  await runner.query(`
    alter table one_time_tokens
      drop constraint one_time_tokens_purpose_check,
      add constraint one_time_tokens_purpose_check check (purpose in (${purposes}))`);
}

/** @param email_pending SQL of the proposed address after a change of factors */
function factorsChanged(email_pending: string): string {
  return `
    create or replace function second_factors_changed() returns trigger language plpgsql as $$
    declare
      changed uuid := coalesce(new.user_id, old.user_id);
      kinds text[] := array(
        select kind
        from second_factors
        where second_factors.user_id = changed and confirmed_at is not null
        order by created_at, factor_id
      );
    begin
      update users
      set second_factors = kinds, email_pending = ${email_pending}
      where user_id = changed;
      return null;
    end $$`;
}
