-- The statements of LoginChallengesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/login-challenges.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- insert(challenge, 5)
with surplus as (
  update login_challenges
  set expires_at = now()
  where user_id = $1::uuid
    and challenge_hash = any(array(
      select older.challenge_hash
      from login_challenges older
      where older.user_id = $2::uuid
        and older.counter_address = $3::text
        and older.expires_at > now()
      order by older.created_at desc, older.challenge_hash
      offset $4::integer
    ))
)
insert into login_challenges (
  challenge_hash, user_id, password_changed_at, counter_address, renewal, token_grant, ip, user_agent, expires_at
)
values (
  $5::bytea,
  $6::uuid,
  $7::timestamptz,
  $8::text,
  $9::jsonb,
  $10::jsonb,
  $11::inet,
  $12::text,
  now() + $13::integer * interval '1 second'
);

-- find(hash, 5)
select
  challenge_hash, user_id, login_challenges.password_changed_at, counter_address, renewal, token_grant, users.carrier_id
from login_challenges
join users using (user_id)
where challenge_hash = $1::bytea
  and expires_at > now()
  and wrong_codes < $2::integer;

-- countWrong(hash)
update login_challenges
set wrong_codes = wrong_codes + 1
where challenge_hash = $1::bytea;

-- end(hash)
update login_challenges
set expires_at = now()
where challenge_hash = $1::bytea;

-- delete(hash)
delete from login_challenges
where challenge_hash = $1::bytea;

-- endOf([ user_id ])
update login_challenges
set expires_at = now()
where user_id = any($1::uuid[]) and expires_at > now();
