-- fix({ scope: limited, conditions: [ lastNameLike ] }, 'seed', 1000)
with
  matching as materialized (
    select users.user_id
    from users
    where users.deleted_at is null
      and (
        (users.user_type = 'carrier' and users.carrier_id = any($1::text[]))
        or users.user_id = $2::uuid
      )
      and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($3) || '%'
        and strpos(lower(user_search.last_name), lower($4::text)) <> 0)
  ),
  fixed as materialized (
    select user_id
    from matching
    limit $5::integer
  )
select
  count(*)::integer as count,
  coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($6::text, $7::bigint)
  )), 0)::text || '.' || coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($8::text, $9::bigint)
  )), 0)::text as digest,
  now() as fixed_at,
  coalesce(array_agg(user_id), '{}') as user_ids
from fixed;

-- fix({ undo_of: operation_id, times: times, undos: [ other_id ] }, 'seed', 1000)
with
  matching as materialized (
    select target_id as user_id
    from events
    where operation_id = $1::uuid
      and event_type in ('user.created', 'user.changed', 'user.deleted')
      and events.occurred_at >= $2::timestamptz
      and events.occurred_at <= $3::timestamptz
    except
    select target_id
    from events
    where operation_id = any($4::uuid[])
      and event_type in ('user.changed', 'user.deleted', 'user.restored')
      and events.occurred_at >= $5::timestamptz
  ),
  fixed as materialized (
    <as in fix>
  )
select
  <columns of fix>
from fixed;

-- fixInBatches({ scope: limited, conditions: [] }, 'seed', operation_id)
with
  matching as materialized (
    select users.user_id
    from users
    where users.deleted_at is null
      and (
        (users.user_type = 'carrier' and users.carrier_id = any($1::text[]))
        or users.user_id = $2::uuid
      )
      and true
  ),
  stored as (
    insert into operation_batches (operation_id, number, user_ids)
    select $3::uuid, number, array_agg(user_id order by user_id)
    from (
      select user_id, (row_number() over (order by user_id) - 1) / $4::integer as number
      from matching
    ) numbered
    group by number
  )
select
  count(*)::integer as count,
  coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($5::text, $6::bigint)
  )), 0)::text || '.' || coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($7::text, $8::bigint)
  )), 0)::text as digest,
  now() as fixed_at
from matching;
