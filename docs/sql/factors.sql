-- list(user_id)
select factor_id, user_id, kind, name, created_at, last_used_at, aaguid, (confirmed_at is not null) as confirmed
from second_factors
where user_id = $1::uuid and not (confirmed_at is null and created_at <= now() - interval '10 minutes')
order by created_at, factor_id;

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

-- removeExpired(500)
delete from second_factors
where factor_id = any(array(
  select factor_id
  from second_factors
  where (confirmed_at is null and created_at <= now() - interval '10 minutes')
  limit $1::integer
  for update skip locked
))
returning 1;

-- listOutdated(<Buffer 01 01 01 01>, user_id, 500)
select factor_id, user_id, secret
from second_factors
where factor_id > $1::uuid and substring(secret from 1 for 4) <> $2::bytea
order by factor_id
limit $3::integer;

-- replaceSecrets([ { factor_id: other_id, before: hash, after: hash } ])
update second_factors
set secret = renewed.after
from unnest(
  $1::uuid[],
  $2::bytea[],
  $3::bytea[]
) renewed (factor_id, before, after)
where second_factors.factor_id = renewed.factor_id and second_factors.secret = renewed.before;

-- countOutdated(<Buffer 01 01 01 01>)
select count(*)::integer as count
from second_factors
where substring(secret from 1 for 4) <> $1::bytea;
