-- The statements of CredentialsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/credentials.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- upsertHash(user_id, '$argon2id$new', null)
insert into credentials (user_id, password_hash, expires_at, policy_checked)
values (
  $1, $2, now() + $3::integer * interval '1 second', true
)
on conflict (user_id) do update set
  password_hash = excluded.password_hash,
  expires_at = excluded.expires_at,
  policy_checked = excluded.policy_checked;

-- voidPasswords([ user_id ])
update credentials
set password_hash = null, expires_at = case when expires_at <= now() then expires_at end
where user_id = any($1::uuid[]);

-- keep(user_id, '$argon2id$verified', '$argon2id$renewed', true)
update credentials
set
  expires_at = null,
  policy_checked = $1::boolean,
  password_hash = case
    when password_hash = $2::text then coalesce($3::text, password_hash)
    else password_hash
  end
where user_id = $4::uuid;

-- requestTokens([ user_id ], 'reset', 60)
insert into one_time_tokens (user_id, purpose, requested_at)
select user_id, $1, now()
from users
where user_id = any($2::uuid[])
on conflict (user_id, purpose) do update set
  requested_at = now(),
  token_hash = null,
  email = null,
  expires_at = null
where one_time_tokens.requested_at <= now() - $3::integer * interval '1 second'
returning user_id;

-- wasRequested(user_id, 'reset', 60)
select 1
from one_time_tokens
where user_id = $1::uuid
  and purpose = $2
  and requested_at > now() - $3::integer * interval '1 second';

-- recordProposal(user_id)
insert into one_time_tokens (user_id, purpose, requested_at, digest)
values ($1, 'email', now(), rights_digest($2::uuid))
on conflict (user_id, purpose) do update set digest = excluded.digest;

-- recordChange(user_id, hash, hash, other_id)
insert into one_time_tokens as link (
  user_id, purpose, email, digest, token_hash, requested_at, expires_at, factors
)
select
  user_id, 'not_me', email, $1::bytea, $2::bytea, now(), now() + interval '24 hours',
  array(
    select factor_id
    from second_factors
    where second_factors.user_id = users.user_id and confirmed_at < now()::timestamptz(3)
  ) || array_remove(array[$3::uuid], null)
from users
where user_id = $4::uuid
on conflict (user_id, purpose) do update set
  expires_at = least(excluded.expires_at, case when coalesce(link.expires_at > now(), false) then link.requested_at + interval '48 hours' end),
  email = excluded.email,
  digest = case when coalesce(link.expires_at > now(), false) then link.digest else excluded.digest end,
  token_hash = case when coalesce(link.expires_at > now(), false) then link.token_hash else excluded.token_hash end,
  requested_at = case when coalesce(link.expires_at > now(), false) then link.requested_at else excluded.requested_at end,
  factors = case when coalesce(link.expires_at > now(), false) then link.factors else excluded.factors end
where link.email = excluded.email or not coalesce(link.expires_at > now(), false);

-- findSeed(user_id, 'user@example.com')
select digest
from one_time_tokens
where user_id = $1::uuid and purpose = 'not_me' and email = $2 and expires_at > now();

-- isKnown(user_id, '203.0.113.7')
select exists (
  select from login_attempts known
  where known.account = $1::text and known.address = $2::text and known.known_until > now()
) as known;

-- putToken(user_id, 'reset', hash, 'user@example.com', 3600)
insert into one_time_tokens (user_id, purpose, token_hash, email, requested_at, expires_at)
select
  user_id, $1, $2::bytea, $3::text, now(),
  now() + $4::integer * interval '1 second'
from users
where user_id = $5::uuid
  and status <> 'disabled'
  and deleted_at is null
  and $6 in ('', case when $7 = 'email' then email_pending else email end)
for share
on conflict (user_id, purpose) do update set
  token_hash = excluded.token_hash,
  email = excluded.email,
  expires_at = excluded.expires_at
returning user_id;

-- findToken(hash, [ 'reset', 'invite' ])
select user_id, purpose, one_time_tokens.email, requested_at, expires_at, factors
from one_time_tokens
join users using (user_id)
where token_hash = $1
  and purpose = any($2::text[])
  and expires_at > now()
  and case purpose
    when 'email' then users.email_pending = one_time_tokens.email and rights_digest(user_id) = digest
    when 'invite' then users.status = 'invited' and users.deleted_at is null
    else true
  end;

-- consumeToken(hash, [ 'reset', 'invite' ])
with used as (
  select user_id, purpose, one_time_tokens.email, requested_at, expires_at, factors
  from one_time_tokens
  join users using (user_id)
  where token_hash = $1
    and purpose = any($2::text[])
    and expires_at > now()
    and case purpose
      when 'email' then users.email_pending = one_time_tokens.email and rights_digest(user_id) = digest
      when 'invite' then users.status = 'invited' and users.deleted_at is null
      else true
    end
  for no key update of users
  for update of one_time_tokens
)
update one_time_tokens
set token_hash = null, expires_at = null, used_at = now()
from used
where one_time_tokens.user_id = used.user_id and one_time_tokens.purpose = used.purpose
returning used.*;

-- voidTokens([ user_id ], [ 'reset', 'not_me' ], 'user@example.com')
update one_time_tokens
set token_hash = null, expires_at = null
where user_id = any($1::uuid[])
  and purpose = any($2::text[])
  and expires_at is not null
  and (purpose <> 'not_me' or lower(email) = lower(coalesce($3::text, email)));
