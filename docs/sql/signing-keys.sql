-- The statements of SigningKeysRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/signing-keys.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- lock()
select pg_advisory_xact_lock($1::bigint);

-- list()
select kid, public_jwk, private_key, signs_from,
  (extract(epoch from signs_from - now()) * 1000)::float8 as signs_in_ms, rotation_due
from (
  select *,
    bool_or(
      (successor_from is null and signs_from <= now() - interval '2505600 s') or successor_from <= now() - interval '2595650 s'
    ) over () as rotation_due
  from (
    select kid, public_jwk, private_key, signs_from,
      lead(signs_from) over (order by signs_from, kid) as successor_from
    from signing_keys
  ) with_successor
) with_rotation_due
where successor_from is null or successor_from > now() - interval '3650 s'
order by signs_from desc, kid desc;

-- findPublicKey('kid')
select public_jwk from signing_keys where kid = $1;

-- insert({ kid: 'kid', public_jwk: { kty: 'EC' }, private_key: hash }, 600)
insert into signing_keys (kid, public_jwk, private_key, signs_from)
values (
  $1, $2::jsonb, $3,
  now() + $4::integer * interval '1 second'
)
returning signs_from;

-- advance('kid', 60)
update signing_keys
set signs_from = now() + $1::integer * interval '1 second'
where kid = $2 and signs_from > now() + ($3::integer + 5) * interval '1 second'
returning signs_from;

-- updateEncryption('kid', hash)
update signing_keys set private_key = $1 where kid = $2;

-- deleteRetired()
delete from signing_keys
where kid in (select kid from (
  <as in list>
) with_successor where successor_from <= now() - interval '2595650 s');

-- deleteOthers('kid')
delete from signing_keys where kid <> $1 returning kid;
