-- The statements of FactorUpkeepRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/factor-upkeep.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- removeExpired(500)
delete from second_factors
where factor_id = any(array(
  select factor_id
  from second_factors
  where (confirmed_at is null and created_at <= now() - interval '10 minutes')
  limit $1::integer
  for update skip locked
))
returning 1;

-- listOutdated(<Buffer 01 01 01 01>, user_id, 500)
select factor_id, user_id, secret
from second_factors
where factor_id > $1::uuid and substring(secret from 1 for 4) <> $2::bytea
order by factor_id
limit $3::integer;

-- replaceSecrets([ { factor_id: other_id, before: hash, after: hash } ])
update second_factors
set secret = renewed.after
from unnest(
  $1::uuid[],
  $2::bytea[],
  $3::bytea[]
) renewed (factor_id, before, after)
where second_factors.factor_id = renewed.factor_id and second_factors.secret = renewed.before;

-- countOutdated(<Buffer 01 01 01 01>)
select count(*)::integer as count
from second_factors
where substring(secret from 1 for 4) <> $1::bytea;
