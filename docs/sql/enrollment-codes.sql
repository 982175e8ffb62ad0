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

-- isNeeded(user_id)
select 1
from users
where users.user_id = $1::uuid
  and users.second_factors = '{}'
  and ((
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  ) or (
    users.second_factors = '{}'
    and exists (
      select 1
      from enrollment_codes
      where enrollment_codes.user_id = users.user_id and enrollment_codes.after_reset
    )
  ))
  and not exists (
    select 1
    from one_time_tokens
    where one_time_tokens.user_id = users.user_id
      and one_time_tokens.purpose <> 'email'
      and one_time_tokens.used_at > now() - interval '1 hour'
  );
