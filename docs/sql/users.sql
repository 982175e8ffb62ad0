-- find(user_id, limited)
select
  users.user_id, users.user_type, users.name, users.email, users.email_pending, users.email_verified_at,
  users.first_name, users.last_name, users.phone, users.job_title, users.department, users.locale, users.timezone,
  users.carrier_id, users.carrier_scope, users.roles, users.status, users.allowed_ips, users.attributes,
  users.must_change_password, users.second_factors, users.second_factor_required_from, users.created_at,
  users.created_by, users.updated_at, user_logins.last_login_at, host(user_logins.last_login_ip) as last_login_ip,
  user_seen.last_seen_at, users.password_changed_at, users.locked_until, users.deleted_at, users.version,
  coalesce((
    user_seen.last_seen_at > now() - interval '5 minutes'
    and exists (
      select
      from sessions
      where sessions.user_id = user_seen.user_id
        and (sessions.ended_at is null and sessions.expires_at > now())
        and now() - sessions.last_seen_at < interval '5 minutes'
    )
  ), false) as online,
  (users.second_factors = '{}' and (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  )) as must_enroll_second_factor
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where users.user_id = $1::uuid and users.deleted_at is null
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  );

-- findWithDeleted(user_id, limited)
select
  <columns of find>
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where users.user_id = $1::uuid
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  );

-- findByLogin('user@example.com', limited)
select
  <columns of find>
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where lower(users.email) = lower($1::text) and users.deleted_at is null
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  );

-- findAdministrator(user_id, limited)
select
  <columns of find>
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where users.user_id = $1::uuid and users.roles && array(select name from roles where '*' = any(permissions))
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  );

-- list(administrator, {})
with page as materialized (
  select
    users.*,
    (users.created_at)::text as cursor_value,
    users.created_at as sort_value
  from users
  where users.deleted_at is null and true
  order by users.created_at desc, users.user_id desc
  limit 51
)
select
  <columns of find>,
  cursor_value
from page users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
order by sort_value desc, users.user_id desc
limit 51;

-- list(carrierUser, { last_name_like: 'doe', order_by: 'last_name', page: '2', deleted: 'true' })
with page as materialized (
  select
    users.*,
    (lower(user_search.last_name))::text as cursor_value,
    lower(user_search.last_name) as sort_value
  from users join user_search on user_search.user_id = users.user_id
  where users.user_id = any(
    array(
      select user_search.user_id
      from users join user_search on user_search.user_id = users.user_id
      where users.deleted_at is not null and (users.user_type = 'carrier' and users.carrier_id = $1::text)
        and user_search.names like '%' || search_text($2) || '%'
        and strpos(lower(user_search.last_name), lower($3::text)) <> 0
      order by lower(user_search.last_name) desc, user_search.user_id desc
      limit $4
      offset $5
    )
  )
  order by lower(user_search.last_name) desc, user_search.user_id desc
  limit $6
)
select
  <columns of find>,
  cursor_value
from page users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
order by sort_value desc, users.user_id desc
limit $7;
explain (format json)
select 1
from users
where users.deleted_at is not null and (users.user_type = 'carrier' and users.carrier_id = $1::text)
  and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($2) || '%'
    and strpos(lower(user_search.last_name), lower($3::text)) <> 0);
select count(*)::int as value
from (
  select 1
  from users
  where users.deleted_at is not null and (users.user_type = 'carrier' and users.carrier_id = $1::text)
    and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($2) || '%'
      and strpos(lower(user_search.last_name), lower($3::text)) <> 0)
  limit $4
) counted;

-- listByIds([ user_id ], limited)
select
  <columns of find>
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where users.user_id = any($1::uuid[])
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  )
order by users.user_id;

-- findHiddenConflicts([ user_id ], limited)
select user_id
from users
where user_id = any($1::uuid[]) and deleted_at is not null
  and ((
    select not (
      (other.user_type = 'carrier' and other.carrier_id = any($2::text[]))
      or other.user_id = $3::uuid
    )
    from users other
    where (other.deleted_at is null or other.deleted_at > 'infinity')
      and lower(other.name) = lower(users.name)
  ) or (
    select not (
      (other.user_type = 'carrier' and other.carrier_id = any($4::text[]))
      or other.user_id = $5::uuid
    )
    from users other
    where (other.deleted_at is null or other.deleted_at < '-infinity')
      and lower(other.email) = lower(users.email)
  ))
order by user_id;

-- insert(user, user_id, eventBase, { name: { after: 'jane' } })
with written as (
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
    $1::uuid
  from jsonb_to_recordset($2::jsonb) as row (has_password boolean, user_id uuid,
    user_type text, name text, email text, email_verified_at timestamptz, first_name text, last_name text, phone text,
    job_title text, department text, locale text, timezone text, carrier_id text, carrier_scope text[], roles text[],
    status text, allowed_ips text[], attributes jsonb, must_change_password boolean,
    second_factor_required_from timestamptz, created_at timestamptz, last_login_at timestamptz, last_login_ip inet,
    last_seen_at timestamptz,
    password_changed_at timestamptz)
  returning users.*
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
      select user_id as id, carrier_id, $11::jsonb as changes, null::integer as version
      from written
    ) target
  )
select
  <columns of find>
from written users
left join user_logins on user_logins.user_id = users.user_id
left join user_seen on user_seen.user_id = users.user_id;

-- preview(limited, { action: { kind: 'change', change: { status: 'disabled', roles_add: [ 'dispa...
with
  -- found: the users, each with the rule that forbids the action, and whether the action would
  -- change the fields of the user, or act on the user without a change: remove the second factors
  -- or mail an invitation.
  found as materialized (
    select
      users.user_id, users.carrier_id,
      case
        when users.user_id = $1::uuid then array['user.self_protected']
        when not users.user_id = $2::uuid and users.roles && $3::text[]
        then array['access.protected_user']
        when users.after_status = 'active' and not exists (
          select 1
          from credentials
          where credentials.user_id = users.user_id
            and (credentials.expires_at is null or credentials.expires_at > now())
        ) then array['user.no_password']
        when users.after_status = 'invited' and exists (
          <as in preview>
        ) then array['request.invalid', '/status']
        when cardinality(users.after_roles) > $4
        or not (array(select role from unnest(users.after_roles) role where role <> all(users.roles)) <@ (
          case users.user_type when 'system' then $5::text[] else $6::text[] end
        ))
        then array['request.invalid', '/roles']
      end as refusal,
      (users.status is distinct from users.after_status
        or users.roles is distinct from users.after_roles) as differs,
      false as acts, false as has_factors, false as has_keys,
      ((
        users.user_type = 'system'
        and users.status = 'active'
        and users.carrier_scope is null
        and users.deleted_at is null
        and exists (
          select 1
          from credentials
          where credentials.user_id = users.user_id and credentials.expires_at is null
            and credentials.password_hash is not null
        )
        and users.roles && array(select name from roles where '*' = any(permissions))
      ) and not (
        users.after_status = 'active'
        and users.carrier_scope is null
        and users.deleted_at is null
        and users.after_roles && array(select name from roles where '*' = any(permissions))
      )) as leaves_administrators
    from (
      select users.*,
        $7::text as after_status,
        array(
          select distinct role
          from unnest(users.roles || $8::text[]) role
          where role <> all($9::text[])
          order by role
        ) as after_roles
      from users
      where users.deleted_at is null
        and (
          (users.user_type = 'carrier' and users.carrier_id = any($10::text[]))
          or users.user_id = $11::uuid
        )
        and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($12) || '%'
          and strpos(lower(user_search.last_name), lower($13::text)) <> 0)
      offset 0
    ) users
  ),
  -- last_administrator: an administrator who must stay, if the action would remove all.
  last_administrator as (
    select user_id
    from found
    where leaves_administrators and refusal is null
      and (select count(*) from users where (
        <as in preview>
      ))
      <= (select count(*) from found where leaves_administrators and refusal is null)
    order by user_id
    limit 1
  ),
  -- judged: the users with the verdict: the rule that forbids the action, or null.
  judged as materialized (
    select
      found.*,
      case
        when refusal is null and leaves_administrators and user_id = (select user_id from last_administrator)
        then array['user.last_administrator']
        else refusal
      end as verdict
    from found
  ),
  -- skipped: the users that a rule protects.
  skipped as not materialized (
    select user_id, verdict[1] as reason, verdict[2] as pointer
    from judged
    where verdict is not null
  )
select
  (select count(*)::integer from judged) as matched,
  (select count(*)::integer from judged where verdict is null and not (differs or acts)) as unchanged,
  0 as with_factors, 0 as with_keys,
  (
    select coalesce(jsonb_object_agg(reason, count), '{}')
    from (select reason, count(*)::integer as count from skipped group by reason) counted
  ) as skipped_reasons,
  (
    select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(first_skipped)) order by user_id), '[]')
    from (select * from skipped order by user_id limit $14::integer) first_skipped
  ) as skipped,
  (select count(*)::integer from judged where verdict is null and (differs or acts)) as would_change,
  (select coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($15::text, $16::bigint)
  )), 0)::text || '.' || coalesce(sum(uuid_hash_extended(
    user_id, hashtextextended($17::text, $18::bigint)
  )), 0)::text from judged) as digest,
  now() as previewed_at,
  array(
    select user_id
    from judged
    where verdict is null and (differs or acts)
    order by user_id
    limit $19::integer
  ) as sample_ids;

-- apply(limited, { action: { kind: 'change', change: { email: 'new@example.com', phone: null }, ...
with
  -- found: the users, each with the rule that forbids the action, and whether the action would
  -- change the fields of the user, or act on the user without a change: remove the second factors
  -- or mail an invitation.
  found as materialized (
    select
      users.user_id, users.carrier_id,
      users.phone as before_phone, users.after_phone,
      users.email as before_email, users.after_email,
      users.email_pending as before_email_pending, users.after_email_pending,
      case
        when users.version <> all($1::integer[]) then array['user.version_mismatch']
        when users.user_id = $2::uuid and lower(users.email) <> lower($3::text)
        then array['user.self_protected']
        when users.user_id = $4::uuid and (
          users.second_factors = '{}'
          and exists (
            select 1
            from enrollment_codes
            where enrollment_codes.user_id = users.user_id and enrollment_codes.after_reset
          )
        ) then array['auth.mail_code_required']
        when not users.user_id = $5::uuid and users.roles && $6::text[]
        then array['access.protected_user']
      end as refusal,
      (users.phone is distinct from users.after_phone
        or users.email is distinct from users.after_email
        or users.email_pending is distinct from users.after_email_pending) as differs,
      false as acts, false as has_factors, false as has_keys,
      ((
        <as in preview>
      ) and not (
        users.status = 'active'
        and users.carrier_scope is null
        and users.deleted_at is null
        and users.roles && array(select name from roles where '*' = any(permissions))
      )) as leaves_administrators
    from (
      select users.*,
        $7::text as after_phone,
        case when (
          users.status = 'invited'
          or users.status = 'disabled'
          and not exists (select from credentials where credentials.user_id = users.user_id)
        ) then $8::text else users.email end as after_email,
        case
          when (
            <as in apply>
          ) or lower(users.email) = lower($9::text) then null
          else $10::text
        end as after_email_pending
      from users
      where users.user_id = any($11::uuid[])
        and (
          (users.user_type = 'carrier' and users.carrier_id = any($12::text[]))
          or users.user_id = $13::uuid
        )
        and num_nulls(users.deleted_at) = 1
      order by users.user_id for update of users
    ) users
  ),
  -- last_administrator: an administrator who must stay, if the action would remove all.
  last_administrator as (
    <as in preview>
  ),
  -- judged: the users with the verdict: the rule that forbids the action, or null.
  judged as materialized (
    <as in preview>
  ),
  -- changed: the users that no rule protects and whose values differ.
  changed as (
    update users
    set
      phone = judged.after_phone,
      email = judged.after_email,
      email_pending = judged.after_email_pending,
      updated_at = now(),
      version = users.version + 1
    from judged
    where users.user_id = judged.user_id
      and judged.verdict is null
      and judged.differs
    returning
      users.user_id as id, users.carrier_id, users.version,
      case when judged.before_phone is distinct from users.phone
        then jsonb_build_object('phone', jsonb_build_object('before', judged.before_phone, 'after', users.phone))
        else '{}' end
      || case when judged.before_email is distinct from users.email
        then jsonb_build_object('email', jsonb_build_object('before', judged.before_email, 'after', users.email))
        else '{}' end
      || case when judged.before_email_pending is distinct from users.email_pending
        then jsonb_build_object('email_pending', jsonb_build_object('before', judged.before_email_pending, 'after', users.email_pending))
        else '{}' end as changes,
      (false) as shut_out,
      (false) as was_out
  ),
  -- recorded: one event for each changed or invited user.
  recorded as (
    insert into events (
      event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
      target_id, carrier_id, changes, target_version
    )
    select
      <columns of insert>
    from changed target
  ),
  -- skipped: the users that a rule protects, and the ids for which no user was found.
  skipped as not materialized (
    select user_id, verdict[1] as reason, verdict[2] as pointer
    from judged
    where verdict is not null
    union all
    select user_id, 'user.not_found', null
    from unnest($22::uuid[]) wanted (user_id)
    where user_id not in (select user_id from judged)
  )
select
  (select count(*)::integer from judged) as matched,
  (select count(*)::integer from judged where verdict is null and not (differs or acts)) as unchanged,
  0 as with_factors, 0 as with_keys,
  (
    select coalesce(jsonb_object_agg(reason, count), '{}')
    from (select reason, count(*)::integer as count from skipped group by reason) counted
  ) as skipped_reasons,
  (
    select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(first_skipped)) order by user_id), '[]')
    from (select * from skipped order by user_id limit $23::integer) first_skipped
  ) as skipped,
  array(
    select id from changed
    union
    select user_id from judged where verdict is null and acts
  ) as changed_ids,
  array(
    select user_id
    from judged
    where verdict is null and acts and $24::boolean
    order by user_id
  ) as reset_ids,
  array(select id from changed where shut_out) as shut_out_ids,
  array(select id from changed where was_out and not shut_out order by id) as let_in_ids,
  (select changes from changed limit 1) as changes;

-- apply(administrator, { action: { kind: 'delete' }, grants: grants }, [ user_id ], eventBase)
with
  -- found: the users, each with the rule that forbids the action, and whether the action would
  -- change the fields of the user, or act on the user without a change: remove the second factors
  -- or mail an invitation.
  found as materialized (
    select
      users.user_id, users.carrier_id,
      users.deleted_at as before_deleted_at, users.after_deleted_at,
      case
        when users.user_id = $1::uuid then array['user.self_protected']
        when not users.user_id = $2::uuid and users.roles && $3::text[]
        then array['access.protected_user']
      end as refusal,
      (users.deleted_at is distinct from users.after_deleted_at) as differs,
      false as acts, false as has_factors, false as has_keys,
      ((
        <as in preview>
      ) and not (
        users.status = 'active'
        and users.carrier_scope is null
        and users.after_deleted_at is null
        and users.roles && array(select name from roles where '*' = any(permissions))
      )) as leaves_administrators
    from (
      select users.*,
        coalesce(users.deleted_at, now()::timestamptz(3)) as after_deleted_at
      from users
      where users.user_id = any($4::uuid[])
        and true
        and num_nulls(users.deleted_at) = 1
      order by users.user_id for update of users
    ) users
  ),
  -- last_administrator: an administrator who must stay, if the action would remove all.
  last_administrator as (
    <as in preview>
  ),
  -- judged: the users with the verdict: the rule that forbids the action, or null.
  judged as materialized (
    <as in preview>
  ),
  -- changed: the users that no rule protects and whose values differ.
  changed as (
    update users
    set
      deleted_at = judged.after_deleted_at,
      updated_at = now(),
      version = users.version + 1
    from judged
    where users.user_id = judged.user_id
      and judged.verdict is null
      and judged.differs
    returning
      users.user_id as id, users.carrier_id, users.version,
      case when judged.before_deleted_at is distinct from users.deleted_at
        then jsonb_build_object('deleted_at', jsonb_build_object('before', judged.before_deleted_at, 'after', users.deleted_at))
        else '{}' end as changes,
      (users.deleted_at is not null) as shut_out,
      (judged.before_deleted_at is not null) as was_out
  ),
  -- recorded: one event for each changed or invited user.
  recorded as (
    <as in apply>
  ),
  -- skipped: the users that a rule protects, and the ids for which no user was found.
  skipped as not materialized (
    <as in apply>
  )
select
  <columns of apply>

-- apply(administrator, { action: { kind: 'undo', operation_id: operation_id, times: times, resto...
with
  -- found: the users, each with the rule that forbids the action, and whether the action would
  -- change the fields of the user, or act on the user without a change: remove the second factors
  -- or mail an invitation.
  found as materialized (
    select
      users.user_id, users.carrier_id,
      users.department as before_department, users.after_department,
      users.locale as before_locale, users.after_locale,
      users.timezone as before_timezone, users.after_timezone,
      users.carrier_scope as before_carrier_scope, users.after_carrier_scope,
      users.roles as before_roles, users.after_roles,
      users.status as before_status, users.after_status,
      users.allowed_ips as before_allowed_ips, users.after_allowed_ips,
      users.attributes as before_attributes, users.after_attributes,
      users.must_change_password as before_must_change_password, users.after_must_change_password,
      users.second_factor_required_from as before_second_factor_required_from, users.after_second_factor_required_from,
      users.deleted_at as before_deleted_at, users.after_deleted_at,
      case
        when users.version is distinct from users.version_left then array['user.version_mismatch']
        when users.user_id = $1::uuid and (users.carrier_scope is distinct from users.after_carrier_scope
          or users.roles is distinct from users.after_roles
          or users.status is distinct from users.after_status
          or users.deleted_at is distinct from users.after_deleted_at) then array['user.self_protected']
        when users.user_id = $2::uuid and (users.allowed_ips is distinct from users.after_allowed_ips)
        and cardinality(users.after_allowed_ips) > 0
        and not coalesce($3::inet <<= any(users.after_allowed_ips), false)
        then array['user.self_protected']
        when users.user_id = $4::uuid and (users.second_factor_required_from is distinct from users.after_second_factor_required_from) then array['user.self_protected']
        when users.user_id = $5::uuid and users.must_change_password and not users.after_must_change_password
        then array['user.self_protected']
        when not users.user_id = $6::uuid and users.roles && $7::text[]
        then array['access.protected_user']
        when users.deleted_at is not null and users.after_deleted_at is null and (
          exists (
            select 1
            from users other
            where (other.deleted_at is null or other.deleted_at > 'infinity')
              and lower(other.name) = lower(users.name)
          )
          or row_number() over (partition by lower(users.name) order by users.user_id) > 1
        ) then array['user.name_taken']
        when users.deleted_at is not null and users.after_deleted_at is null and (
          exists (
            select 1
            from users other
            where (other.deleted_at is null or other.deleted_at < '-infinity')
              and lower(other.email) = lower(users.email)
          )
          or row_number() over (partition by lower(users.email) order by users.user_id) > 1
        ) then array['user.email_taken']
        when users.deleted_at is not null and users.after_deleted_at is null and not (users.after_roles <@ (
          case users.user_type when 'system' then $8::text[] else $9::text[] end
        ))
        then array['request.invalid', '/roles']
        when (array(select role from unnest(users.after_roles) role where role <> all(users.roles)) || array(select role from unnest(users.roles) role where role <> all(users.after_roles))) && $10::text[]
        then array['access.grant_exceeds_own']
        when users.status <> users.after_status and users.after_status = 'active' and not exists (
          <as in preview>
        ) then array['user.no_password']
        when users.status <> users.after_status and users.after_status = 'invited' and exists (
          <as in preview>
        ) then array['request.invalid', '/status']
        when cardinality(users.after_roles) > $11
        or not (array(select role from unnest(users.after_roles) role where role <> all(users.roles)) <@ (
          case users.user_type when 'system' then $12::text[] else $13::text[] end
        ))
        then array['request.invalid', '/roles']
      end as refusal,
      (users.department is distinct from users.after_department
        or users.locale is distinct from users.after_locale
        or users.timezone is distinct from users.after_timezone
        or users.carrier_scope is distinct from users.after_carrier_scope
        or users.roles is distinct from users.after_roles
        or users.status is distinct from users.after_status
        or users.allowed_ips is distinct from users.after_allowed_ips
        or users.attributes is distinct from users.after_attributes
        or users.must_change_password is distinct from users.after_must_change_password
        or users.second_factor_required_from is distinct from users.after_second_factor_required_from
        or users.deleted_at is distinct from users.after_deleted_at) as differs,
      false as acts, false as has_factors, false as has_keys,
      ((
        <as in preview>
      ) and not (
        users.after_status = 'active'
        and users.after_carrier_scope is null
        and users.after_deleted_at is null
        and users.after_roles && array(select name from roles where '*' = any(permissions))
      )) as leaves_administrators
    from (
      select users.*, before.target_version as version_left,
        restored.department as after_department, restored.locale as after_locale, restored.timezone as after_timezone,
        restored.carrier_scope as after_carrier_scope, restored.roles as after_roles, restored.status as after_status,
        restored.allowed_ips as after_allowed_ips, restored.attributes as after_attributes,
        restored.must_change_password as after_must_change_password,
        restored.second_factor_required_from as after_second_factor_required_from,
        restored.deleted_at as after_deleted_at
      from users
      cross join lateral (
        select changes, target_version
        from events
        where operation_id = $14::uuid
          and target_id = users.user_id
          and event_type in ('user.changed', 'user.deleted')
          and events.occurred_at >= $15::timestamptz
          and events.occurred_at <= $16::timestamptz
        offset 0
      ) before
      cross join lateral jsonb_populate_record(
        users,
        (select jsonb_object_agg(key, value -> 'before') from jsonb_each(before.changes))
      ) restored
      where users.user_id = any($17::uuid[])
        and true
      order by users.user_id for update of users
    ) users
  ),
  -- last_administrator: an administrator who must stay, if the action would remove all.
  last_administrator as (
    <as in preview>
  ),
  -- judged: the users with the verdict: the rule that forbids the action, or null.
  judged as materialized (
    <as in preview>
  ),
  -- changed: the users that no rule protects and whose values differ.
  changed as (
    update users
    set
      department = judged.after_department,
      locale = judged.after_locale,
      timezone = judged.after_timezone,
      carrier_scope = judged.after_carrier_scope,
      roles = judged.after_roles,
      status = judged.after_status,
      allowed_ips = judged.after_allowed_ips,
      attributes = judged.after_attributes,
      must_change_password = judged.after_must_change_password,
      second_factor_required_from = judged.after_second_factor_required_from,
      deleted_at = judged.after_deleted_at,
      updated_at = now(),
      version = users.version + 1
    from judged
    where users.user_id = judged.user_id
      and judged.verdict is null
      and judged.differs
    returning
      users.user_id as id, users.carrier_id, users.version,
      case when judged.before_department is distinct from users.department
        then jsonb_build_object('department', jsonb_build_object('before', judged.before_department, 'after', users.department))
        else '{}' end
      || case when judged.before_locale is distinct from users.locale
        then jsonb_build_object('locale', jsonb_build_object('before', judged.before_locale, 'after', users.locale))
        else '{}' end
      || case when judged.before_timezone is distinct from users.timezone
        then jsonb_build_object('timezone', jsonb_build_object('before', judged.before_timezone, 'after', users.timezone))
        else '{}' end
      || case when judged.before_carrier_scope is distinct from users.carrier_scope
        then jsonb_build_object('carrier_scope', jsonb_build_object('before', judged.before_carrier_scope, 'after', users.carrier_scope))
        else '{}' end
      || case when judged.before_roles is distinct from users.roles
        then jsonb_build_object('roles', jsonb_build_object('before', judged.before_roles, 'after', users.roles))
        else '{}' end
      || case when judged.before_status is distinct from users.status
        then jsonb_build_object('status', jsonb_build_object('before', judged.before_status, 'after', users.status))
        else '{}' end
      || case when judged.before_allowed_ips is distinct from users.allowed_ips
        then jsonb_build_object('allowed_ips', jsonb_build_object('before', judged.before_allowed_ips, 'after', users.allowed_ips))
        else '{}' end
      || case when judged.before_attributes is distinct from users.attributes
        then jsonb_build_object('attributes', jsonb_build_object('before', judged.before_attributes, 'after', users.attributes))
        else '{}' end
      || case when judged.before_must_change_password is distinct from users.must_change_password
        then jsonb_build_object('must_change_password', jsonb_build_object('before', judged.before_must_change_password, 'after', users.must_change_password))
        else '{}' end
      || case when judged.before_second_factor_required_from is distinct from users.second_factor_required_from
        then jsonb_build_object('second_factor_required_from', jsonb_build_object('before', judged.before_second_factor_required_from, 'after', users.second_factor_required_from))
        else '{}' end
      || case when judged.before_deleted_at is distinct from users.deleted_at
        then jsonb_build_object('deleted_at', jsonb_build_object('before', judged.before_deleted_at, 'after', users.deleted_at))
        else '{}' end as changes,
      (users.status = 'disabled' or users.deleted_at is not null) as shut_out,
      (judged.before_status = 'disabled' or judged.before_deleted_at is not null) as was_out
  ),
  -- recorded: one event for each changed or invited user.
  recorded as (
    <as in apply>
  ),
  -- skipped: the users that a rule protects, and the ids for which no user was found.
  skipped as not materialized (
    <as in apply>
  )
select
  <columns of apply>

-- lockAdministrators(limited, { kind: 'delete' }, [ user_id ])
select pg_advisory_xact_lock($1::bigint)
from (
  select 1 from users
  where users.user_id = any($2::uuid[])
    and (
      (users.user_type = 'carrier' and users.carrier_id = any($3::text[]))
      or users.user_id = $4::uuid
    )
    and num_nulls(users.deleted_at) = 1
    and users.user_type = 'system'
  limit 1
) found;

-- notePassword(user_id, 'user@example.com', null, true)
with written as (
  update users
  set
    password_changed_at = now(),
    must_change_password = false,
    email = $1::text,
    email_pending = null,
    updated_at = now(),
    version = version + 1,
    locked_until = case when $2::text is null then locked_until end,
    email_verified_at = case
      when lower($3::text) = lower($4::text) then now()
      else email_verified_at
    end,
    status = case when status = 'invited' then 'active' else status end
  where user_id = $5::uuid
    and deleted_at is null and status <> 'disabled'
    and true
  returning users.*
)
select
  <columns of find>
from written users
left join user_logins on user_logins.user_id = users.user_id
left join user_seen on user_seen.user_id = users.user_id;

-- confirmEmail(user_id, 'new@example.com')
with written as (
  update users
  set
    email = email_pending,
    email_pending = null,
    email_verified_at = now(),
    updated_at = now(),
    version = version + 1
  where user_id = $1::uuid
    and email_pending = $2
    and deleted_at is null
    and status <> 'disabled'
  returning users.*
)
select
  <columns of find>
from written users
left join user_logins on user_logins.user_id = users.user_id
left join user_seen on user_seen.user_id = users.user_id;

-- restore(user_id, 1, [ 'dispatcher' ])
with written as (
  update users
  set
    deleted_at = null,
    roles = array(select role from unnest(roles) role where role = any($1::text[]) order by role),
    updated_at = now(),
    version = version + 1
  where user_id = $2::uuid
    and version = $3::integer and deleted_at is not null
  returning users.*
)
select
  <columns of find>
from written users
left join user_logins on user_logins.user_id = users.user_id
left join user_seen on user_seen.user_id = users.user_id;
