-- The statements of HashCostsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/hash-costs.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- list()
select computation, cost
from password_hash_costs
order by computation;

-- raise([ { computation: 'argon2', cost: 19456 } ])
insert into password_hash_costs as known (computation, cost)
select computation, cost
from jsonb_to_recordset($1::jsonb) as counted (computation text, cost integer)
order by computation
on conflict (computation) do update set cost = excluded.cost where excluded.cost > known.cost;

-- replace([ { computation: 'argon2', cost: 19456 } ])
delete from password_hash_costs
where computation <> all (array(select computation from jsonb_to_recordset($1::jsonb) as counted (computation text, cost integer)));
insert into password_hash_costs as known (computation, cost)
select computation, cost
from jsonb_to_recordset($1::jsonb) as counted (computation text, cost integer)
on conflict (computation) do update set cost = excluded.cost where excluded.cost <> known.cost;

-- lock()
lock table password_hash_costs in share row exclusive mode;

-- listForeign()
select password_hash
from (
  select
    password_hash,
    row_number() over (
      partition by split_part(shape, '$', 2) order by length(shape) desc, shape desc
    ) as place
  from (
    select
      case
        when password_hash like '$2%' then left(password_hash, 7)
        else left(password_hash, -1 - length(split_part(password_hash, '$', -2)) - length(split_part(password_hash, '$', -1))) || length(split_part(password_hash, '$', -1))
      end as shape,
      min(password_hash collate "C") as password_hash
    from credentials
    where password_hash not like '$argon2id$v=19$m=19456,t=2,p=1$%'
      and password_hash not like '$md5$argon2id$v=19$m=19456,t=2,p=1$%'
    group by 1
  ) shapes
) ranked
where place <= $1::integer;
