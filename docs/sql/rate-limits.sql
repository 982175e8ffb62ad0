-- add(hash, 1, 60)
insert into rate_limits as counter (key, hits, ends_at)
values ($1::bytea, $2::integer, now() + $3::integer * interval '1 second')
on conflict (key) do update
set hits = case when counter.ends_at > now() then counter.hits else 0 end + excluded.hits,
  ends_at = case when counter.ends_at > now() then counter.ends_at else excluded.ends_at end
returning hits, greatest(1, ceil(extract(epoch from ends_at - now())))::integer as seconds_left;

-- take([ hash ], 10, 60)
insert into rate_limits as counter (key, hits, ends_at)
select distinct key, 1, now() + $1::integer * interval '1 second'
from unnest($2::bytea[]) key
order by key
on conflict (key) do update
set hits = case when counter.ends_at > now() then counter.hits else 0 end + excluded.hits,
  ends_at = case when counter.ends_at > now() then counter.ends_at else excluded.ends_at end
where counter.ends_at <= now() or counter.hits < $3::integer
returning key;

-- find([ hash ])
select key, hits, greatest(1, ceil(extract(epoch from ends_at - now())))::integer as seconds_left
from rate_limits
where key = any($1::bytea[]) and ends_at > now();
