-- list(administrator, { page: '2', carrier_id_like: 'car' })
with recursive carriers as (
  (
    select users.carrier_id
    from users
    where users.deleted_at is null and users.carrier_id is not null
    order by users.carrier_id asc
    limit 1
  )
  union all
  select (
    select users.carrier_id
    from users
    where users.deleted_at is null and users.carrier_id > carriers.carrier_id
    order by users.carrier_id asc
    limit 1
  )
  from carriers
  where carriers.carrier_id is not null
),
  page as (
    select carriers.carrier_id
    from carriers
    where carriers.carrier_id is not null and true
      and carriers.carrier_id ilike $1::text
    limit $2
    offset $3
  )
select page.carrier_id, counts.users
from page
cross join lateral (
  select json_build_object(
    'total', count(*),
    'invited', count(*) filter (where users.status = 'invited'),
    'active', count(*) filter (where users.status = 'active'),
    'disabled', count(*) filter (where users.status = 'disabled')
  ) as users
  from users
  where users.carrier_id = page.carrier_id and users.deleted_at is null
) counts
order by page.carrier_id asc;
with recursive carriers as (
  <as in list>
)
select count(*)::integer as value
from (
  select 1
  from carriers
  where carriers.carrier_id is not null and true
    and carriers.carrier_id ilike $1::text
  limit $2
) counted;

-- list(limited, { order_dir: 'desc' })
with carriers as (
  select named.carrier_id
  from unnest($1::text[]) named (carrier_id)
  where named.carrier_id is not null
    and exists (
      select
      from users
      where users.carrier_id = named.carrier_id and users.deleted_at is null
    )
  order by named.carrier_id desc
),
  page as (
    select carriers.carrier_id
    from carriers
    where carriers.carrier_id is not null and (
      ('carrier' = 'carrier' and carriers.carrier_id = any($2::text[]))
      or null::uuid = $3::uuid
    )
    limit $4
    offset $5
  )
select page.carrier_id, counts.users
from page
cross join lateral (
  <as in list>
) counts
order by page.carrier_id desc;

-- list(carrierUser, { carrier_id_ne: 'c2', count: 'none' })
with carriers as (
  select named.carrier_id
  from unnest($1::text[]) named (carrier_id)
  where named.carrier_id is not null
    and exists (
      <as in list>
    )
  order by named.carrier_id asc
),
  page as (
    select carriers.carrier_id
    from carriers
    where carriers.carrier_id is not null and ('carrier' = 'carrier' and carriers.carrier_id = $2::text)
      and (carriers.carrier_id < $3::text or carriers.carrier_id > $4::text)
    limit $5
    offset $6
  )
select page.carrier_id, counts.users
from page
cross join lateral (
  <as in list>
) counts
order by page.carrier_id asc;
