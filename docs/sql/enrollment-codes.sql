-- The statements of EnrollmentCodesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/enrollment-codes.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- request(user_id)
insert into enrollment_codes (user_id, requested_at)
select $1::uuid, now()
where not exists (
  select 1
  from one_time_tokens
  where one_time_tokens.user_id = $2::uuid
    and one_time_tokens.purpose <> 'email'
    and one_time_tokens.used_at > now() - interval '1 hour'
)
on conflict (user_id) do update set requested_at = excluded.requested_at
where enrollment_codes.requested_at <= now() - interval '5 minutes'
returning 1;

-- demand([ user_id ])
insert into enrollment_codes (user_id, requested_at, after_reset)
select user_id, '1970-01-01T00:00:00Z', true
from unnest($1::uuid[]) user_id
on conflict (user_id) do update set after_reset = true;

-- accept(user_id, hash, 5)
update enrollment_codes
set wrong_codes = wrong_codes + case when code_hash = $1::bytea then 0 else 1 end
where user_id = $2::uuid
  and code_hash is not null
  and expires_at > now()
  and wrong_codes < $3::integer
returning code_hash = $4::bytea as is_right;

-- delete(user_id)
delete from enrollment_codes
where user_id = $1::uuid;

-- put(user_id, hash, 900)
update enrollment_codes
set code_hash = $1::bytea,
  expires_at = now() + $2::integer * interval '1 second',
  wrong_codes = 0
where user_id = $3::uuid
returning 1;
