-- The statements of SessionsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/sessions.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- insert(session)
insert into sessions (
  session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, ip, user_agent, amr, auth_time,
  token_grant, expires_at, absolute_expires_at
)
values (
  $1::uuid, $2::uuid, $3, $4,
  $5, now(), $6::inet, $7,
  $8::text[], $9::timestamptz, $10::jsonb,
  now() + least($11::integer, $12::integer) * interval '1 second',
  now() + $13::integer * interval '1 second'
)
returning expires_at;

-- reauthenticate(other_id, [ 'otp', 'mfa' ])
update sessions
set
  auth_time = now(),
  amr = amr || array(select method from unnest($1::text[]) method where method <> all(amr))
where session_id = $2::uuid and (sessions.ended_at is null and sessions.expires_at > now())
returning amr, auth_time;

-- replaceGrant(other_id, null, { permissions: [ 'user:read' ] })
update sessions
set token_grant = $1::jsonb
where session_id = $2::uuid and token_grant is not distinct from $3::jsonb
returning 1;

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

-- find(other_id, { scope: limited, others: false })
select
  <columns of find>
from sessions
join session_search on session_search.session_id = sessions.session_id
join users on users.user_id = sessions.user_id
where sessions.session_id = $1::uuid and session_search.user_id = $2::uuid and sessions.user_id = $3::uuid and users.deleted_at is null;

-- list({ scope: administrator, others: true }, {}, user_id)
select
  <columns of find>,
  (session_search.created_at)::text as cursor_value
from sessions
join session_search on session_search.session_id = sessions.session_id
join users on users.user_id = sessions.user_id
where true and users.deleted_at is null
order by session_search.created_at desc, session_search.session_id desc
limit 51;

-- list({ scope: limited, others: true }, { active: 'true', carrier_id: 'c1' }, user_id)
explain (format json)
select
  <columns of find>
from sessions
join session_search on session_search.session_id = sessions.session_id
join users on users.user_id = sessions.user_id
where (
  (sessions.user_type = 'carrier' and session_search.carrier_id = any($1::text[]))
  or session_search.user_id = $2::uuid
) and users.deleted_at is null
  and ((sessions.ended_at is null and sessions.expires_at > now()))
  and (session_search.carrier_id = $3::text);
select
  <columns of find>,
  (session_search.created_at)::text as cursor_value
from sessions
join session_search on session_search.session_id = sessions.session_id
join users on users.user_id = sessions.user_id
where sessions.session_id = any(
  array(
    select sort_id
    from (
      select
        session_search.created_at as sort_value, session_search.session_id as sort_id
      from sessions
      join session_search on session_search.session_id = sessions.session_id
      join users on users.user_id = sessions.user_id
      where (
        (sessions.user_type = 'carrier' and session_search.carrier_id = any($1::text[]))
        or session_search.user_id = $2::uuid
      ) and users.deleted_at is null
        and ((sessions.ended_at is null and sessions.expires_at > now()))
        and (session_search.carrier_id = $3::text)
      offset 0
    ) found
    order by sort_value desc, sort_id desc
    limit $4
  )
)
order by session_search.created_at desc, session_search.session_id desc;

-- withAgents([ { kind: 'field', field: 'user_agent', operator: 'like', value: 'firefox' } ])
with recursive
  -- Takes one step through the index for each different user agent.
  steps as (
    (select user_agent from session_search where user_agent is not null order by user_agent limit 1)
    union all
    select (
      select user_agent from session_search where user_agent > steps.user_agent order by user_agent limit 1
    )
    from steps
    where user_agent is not null
  ),
  agents as (
    select user_agent from steps limit $1::integer
  ),
  matching as (
    select user_agent from agents where user_agent ilike $2::text limit $3::integer
  )
select
  (select count(*)::integer from agents) as seen,
  array(select user_agent from matching) as agents;

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
