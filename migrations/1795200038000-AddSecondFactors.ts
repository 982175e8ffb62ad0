import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds second factors, recovery codes, the challenges between the two steps of a login, and the
 * times from which users and roles require a second factor.
 * `users.second_factors` repeats the kinds of the confirmed factors, so that a login reads no other
 * table for users without one. A trigger keeps it up to date.
 */
export class AddSecondFactors1795200038000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table users
        add column second_factors text[] not null default '{}',
        add column second_factor_required_from timestamptz(3)`);
    await runner.query('alter table roles add column second_factor_required_from timestamptz(3)');
    await runner.query(tables);
    await runner.query(factorTriggers);
    await runner.query(userTrigger([...columns, 'second_factors', 'second_factor_required_from']));
    await runner.query(sessionTrigger);
    await runner.query(`${endedReasons([...reasons, 'factors_changed'])} not valid`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`update sessions set ended_reason = 'revoked' where ended_reason = 'factors_changed'`);
    await runner.query(endedReasons(reasons));
    await runner.query('drop trigger session_reauthenticated on sessions');
    await runner.query(userTrigger(columns));
    await runner.query(`
      drop table enrollment_codes, used_passkey_challenges, login_challenges, recovery_codes, totp_steps,
        second_factors`);
    await runner.query('drop function second_factors_changed()');
    await runner.query('alter table roles drop column second_factor_required_from');
    await runner.query('alter table users drop column second_factor_required_from, drop column second_factors');
  }
}

const tables = `
  create table second_factors (
    factor_id uuid constraint second_factors_pkey primary key,
    user_id uuid not null constraint second_factors_user_id_fkey references users on delete cascade,
    kind text not null,
    name text not null,
    created_at timestamptz(3) not null default now(),
    confirmed_at timestamptz(3),
    last_used_at timestamptz(3),
    secret bytea,
    credential_id bytea constraint second_factors_credential_id_key unique,
    public_key bytea,
    signature_counter bigint,
    transports text[],
    rp_id text,
    aaguid uuid,
    backup_eligible boolean,
    constraint second_factors_kind_check check (
      (kind = 'totp' and secret is not null and credential_id is null)
      or (
        kind = 'passkey' and secret is null and credential_id is not null and public_key is not null
        and signature_counter is not null and rp_id is not null and backup_eligible is not null
        and confirmed_at is not null
      )
    )
  );
  create index second_factors_user_id_idx on second_factors (user_id);
  create index second_factors_unconfirmed_idx on second_factors (created_at) where confirmed_at is null;

  create table totp_steps (
    user_id uuid constraint totp_steps_pkey primary key
      constraint totp_steps_user_id_fkey references users on delete cascade,
    step bigint not null
  );

  create table recovery_codes (
    code_hash bytea constraint recovery_codes_pkey primary key,
    user_id uuid not null constraint recovery_codes_user_id_fkey references users on delete cascade
  );
  create index recovery_codes_user_id_idx on recovery_codes (user_id);

  create table login_challenges (
    challenge_hash bytea constraint login_challenges_pkey primary key,
    user_id uuid not null constraint login_challenges_user_id_fkey references users on delete cascade,
    password_changed_at timestamptz(3),
    counter_address text not null,
    ip inet,
    user_agent text,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    wrong_codes integer not null default 0
  );
  create index login_challenges_user_id_idx on login_challenges (user_id);
  create index login_challenges_expires_at_idx on login_challenges (expires_at);

  create table used_passkey_challenges (
    challenge_hash bytea constraint used_passkey_challenges_pkey primary key,
    expires_at timestamptz(3) not null
  );
  create index used_passkey_challenges_expires_at_idx on used_passkey_challenges (expires_at);

  create table enrollment_codes (
    user_id uuid constraint enrollment_codes_pkey primary key
      constraint enrollment_codes_user_id_fkey references users on delete cascade,
    code_hash bytea,
    requested_at timestamptz(3) not null default now(),
    expires_at timestamptz(3),
    wrong_codes integer not null default 0
  )`;

/** The change of the user notifies all instances. A purged user is already gone. */
const factorTriggers = `
  create function second_factors_changed() returns trigger language plpgsql as $$
  declare
    changed uuid := coalesce(new.user_id, old.user_id);
  begin
    update users
    set second_factors = array(
      select kind
      from second_factors
      where second_factors.user_id = changed and confirmed_at is not null
      order by created_at, factor_id
    )
    where user_id = changed;
    return null;
  end $$;
  create trigger second_factors_changed after insert or delete or update of confirmed_at on second_factors
    for each row execute function second_factors_changed()`;

const columns = [
  'version',
  'status',
  'deleted_at',
  'must_change_password',
  'email_pending',
  'password_changed_at',
  'roles',
  'carrier_scope',
  'user_type',
  'carrier_id',
  'name',
  'email',
  'user_id',
  'email_verified_at',
  'first_name',
  'last_name',
  'phone',
  'job_title',
  'locale',
  'timezone',
  'allowed_ips',
  'attributes',
  'created_at',
  'created_by',
  'updated_at',
];

function userTrigger(compared: string[]): string {
  const row = (state: string) => compared.map((column) => `${state}.${column}`).join(', ');
  return `
    create or replace trigger user_changed after update on users for each row
      when ((${row('old')}) is distinct from (${row('new')}))
      execute function notify_old_user()`;
}

const sessionTrigger = `
  create trigger session_reauthenticated after update of amr, auth_time on sessions for each row
    when ((old.amr, old.auth_time) is distinct from (new.amr, new.auth_time))
    execute function notify_old_user()`;

const reasons = [
  'logout',
  'revoked',
  'expired',
  'replaced',
  'token_reuse',
  'password_changed',
  'ip_not_allowed',
  'user_disabled',
  'user_deleted',
];

function endedReasons(allowed: string[]): string {
  const list = allowed.map((reason) => `'${reason}'`).join(', ');
  return `
    alter table sessions
      drop constraint sessions_ended_reason_check,
      add constraint sessions_ended_reason_check check (ended_reason in (${list}))`;
}
