-- The statements of FactorsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/factors.ts.

-- summary(user_id)
select
  array(
    select distinct kind
    from second_factors
    where user_id = $1::uuid and confirmed_at is not null
    order by kind desc
  ) as kinds,
  (
    select count(*)::integer
    from recovery_codes
    where user_id = $2::uuid
  ) as recovery_codes_left;

-- listSecrets(user_id)
select factor_id, secret, floor(extract(epoch from clock_timestamp()) / 30)::integer as step
from second_factors
where user_id = $1::uuid and kind = 'totp' and confirmed_at is not null;

-- acceptStep(user_id, other_id, 59816000)
with accepted as (
  insert into totp_steps (user_id, step)
  values ($1::uuid, $2::bigint)
  on conflict (user_id) do update set step = excluded.step
  where totp_steps.step < excluded.step
  returning user_id
)
update second_factors
set last_used_at = now()
from accepted
where second_factors.user_id = accepted.user_id
  and factor_id = $3::uuid
  and confirmed_at is not null
returning factor_id;

-- deleteCode(user_id, hash)
with used as (
  delete from recovery_codes
  where code_hash = $1::bytea and user_id = $2::uuid
  returning user_id
)
select (
  select count(*)::integer
  from recovery_codes
  where user_id = $3::uuid and code_hash <> $4::bytea
) as codes_left
from used;
