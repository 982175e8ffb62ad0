-- The statements of IdempotencyRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/idempotency.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- reserve({ user_id: user_id, actor_type: 'user', method: 'POST', path: '/user/create', key_hash...
insert into idempotency_keys as kept (
  user_id, actor_type, actor_scope, method, path, key_hash,
  request_hash, claim_id, claimed_until
)
values (
  $1::uuid, $2::text, $3::text, $4::text, $5::text,
  $6::bytea, $7::bytea, $8::uuid,
  now() + $9::integer * interval '1 second'
)
on conflict (user_id, method, path, key_hash) do update
set actor_scope = excluded.actor_scope,
  request_hash = excluded.request_hash,
  claim_id = excluded.claim_id,
  claimed_until = excluded.claimed_until,
  status = null,
  answer = null,
  created_at = now()
where kept.actor_type = excluded.actor_type
  and kept.claimed_until < now()
  and (
    kept.created_at < now() - interval '24 hours'
    or (kept.status is null and coalesce(kept.request_hash = excluded.request_hash, true))
  )
returning claim_id;

-- sweep()
delete from idempotency_keys
where (user_id, method, path, key_hash) in (
  select user_id, method, path, key_hash
  from idempotency_keys
  where created_at < now() - interval '24 hours' and claimed_until < now()
  order by created_at
  limit $1::integer
  for update skip locked
);

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
  user_id = $2::uuid
  and actor_type = $3::text
  and method = $4::text
  and path = $5::text
  and key_hash = $6::bytea
) and claim_id = $7::uuid and status is null;

-- keep(scope, other_id, { status: 201, answer: '{}', replace: true }, hash)
update idempotency_keys
set request_hash = coalesce(request_hash, $1::bytea),
  answer = case when $2::boolean or status is null then $3::json else answer end,
  status = case when $4::boolean or status is null then $5::integer else status end
where (
  user_id = $6::uuid
  and actor_type = $7::text
  and method = $8::text
  and path = $9::text
  and key_hash = $10::bytea
) and claim_id = $11::uuid
returning claim_id;

-- release(scope, other_id)
delete from idempotency_keys
where (
  user_id = $1::uuid
  and actor_type = $2::text
  and method = $3::text
  and path = $4::text
  and key_hash = $5::bytea
) and claim_id = $6::uuid and status is null;

-- eraseUsers([ user_id ])
delete from idempotency_keys
where user_id = any($1::uuid[]) and actor_type = 'user';
update idempotency_keys
set answer = null
where exists (
  select
  from unnest($1::uuid[]) as purged (id)
  where strpos(answer::text, purged.id::text) > 0
);
