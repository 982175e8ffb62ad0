-- The statements of FactorsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/factors.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- list(user_id)
select factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed
from second_factors
where user_id = $1::uuid and not (confirmed_at is null and created_at <= now() - interval '10 minutes')
order by created_at, factor_id;

-- summary(user_id, 'example.com')
select
  array(
    select distinct kind
    from second_factors
    where user_id = $1::uuid
      and confirmed_at is not null
      and (kind <> 'passkey' or rp_id = $2::text)
    order by kind desc
  ) as kinds,
  (
    select count(*)::integer
    from recovery_codes
    where user_id = $3::uuid
  ) as recovery_codes_left;

-- insertTotp({ factor_id: other_id, user_id: user_id, name: 'Phone', secret: hash })
insert into second_factors (factor_id, user_id, kind, name, secret)
values ($1::uuid, $2::uuid, 'totp', $3, $4::bytea);

-- deleteUnconfirmed(user_id)
delete from second_factors
where user_id = $1::uuid and confirmed_at is null;

-- findUnconfirmed(user_id, other_id)
select factor_id, secret, floor(extract(epoch from clock_timestamp()) / 30)::integer as step
from second_factors
where user_id = $1::uuid
  and factor_id = $2::uuid
  and kind = 'totp'
  and confirmed_at is null
  and not (confirmed_at is null and created_at <= now() - interval '10 minutes');

-- listSecrets(user_id)
select factor_id, secret, floor(extract(epoch from clock_timestamp()) / 30)::integer as step
from second_factors
where user_id = $1::uuid and kind = 'totp' and confirmed_at is not null;

-- acceptStep(user_id, other_id, 59816000, true)
with accepted as (
  insert into totp_steps (user_id, step)
  values ($1::uuid, $2::bigint)
  on conflict (user_id) do update set step = excluded.step
  where totp_steps.step < excluded.step
  returning user_id as owner_id
)
update second_factors
set last_used_at = now(), confirmed_at = coalesce(confirmed_at, now())
from accepted
where user_id = owner_id
  and factor_id = $3::uuid
  and (confirmed_at is not null) = $4::boolean
returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed;

-- countWrong(other_id, 5)
with counted as (
  update second_factors
  set wrong_codes = wrong_codes + 1
  where factor_id = $1::uuid and wrong_codes < $2::integer
  returning factor_id
)
delete from second_factors
where factor_id = $3::uuid and not exists (select from counted);

-- rename(user_id, other_id, 'Phone')
with before as (
  select factor_id as renamed_id, name as previous_name
  from second_factors
  where user_id = $1::uuid and factor_id = $2::uuid and not (confirmed_at is null and created_at <= now() - interval '10 minutes')
  for no key update
)
update second_factors
set name = $3
from before
where factor_id = renamed_id
returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed, previous_name;

-- delete(user_id, other_id)
delete from second_factors
where user_id = $1::uuid and factor_id = $2::uuid and not (confirmed_at is null and created_at <= now() - interval '10 minutes')
returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed;

-- deleteAll([ user_id ])
delete from second_factors
where user_id = any($1::uuid[])
returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed;

-- insertCodes(user_id, [ hash ])
insert into recovery_codes (user_id, code_hash)
select $1::uuid, code_hash
from unnest($2::bytea[]) code_hash;

-- deleteCodes([ user_id ])
delete from recovery_codes
where user_id = any($1::uuid[]);

-- useCode(user_id, hash)
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
