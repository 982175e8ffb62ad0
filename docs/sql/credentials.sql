-- The statements of CredentialsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/credentials.ts.

-- upsertHash(user_id, '$argon2id$new', null)
insert into credentials (user_id, password_hash, expires_at, policy_checked)
values (
  $1, $2, now() + $3::integer * interval '1 second', true
)
on conflict (user_id) do update set
  password_hash = excluded.password_hash,
  expires_at = excluded.expires_at,
  policy_checked = excluded.policy_checked;

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

-- requestToken(user_id, 'reset', 60)
insert into one_time_tokens (user_id, purpose, requested_at)
values ($1, $2, now())
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
select user_id, purpose, email, expires_at
from one_time_tokens
where token_hash = $1 and purpose = any($2::text[]) and expires_at > now();

-- consumeToken(hash, [ 'reset', 'invite' ])
with used as (
  select user_id, purpose, one_time_tokens.email, expires_at
  from one_time_tokens
  join users using (user_id)
  where token_hash = $1 and purpose = any($2::text[]) and expires_at > now()
  for no key update of users
  for update of one_time_tokens
)
update one_time_tokens
set token_hash = null, expires_at = null, used_at = now()
from used
where one_time_tokens.user_id = used.user_id and one_time_tokens.purpose = used.purpose
returning used.user_id, used.purpose, used.email, used.expires_at;

-- voidTokens([ user_id ], [ 'reset', 'invite' ])
update one_time_tokens
set token_hash = null, expires_at = null
where user_id = any($1::uuid[])
  and purpose = any($2::text[])
  and token_hash is not null;
