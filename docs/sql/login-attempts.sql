-- begin(other_id, { account: user_id, user_id: user_id, address: '192.0.2.1' })
insert into login_attempts as counter (account, address, pending, used_on)
select
  $1::text,
  case
    when $2::text is null and coalesce((
      select get_byte(sha256(convert_to($3::text || known.account, 'UTF8')), 0) % 2 = 1
      from login_attempts known
      where known.address = $4::text and known.address <> '' and length(known.account) = 36
        and known.known_until > now()
      order by known.account
      limit 1
    ), false) then $5::text
    when $6::text is not null and exists (
      select from login_attempts known
      where known.account = $7::text and known.address = $8::text and known.known_until > now()
    ) then $9::text
    else ''
  end,
  jsonb_build_object($10::text, extract(epoch from clock_timestamp())),
  current_date
on conflict (account, address) do update set (failures, locked_until, pending, used_on) = (
  select
    settled.failures, settled.locked_until,
    case
      when coalesce(settled.locked_until <= settled.moment, true)
      and (select count(*) from jsonb_object_keys(settled.pending))
      < greatest(1, $11::integer - settled.failures)
      then settled.pending || jsonb_build_object($12::text, extract(epoch from clock_timestamp()))
      else settled.pending
    end, current_date
  from (
    select
      moment,
      counter.failures + lost.count as failures,
      lost.pending,
      case
        when lost.count = 0 then counter.locked_until
        else greatest(counter.locked_until, case
          when counter.failures + lost.count >= $13::integer
          then timestamptz '9999-12-31 23:59:59.999Z'
          when counter.failures + lost.count >= $14::integer
          then to_timestamp(lost.latest + $15::integer) + least($16::integer, $17::integer * power(2, counter.failures + lost.count - $18::integer)) * interval '1 second'
        end)
      end as locked_until
    from (select clock_timestamp() as moment) clock,
      lateral (
        select
          coalesce(jsonb_object_agg(key, value::float8) filter (where not (value::float8 <= extract(epoch from moment) - $19::integer)), '{}') as pending,
          (count(*) filter (where value::float8 <= extract(epoch from moment) - $20::integer))::integer as count,
          max(value::float8) filter (where value::float8 <= extract(epoch from moment) - $21::integer) as latest
        from jsonb_each_text(counter.pending)
      ) lost
  ) settled
)
returning
  $22::text as attempt_id,
  account, address,
  clock_timestamp() as began_at,
  pending ? $23::text as admitted,
  failures,
  coalesce(greatest(0, ceil(extract(epoch from locked_until - clock_timestamp()))), 0)::float8
  as locked_seconds;

-- pass(attempt, '192.0.2.1')
insert into login_attempts as counter (account, address, known_until, used_on)
select
  $1::text,
  address,
  case
    when address = $2::text and address <> '' then now() + $3::integer * interval '1 day'
  end, current_date
from unnest($4::text[]) address
on conflict (account, address) do update set
  failures = 0,
  locked_until = null,
  pending = counter.pending - $5::text,
  known_until = coalesce(excluded.known_until, counter.known_until),
  used_on = current_date
returning case
  when counter.address is distinct from $6::text or counter.address = '' then false
  when exists (
    select from login_attempts known
    where known.account = $7::text and known.address = $8::text and known.known_until > now()
  ) then false
  else exists (
    select from user_logins
    where user_logins.user_id = counter.account::uuid and user_logins.last_login_at is not null
  )
end as is_new;

-- know(user_id, '192.0.2.1')
insert into login_attempts as counter (account, address, known_until, used_on)
values ($1::text, $2::text, now() + $3::integer * interval '1 day', current_date)
on conflict (account, address) do update set
  known_until = excluded.known_until,
  used_on = current_date
returning case
  when counter.address is distinct from $4::text or counter.address = '' then false
  when exists (
    select from login_attempts known
    where known.account = $5::text and known.address = $6::text and known.known_until > now()
  ) then false
  else exists (
    select from user_logins
    where user_logins.user_id = counter.account::uuid and user_logins.last_login_at is not null
  )
end as is_new;

-- fail(attempt)
update login_attempts counter
set (failures, locked_until, pending, used_on) = (
  select
    settled.failures + 1,
    case
      when settled.failures + 1 >= $1::integer
      then timestamptz '9999-12-31 23:59:59.999Z'
      when settled.failures + 1 >= $2::integer
      then settled.moment + least($3::integer, $4::integer * power(2, settled.failures + 1 - $5::integer)) * interval '1 second'
    end, settled.pending, current_date
  from (
    select
      <columns of begin>
    from (select clock_timestamp() as moment) clock,
      lateral (
        select
          <columns of begin>
        from jsonb_each_text(counter.pending - $15::text)
      ) lost
  ) settled
)
where account = $16::text and address = $17::text and pending ? $18::text
returning failures, locked_until;

-- release(attempt)
update login_attempts
set
  pending = pending - $1::text,
  failures = case when pending ? $2::text then failures else greatest(0, failures - 1) end,
  locked_until = case
    when pending ? $3::text then locked_until
    when failures > $4::integer
    then least(locked_until, case
      when failures - 1 >= $5::integer
      then timestamptz '9999-12-31 23:59:59.999Z'
      when failures - 1 >= $6::integer
      then clock_timestamp() + least($7::integer, $8::integer * power(2, failures - 1 - $9::integer)) * interval '1 second'
    end)
  end
where account = $10::text and address = $11::text;

-- clearAt({ account: 'codes:00000000-0000-4000-8000-0000000000'... 2 more characters, user_id: u...
update login_attempts
set failures = 0, locked_until = null
where account = $1::text
  and address = case
    when exists (
      select from login_attempts known
      where known.account = $2::text and known.address = $3::text and known.known_until > now()
    ) then $4::text
    else ''
  end;

-- listLocks(user_id)
select
  account <> $1::text as of_codes,
  address, settled.failures, settled.locked_until,
  settled.locked_until = timestamptz '9999-12-31 23:59:59.999Z' as permanent
from login_attempts counter, lateral (
  <as in begin>
) settled
where account in ($11::text, $12::text)
  and settled.locked_until > settled.moment
order by address
limit 100;
