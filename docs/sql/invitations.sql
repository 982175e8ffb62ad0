-- The statements of InvitationsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/invitations.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- listLinks([ user_id ])
select
  users.user_id, users.email,
  case
    when users.status = 'active' then 'voided'
    when link.user_id is null then 'none'
    when link.expires_at is null then 'unsent'
    when link.expires_at > now() then 'valid'
    else 'expired'
  end as state
from users
left join credentials on credentials.user_id = users.user_id
left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
where users.user_id = any($1::uuid[])
  and users.deleted_at is null
  and case users.status
    when 'active' then credentials.user_id is not null and credentials.password_hash is null
    else users.status = 'invited'
  end
order by users.user_id;

-- listSuspendedKeys(user_id)
select key_id, name
from keys
where created_by = $1::uuid and suspended_at is not null and revoked_at is null
order by suspended_at desc, key_id desc
limit 100;
