-- The statements of UserFactorsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/user-factors.ts.

-- lock(user_id)
select 1
from users
where user_id = $1::uuid and deleted_at is null
for no key update;

-- findOwner(user_id, other_id)
select
  users.user_id, users.name, users.carrier_id, users.second_factors,
  (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  ) as requires_factor
from users
join sessions on sessions.user_id = users.user_id
where users.user_id = $1::uuid
  and sessions.session_id = $2::uuid
  and sessions.ended_at is null
  and sessions.expires_at > now();

-- deleteChallenges([ user_id ])
delete from login_challenges
where user_id = any($1::uuid[]);
