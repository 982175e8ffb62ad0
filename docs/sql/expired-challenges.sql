-- The statements of ExpiredChallengesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/expired-challenges.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- take(1000)
with expired as (
  delete from login_challenges
  where challenge_hash = any(array(
    select challenge_hash
    from login_challenges
    where expires_at <= now()
    order by expires_at
    limit $1::integer
    for update skip locked
  ))
  returning user_id, ip, user_agent, created_at
)
select
  expired.user_id, host(expired.ip) as ip, expired.user_agent, expired.created_at,
  coalesce(
    user_logins.last_login_at >= expired.created_at and user_logins.last_login_ip = expired.ip,
    false
  ) as logged_in
from expired
left join user_logins on user_logins.user_id = expired.user_id
order by expired.created_at;
