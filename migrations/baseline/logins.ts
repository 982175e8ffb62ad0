/** The index finds the hashes of other systems among millions of hashes of the service. */
export const passwords = `
  create table credentials (
    user_id uuid not null,
    password_hash text not null,
    expires_at timestamptz(3),
    policy_checked boolean not null default true,
    constraint credentials_password_hash_check check (password_hash like '$%'),
    constraint credentials_pkey primary key (user_id),
    constraint credentials_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create index credentials_foreign_idx on credentials (user_id)
    where password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
      and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%';
  create table password_hash_costs (
    computation text not null,
    cost integer not null,
    constraint password_hash_costs_pkey primary key (computation)
  );
  create trigger password_hash_costs_changed after insert or delete or update on password_hash_costs
    for each row execute function notify_change('password_hash_costs_changed');
`;

export const links = `
  create table one_time_tokens (
    user_id uuid not null,
    purpose text not null,
    token_hash bytea,
    email text,
    requested_at timestamptz(3) not null,
    expires_at timestamptz(3),
    used_at timestamptz(3),
    constraint one_time_tokens_purpose_check check (purpose in ('reset', 'invite', 'email')),
    constraint one_time_tokens_pkey primary key (user_id, purpose),
    constraint one_time_tokens_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create unique index one_time_tokens_token_hash_key on one_time_tokens (token_hash);
`;

/**
 * `used_on` is a date, so that only the first attempt of a day updates its index. Accounts of 36
 * characters are user ids: keyed hashes of unknown logins would only make the index larger.
 */
export const counters = `
  create table login_attempts (
    account text not null,
    address text not null,
    failures integer not null default 0,
    pending jsonb not null default '{}',
    locked_until timestamptz(3),
    known_until timestamptz(3),
    used_on date not null,
    constraint login_attempts_pkey primary key (account, address)
  ) with (fillfactor = 70);
  create index login_attempts_address_idx on login_attempts (address, account)
    where address <> '' and length(account) = 36;
  create index login_attempts_used_on_idx on login_attempts (used_on);
  create table rate_limits (
    key bytea not null,
    hits integer not null,
    ends_at timestamptz(3) not null,
    constraint rate_limits_pkey primary key (key)
  ) with (fillfactor = 70);
  create index rate_limits_ends_at_idx on rate_limits (ends_at);
`;

/**
 * `users.second_factors` repeats the kinds of the confirmed factors, so that a login reads no other
 * table for users without one. A trigger keeps it up to date.
 */
export const factors = `
  create table second_factors (
    factor_id uuid not null,
    user_id uuid not null,
    kind text not null,
    name text not null,
    created_at timestamptz(3) not null default now(),
    confirmed_at timestamptz(3),
    last_used_at timestamptz(3),
    secret bytea,
    credential_id bytea,
    public_key bytea,
    signature_counter bigint,
    transports text[],
    rp_id text,
    aaguid uuid,
    backup_eligible boolean,
    wrong_codes integer not null default 0,
    constraint second_factors_kind_check check (
      kind = 'totp' and secret is not null and credential_id is null
      or (
        kind = 'passkey' and secret is null and credential_id is not null and public_key is not null
        and signature_counter is not null and rp_id is not null and backup_eligible is not null
        and confirmed_at is not null
      )
    ),
    constraint second_factors_credential_id_key unique (credential_id),
    constraint second_factors_pkey primary key (factor_id),
    constraint second_factors_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create index second_factors_unconfirmed_idx on second_factors (created_at) where confirmed_at is null;
  create index second_factors_user_id_idx on second_factors (user_id);
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
    for each row execute function second_factors_changed();
  create table recovery_codes (
    code_hash bytea not null,
    user_id uuid not null,
    constraint recovery_codes_pkey primary key (code_hash),
    constraint recovery_codes_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create index recovery_codes_user_id_idx on recovery_codes (user_id);
  create table totp_steps (
    user_id uuid not null,
    step bigint not null,
    constraint totp_steps_pkey primary key (user_id),
    constraint totp_steps_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create table enrollment_codes (
    user_id uuid not null,
    code_hash bytea,
    requested_at timestamptz(3) not null default now(),
    expires_at timestamptz(3),
    wrong_codes integer not null default 0,
    after_reset boolean not null default false,
    constraint enrollment_codes_pkey primary key (user_id),
    constraint enrollment_codes_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
`;

export const challenges = `
  create table login_challenges (
    challenge_hash bytea not null,
    user_id uuid not null,
    password_changed_at timestamptz(3),
    counter_address text not null,
    ip inet,
    user_agent text,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    wrong_codes integer not null default 0,
    renewal jsonb,
    constraint login_challenges_pkey primary key (challenge_hash),
    constraint login_challenges_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create index login_challenges_expires_at_idx on login_challenges (expires_at);
  create index login_challenges_user_id_idx on login_challenges (user_id);
  create table used_passkey_challenges (
    challenge_hash bytea not null,
    expires_at timestamptz(3) not null,
    constraint used_passkey_challenges_pkey primary key (challenge_hash)
  );
  create index used_passkey_challenges_expires_at_idx on used_passkey_challenges (expires_at);
`;
