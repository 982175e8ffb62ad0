-- listForeignForms()
with recursive forms as (
  (
    select (case
      when password_hash like '$2%' then left(password_hash, 6)
      when password_hash like '$pbkdf2%' then '$' || split_part(password_hash, '$', 2)
      else regexp_replace(regexp_replace(password_hash, '\$[^$]*\$[^$]*$', ''), '([=,])0+(?=\d)', '\1', 'g')
    end) collate "C" as form
    from credentials
    where password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
      and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'
    order by 1
    limit 1
  )
  union all
  select (
    select (case
      when password_hash like '$2%' then left(password_hash, 6)
      when password_hash like '$pbkdf2%' then '$' || split_part(password_hash, '$', 2)
      else regexp_replace(regexp_replace(password_hash, '\$[^$]*\$[^$]*$', ''), '([=,])0+(?=\d)', '\1', 'g')
    end) collate "C"
    from credentials
    where password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
      and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%' and (case
        when password_hash like '$2%' then left(password_hash, 6)
        when password_hash like '$pbkdf2%' then '$' || split_part(password_hash, '$', 2)
        else regexp_replace(regexp_replace(password_hash, '\$[^$]*\$[^$]*$', ''), '([=,])0+(?=\d)', '\1', 'g')
      end) collate "C" > forms.form
    order by 1
    limit 1
  )
  from forms
  where form is not null
)
select form
from forms
where form is not null
limit 256;

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

-- isKnown(user_id, '203.0.113.7')
select exists (
  select from login_attempts known
  where known.account = $1::text and known.address = $2::text and known.known_until > now()
) as known;

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
