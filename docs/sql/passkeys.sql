-- The statements of PasskeysRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/passkeys.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- find(hash, 'example.net')
select factor_id, user_id, public_key, backup_eligible
from second_factors
where credential_id = $1::bytea and rp_id = $2::text;

-- list(user_id, 'example.net')
select credential_id, coalesce(transports, '{}') as transports
from second_factors
where user_id = $1::uuid and kind = 'passkey' and rp_id = $2::text
order by created_at, factor_id;

-- insert(other_id, user_id, 'Laptop', passkey)
insert into second_factors (
  factor_id, user_id, kind, name, confirmed_at,
  credential_id, public_key, signature_counter, transports, rp_id, aaguid, backup_eligible
)
values (
  $1::uuid, $2::uuid, 'passkey', $3, now(),
  $4::bytea, $5::bytea, $6::bigint, $7::text[],
  $8, $9::uuid, $10::boolean
)
returning factor_id, user_id, kind, name, created_at, last_used_at, aaguid, true as confirmed;

-- moveCounter(other_id, 2)
update second_factors
set signature_counter = $1::bigint, last_used_at = now()
where factor_id = $2::uuid
  and (
    signature_counter < $3::bigint
    or (signature_counter = 0 and $4::bigint = 0)
  )
returning 1;

-- counterOf(other_id)
select signature_counter::float8 as signature_counter
from second_factors
where factor_id = $1::uuid;

-- useChallenge(hash, 2027-01-01T00:00:00.000Z)
insert into used_passkey_challenges (challenge_hash, expires_at)
values ($1::bytea, $2::timestamptz)
on conflict (challenge_hash) do nothing
returning 1;

-- removeExpiredChallenges(1000)
delete from used_passkey_challenges
where ctid = any(array(
  select ctid
  from used_passkey_challenges
  where expires_at < now() - interval '1 hour'
  limit $1::integer
  for update skip locked
))
returning 1;
