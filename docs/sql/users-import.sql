-- create([ user ], user_id, eventBase)
with imported as materialized (
  select row.*, row.password_hash is not null as has_password
  from jsonb_to_recordset($1::jsonb)
    as row (line integer, password_hash text, user_id uuid,
      user_type text, name text, email text, email_verified_at timestamptz, first_name text, last_name text, phone text,
      job_title text, department text, locale text, timezone text, carrier_id text, carrier_scope text[], roles text[],
      status text, allowed_ips text[], attributes jsonb, must_change_password boolean,
      second_factor_required_from timestamptz, created_at timestamptz, last_login_at timestamptz, last_login_ip inet,
      last_seen_at timestamptz,
      password_changed_at timestamptz)
),
  created as (
    insert into users (
      user_id, user_type, name, email, email_verified_at, first_name, last_name, phone, job_title, department, locale,
      timezone, carrier_id, carrier_scope, roles, status, allowed_ips, attributes, must_change_password,
      second_factor_required_from, created_at, password_changed_at, created_by
    )
    select
      user_id, user_type, name, email, email_verified_at, first_name, last_name, phone, job_title, department, locale,
      timezone, carrier_id, carrier_scope, roles, status,
      array(
        select distinct network(address::inet)::cidr
        from unnest(allowed_ips) address
        order by 1
      ),
      attributes, must_change_password, second_factor_required_from,
      coalesce(created_at, now()),
      coalesce(password_changed_at, case when has_password then now() end),
      $2::uuid
    from imported
    where not (
      exists (select 1 from users other where other.user_id = imported.user_id)
      or exists (select 1 from user_tombstones where user_tombstones.user_id = imported.user_id)
      or exists (select 1 from keys where keys.key_id = imported.user_id)
    )
    order by line
    on conflict do nothing
    returning *
  ),
  made as (
    -- Several rows may have the same id, name and address. The first one is created.
    select distinct on (user_id)
      line, user_id, password_hash,
      imported.last_login_at, imported.last_login_ip, imported.last_seen_at
    from created
    join imported using (user_id, name, email)
    order by user_id, line
  ),
  passwords as (
    insert into credentials (user_id, password_hash, policy_checked)
    select user_id, password_hash, false
    from made where password_hash is not null
  ),
  new_logins as (
    insert into user_logins (user_id, last_login_at, last_login_ip)
    select user_id, last_login_at, last_login_ip
    from made
    where num_nonnulls(last_login_at, last_login_ip) > 0
  ),
  new_seen as (
    insert into user_seen (user_id, last_seen_at)
    select user_id, last_seen_at
    from made
    where last_seen_at is not null
  ),
  recorded as (
    insert into events (
      event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
      target_id, carrier_id, changes, target_version
    )
    select
      $3, $4::uuid, $5, $6, $7::uuid, $8::uuid,
      $9::inet, $10,
      target.id, target.carrier_id, target.changes, target.version
    from (
      select
        created.user_id as id, created.carrier_id,
        jsonb_build_object('user_type', jsonb_build_object('after', created.user_type), 'name', jsonb_build_object('after', created.name), 'email', jsonb_build_object('after', created.email), 'first_name', jsonb_build_object('after', created.first_name), 'last_name', jsonb_build_object('after', created.last_name), 'phone', jsonb_build_object('after', created.phone), 'job_title', jsonb_build_object('after', created.job_title), 'department', jsonb_build_object('after', created.department), 'locale', jsonb_build_object('after', created.locale), 'timezone', jsonb_build_object('after', created.timezone), 'carrier_id', jsonb_build_object('after', created.carrier_id), 'carrier_scope', jsonb_build_object('after', created.carrier_scope), 'roles', jsonb_build_object('after', created.roles), 'status', jsonb_build_object('after', created.status), 'allowed_ips', jsonb_build_object('after', created.allowed_ips), 'attributes', jsonb_build_object('after', created.attributes), 'must_change_password', jsonb_build_object('after', created.must_change_password), 'second_factor_required_from', jsonb_build_object('after', created.second_factor_required_from)) as changes,
        null::integer as version
      from created
    ) target
  )
select line from made;

-- findConflicts([ user ], limited)
select line, field, case field
  when 'user_id' then (select (
    (other.user_type = 'carrier' and other.carrier_id = any($1::text[]))
    or other.user_id = $2::uuid
  ) from users other where other.user_id = found.user_id)
  when 'name' then (
    select (
      (other.user_type = 'carrier' and other.carrier_id = any($3::text[]))
      or other.user_id = $4::uuid
    )
    from users other
    where (other.deleted_at is null or other.deleted_at > 'infinity')
      and lower(other.name) = lower(found.name)
  )
  else (
    select (
      (other.user_type = 'carrier' and other.carrier_id = any($5::text[]))
      or other.user_id = $6::uuid
    )
    from users other
    where (other.deleted_at is null or other.deleted_at < '-infinity')
      and lower(other.email) = lower(found.email)
  )
end is not true as hidden
from (
  select row.*, case
    when (
      exists (select 1 from users other where other.user_id = row.user_id)
      or exists (select 1 from user_tombstones where user_tombstones.user_id = row.user_id)
      or exists (select 1 from keys where keys.key_id = row.user_id)
    ) then 'user_id'
    when exists (
      select 1
      from users other
      where (other.deleted_at is null or other.deleted_at > 'infinity')
        and lower(other.name) = lower(row.name)
    ) then 'name'
    when exists (
      select 1
      from users other
      where (other.deleted_at is null or other.deleted_at < '-infinity')
        and lower(other.email) = lower(row.email)
    ) then 'email'
  end as field
  from jsonb_to_recordset($7::jsonb)
    as row (line integer, user_id uuid, name text, email text)
) found
where field is not null
order by line;
