-- endOne(other_id, { scope: limited, others: true }, [ 'administrator' ], eventBase)
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, $1::text as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.session_id = $2::uuid
      and (sessions.user_id = $3::uuid or not users.roles && $4::text[])
    order by sessions.session_id
    limit $5::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    update sessions
    set ended_at = now(), ended_reason = found.reason, ended_by = $6::uuid
    from found
    where sessions.session_id = found.session_id
    returning sessions.session_id, sessions.user_id, sessions.carrier_id, sessions.ended_reason
  ),
  recorded as (
    insert into events (
      event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
      target_id, carrier_id, changes, target_version
    )
    select
      $7, $8::uuid, $9, $10, $11::uuid, $12::uuid,
      $13::inet, $14,
      target.id, target.carrier_id, target.changes, target.version
    from (
      select
        session_id as id, carrier_id,
        jsonb_build_object(
          'user_id', jsonb_build_object('before', user_id),
          'ended_reason', jsonb_build_object('after', ended_reason)
        ) as changes,
        null::integer as version
      from ended
    ) target
  )
select count(*)::integer as count from ended;

-- endFound([ { kind: 'field', field: 'user_id', operator: 'eq', value: user_id } ], { scope: lim...
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, $1::text as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and (session_search.user_id = $2::uuid and sessions.user_id = $3::uuid)
      and (
        (sessions.user_type = 'carrier' and session_search.carrier_id = any($4::text[]))
        or session_search.user_id = $5::uuid
      ) and users.deleted_at is null
      and sessions.session_id is distinct from $6::uuid
      and (sessions.user_id = $7::uuid or not users.roles && $8::text[])
    order by sessions.session_id
    limit $9::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    <as in endOne>
  ),
  recorded as (
    <as in endOne>
  )
select count(*)::integer as count from ended;

-- endById(other_id, 'logout', eventBase)
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, $1::text as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.session_id = $2::uuid
    order by sessions.session_id
    limit $3::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    <as in endOne>
  ),
  recorded as (
    <as in endOne>
  )
select count(*)::integer as count from ended;

-- endOfUsers([ user_id ], 'password_changed', other_id, eventBase)
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, $1::text as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.user_id = any($2::uuid[])
      and sessions.session_id is distinct from $3::uuid
    order by sessions.session_id
    limit $4::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    <as in endOne>
  ),
  recorded as (
    <as in endOne>
  )
select count(*)::integer as count from ended;

-- endForbidden([ user_id ], eventBase)
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, case
      when users.deleted_at is not null then 'user_deleted'
      when users.status = 'disabled' then 'user_disabled'
      else 'ip_not_allowed'
    end as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.user_id = any($1::uuid[])
      and users.user_id = any($2::uuid[])
      and (
        users.deleted_at is not null
        or users.status = 'disabled'
        or (
          cardinality(users.allowed_ips) > 0
          and not (coalesce(sessions.ip, '0.0.0.0') <<= any(users.allowed_ips))
        )
      )
    order by sessions.session_id
    limit $3::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    <as in endOne>
  ),
  recorded as (
    <as in endOne>
  )
select count(*)::integer as count from ended;

-- endSurplus(user_id, 4, eventBase)
with
  -- Locks in the order of ids, so that two statements with common sessions cannot deadlock.
  found as (
    select sessions.session_id, $1::text as reason
    from sessions
    join session_search on session_search.session_id = sessions.session_id
    join users on users.user_id = sessions.user_id
    where (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.user_id = $2::uuid
      and sessions.session_id = any(array(
        select surplus.session_id
        from sessions surplus
        where surplus.user_id = $3::uuid and surplus.ended_at is null and surplus.expires_at > now()
        order by surplus.last_seen_at desc, surplus.session_id desc
        offset $4::integer
      ))
    order by sessions.session_id
    limit $5::integer
    for no key update of sessions
  ),
  -- Ends the sessions. A trigger notifies all instances.
  ended as (
    <as in endOne>
  ),
  recorded as (
    <as in endOne>
  )
select count(*)::integer as count from ended;

-- endReused(other_id)
update sessions
set ended_at = now(), ended_reason = 'token_reuse'
where session_id = $1::uuid and (sessions.ended_at is null and sessions.expires_at > now())
returning session_id, user_id, carrier_id;
