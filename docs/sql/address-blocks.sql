-- listNetworks()
select network::text as network, extract(epoch from expires_at - now())::float8 * 1000 as ends_in_ms
from address_blocks
where address_blocks.expires_at > now();

-- findFor('203.0.113.7')
select
  address_blocks.address_block_id, address_blocks.network::text as network, address_blocks.reason,
  address_blocks.created_at, address_blocks.created_by, address_blocks.expires_at, extract(epoch from expires_at - now())::float8 * 1000 as ends_in_ms
from address_blocks
where network >>= $1::inet and address_blocks.expires_at > now()
order by expires_at desc
limit 1;

-- list({ network: '203.0.113.0/24' })
with page as materialized (
  select
    address_blocks.address_block_id, address_blocks.network::text as network, address_blocks.reason,
    address_blocks.created_at, address_blocks.created_by, address_blocks.expires_at,
    (address_blocks.created_at)::text as cursor_value,
    address_blocks.created_at as sort_value
  from address_blocks
  where address_blocks.expires_at > now()
    and (address_blocks.network <<= $1::inet)
  order by address_blocks.created_at desc, address_blocks.address_block_id desc
  limit $2
)
select
  *
from page
order by sort_value desc, page.address_block_id desc
limit $3;

-- isFull()
select count(*) >= $1::integer as is_full
from address_blocks
where address_blocks.expires_at > now();

-- insert({ address_block_id: other_id, network: '203.0.113.0/24', reason: null, created_by: user...
insert into address_blocks (address_block_id, network, reason, created_by, expires_at)
select $1::uuid, network($2::inet), $3::text, $4::uuid, ends.at
from (select $5::timestamptz(3) as at) ends
where ends.at > now() and ends.at <= now() + interval '30 days'
returning
  address_blocks.address_block_id, address_blocks.network::text as network, address_blocks.reason,
  address_blocks.created_at, address_blocks.created_by, address_blocks.expires_at;

-- delete(other_id)
delete from address_blocks
where address_block_id = $1::uuid and address_blocks.expires_at > now()
returning
  address_blocks.address_block_id, address_blocks.network::text as network, address_blocks.reason,
  address_blocks.created_at, address_blocks.created_by, address_blocks.expires_at;

-- removeExpired()
delete from address_blocks where not address_blocks.expires_at > now();
