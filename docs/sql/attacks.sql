-- listNetworks(administrator)
select
  attacks.network::text as network, refused, logins_tried, first_at, last_at,
  (
    select max(expires_at)
    from address_blocks
    where $1::boolean and address_blocks.network >>= attacks.network and expires_at > now()
  ) as blocked_until
from (
  select
    network,
    sum(refused)::integer as refused,
    count(*)::integer as logins_tried,
    min(first_at) as first_at, max(last_at) as last_at
  from (
    select
      network(set_masklen(ip, case family(ip) when 4 then 24 else 64 end)) as network,
      coalesce(target_id::text, changes #>> '{login,after}') as login,
      count(*) as refused,
      min(occurred_at) as first_at, max(occurred_at) as last_at
    from (
      select events.occurred_at, events.target_id, events.ip, events.changes
      from events
      where events.event_type = 'login.failed'
        and events.occurred_at > now() - interval '24 hours'
        and true
      order by events.occurred_at desc
      limit $2::integer
    ) refused
    where ip is not null
    group by 1, 2
  ) logins
  group by network
  order by refused desc, last_at desc
  limit $3::integer
) attacks
order by refused desc, last_at desc;

-- listNetworks(limited)
select
  <columns of listNetworks>
from (
  select
    <columns of listNetworks>
  from (
    select
      <columns of listNetworks>
    from (
      select events.occurred_at, events.target_id, events.ip, events.changes
      from (
        select
          event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id, carrier_id,
          operation_id, request_id, changes, case when
            case raw.actor_type
              when 'user' then exists (
                select 1
                from users acting
                where acting.user_id = raw.actor_id and (
                  (acting.user_type = 'carrier' and acting.carrier_id = any($2::text[]))
                  or acting.user_id = $3::uuid
                )
              )
              when 'key' then exists (
                select 1
                from keys acting
                where acting.key_id = raw.actor_id and (
                  (acting.user_type = 'carrier' and acting.carrier_id = any($4::text[]))
                  or acting.created_by = $5::uuid
                )
              )
              else true
            end then raw.ip end as ip,
          case when
            case raw.actor_type
              when 'user' then exists (
                <as in listNetworks>
              )
              when 'key' then exists (
                <as in listNetworks>
              )
              else true
            end then raw.session_id end as session_id
        from events raw
      ) events
      where events.event_type = 'login.failed'
        and events.occurred_at > now() - interval '24 hours'
        and (
          ('carrier' = 'carrier' and events.carrier_id = any($10::text[]))
          or (events.target_id = $11::uuid and events.target_type in ('user', 'login'))
        )
      order by events.occurred_at desc
      limit $12::integer
    ) refused
    where ip is not null
    group by 1, 2
  ) logins
  group by network
  order by refused desc, last_at desc
  limit $13::integer
) attacks
order by refused desc, last_at desc;

-- listUsers(limited)
select users.user_id, users.name, refused, networks, last_at
from (
  select
    user_id,
    sum(refused)::integer as refused,
    count(network)::integer as networks,
    max(last_at) as last_at
  from (
    select
      target_id as user_id,
      network(set_masklen(ip, case family(ip) when 4 then 24 else 64 end)) as network,
      count(*) as refused,
      max(occurred_at) as last_at
    from (
      <as in listNetworks>
    ) refused
    where target_id is not null
    group by 1, 2
  ) networks
  group by user_id
  order by refused desc, last_at desc
  limit $12::integer
) attacked
join users on users.user_id = attacked.user_id and users.deleted_at is null
order by refused desc, last_at desc;

-- findRate(limited)
select
  (
    select count(*)::integer
    from (
      select events.occurred_at, events.target_id, events.ip, events.changes
      from (
        <as in listNetworks>
      ) events
      where events.event_type = 'login.failed'
        and events.occurred_at > now() - interval '1 hour'
        and (
          ('carrier' = 'carrier' and events.carrier_id = any($9::text[]))
          or (events.target_id = $10::uuid and events.target_type in ('user', 'login'))
        )
      order by events.occurred_at desc
      limit $11::integer
    ) refused
  ) as refused_last_hour,
  percentile_disc(0.5) within group (order by days.refused) as usual_for_the_hour
from (
  select coalesce(sum(login_counts.failed), 0)::integer as refused
  from generate_series(1, 7) day
  left join login_counts
    on login_counts.hour = date_trunc('hour', now() - interval '30 minutes', 'UTC') - day * interval '24 hours'
    and (
      ('carrier' = 'carrier' and carrier_id = any($12::text[]))
      or null::uuid = $13::uuid
    )
  group by day
) days;
