-- reauthenticate(other_id, [ 'otp', 'mfa' ])
update sessions
set
  auth_time = now(),
  amr = amr || array(select method from unnest($1::text[]) method where method <> all(amr))
where session_id = $2::uuid and (sessions.ended_at is null and sessions.expires_at > now())
returning amr, auth_time;

-- find(other_id, { scope: limited, others: true })
select
  sessions.session_id, sessions.user_id, sessions.user_type, users.name, sessions.carrier_id,
  sessions.created_at, sessions.last_seen_at, sessions.expires_at, coalesce(sessions.auth_time, sessions.created_at) as auth_time, sessions.amr,
  host(sessions.ip) as ip, sessions.user_agent,
  (sessions.ended_at is null and sessions.expires_at > now()) as active, sessions.ended_at, sessions.ended_reason, sessions.ended_by
from sessions
join session_search on session_search.session_id = sessions.session_id
join users on users.user_id = sessions.user_id
where sessions.session_id = $1::uuid and (
  (sessions.user_type = 'carrier' and session_search.carrier_id = any($2::text[]))
  or session_search.user_id = $3::uuid
) and users.deleted_at is null;

-- list({ scope: limited, others: true }, { active: 'true', carrier_id: 'c1' })
with page as materialized (
  select
    <columns of find>,
    (session_search.created_at)::text as cursor_value,
    session_search.created_at as sort_value
  from sessions
  join session_search on session_search.session_id = sessions.session_id
  join users on users.user_id = sessions.user_id
  where (
    (sessions.user_type = 'carrier' and session_search.carrier_id = any($1::text[]))
    or session_search.user_id = $2::uuid
  ) and users.deleted_at is null
    and ((sessions.ended_at is null and sessions.expires_at > now()))
    and (session_search.carrier_id = $3::text)
  order by session_search.created_at desc, session_search.session_id desc
  limit $4
)
select
  *
from page
order by sort_value desc, page.session_id desc
limit $5;

-- rotate(other_id, hash, hash, { system: 1800, carrier: 3600 })
with rotated as (
  update sessions
  set
    previous_refresh_token_hash = refresh_token_hash,
    refresh_token_hash = $1,
    refreshed_at = now(),
    last_seen_at = now(),
    expires_at = least(
      absolute_expires_at,
      now() + interval '1 second' * case user_type
        when 'system' then $2::integer
        else $3::integer
      end
    )
  -- A refresh that waits for a bulk end of sessions would hold a connection.
  from (select set_config('lock_timeout', '500ms', true) offset 0) patience
  where session_id = $4::uuid and refresh_token_hash = $5 and (sessions.ended_at is null and sessions.expires_at > now())
  returning user_id, last_seen_at, expires_at
)
select now() as asked_at, rotated.user_id, rotated.last_seen_at, rotated.expires_at
from (select) always
left join rotated on true;

-- findRotatedWithin(other_id, hash, 2026-11-01T00:00:00.000Z, 30)
select user_id, last_seen_at, expires_at, refresh_token_hash
from sessions
where session_id = $1::uuid
  and previous_refresh_token_hash = $2
  and refreshed_at > $3::timestamptz - $4::integer * interval '1 second'
  and (sessions.ended_at is null and sessions.expires_at > now());

-- removeOld(90, 100)
delete from sessions
where session_id = any(array(
  select session_id
  from sessions
  where last_seen_at < now() - $1::integer * interval '1 day' and coalesce(ended_at, expires_at) < now() - $2::integer * interval '1 day'
  order by last_seen_at
  limit $3::integer
  for update skip locked
))
returning 1;
