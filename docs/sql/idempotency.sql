-- find(scope)
select actor_scope, request_hash, status, answer
from idempotency_keys
where (
  user_id = $1::uuid
  and actor_type = $2::text
  and method = $3::text
  and path = $4::text
  and key_hash = $5::bytea
);

-- renew(scope, other_id, 60)
update idempotency_keys
set claimed_until = now() + $1::integer * interval '1 second'
where (
  <as in find>
) and claim_id = $7::uuid and status is null;

-- keep(scope, other_id, { status: 201, answer: '{}', replace: true }, hash)
update idempotency_keys
set request_hash = coalesce(request_hash, $1::bytea),
  answer = case when $2::boolean or status is null then $3::json else answer end,
  status = case when $4::boolean or status is null then $5::integer else status end
where (
  <as in find>
) and claim_id = $11::uuid
returning claim_id;

-- release(scope, other_id)
delete from idempotency_keys
where (
  <as in find>
) and claim_id = $6::uuid and status is null;
