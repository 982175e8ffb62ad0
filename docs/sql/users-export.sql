-- open({ format: 'csv', scope: limited, hashes_unless_roles: null, conditions: [ lastNameLike ],...
begin isolation level repeatable read, read only;
set local statement_timeout = 0;
set local jit = off;
set local lock_timeout = '5s';
set local tcp_user_timeout = '30s';
set local idle_in_transaction_session_timeout = '40s';
select pg_backend_pid() as pid;
select count(*)::integer as count
from users where users.deleted_at is null
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($1::text[]))
    or users.user_id = $2::uuid
  )
  and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($3) || '%'
    and strpos(lower(user_search.last_name), lower($4::text)) <> 0);
declare texts no scroll cursor for
select concat_ws($1::text, coalesce(users.user_id::text, ''), coalesce(users.user_type::text, ''), csv_cell(users.name), csv_cell(users.email), coalesce(rfc3339(users.email_verified_at), ''), csv_cell(users.first_name), csv_cell(users.last_name), csv_cell(users.phone), csv_cell(users.job_title), csv_cell(users.department), coalesce(users.locale::text, ''), coalesce(users.timezone::text, ''), csv_cell(users.carrier_id), case
  when users.carrier_scope is null then ''
  when array_to_string(users.carrier_scope, ';') ~ '^[-+0-9.,eE]*$' then csv_quoted(to_json(users.carrier_scope)::text)
  else csv_cell(array_to_string(users.carrier_scope, ';'))
end, case
  when users.roles is null then ''
  when array_to_string(users.roles, ';') ~ '^[-+0-9.,eE]*$' then csv_quoted(to_json(users.roles)::text)
  else csv_cell(array_to_string(users.roles, ';'))
end, coalesce(users.status::text, ''), case
  when users.allowed_ips is null then ''
  when array_to_string(users.allowed_ips, ';') ~ '^[-+0-9.,eE]*$' then csv_quoted(to_json(users.allowed_ips)::text)
  else csv_cell(array_to_string(users.allowed_ips, ';'))
end, coalesce(csv_quoted(regexp_replace(to_json(users.attributes)::text, ';(?=[''"]*[-=+@＝＋－＠])', '\\u003b', 'g')), ''), users.must_change_password::text, coalesce(rfc3339(users.created_at), ''), coalesce(rfc3339(user_logins.last_login_at), ''), coalesce(host(user_logins.last_login_ip), ''), coalesce(rfc3339(user_seen.last_seen_at), ''), coalesce(rfc3339(users.password_changed_at), ''))
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where users.deleted_at is null
  and (
    (users.user_type = 'carrier' and users.carrier_id = any($2::text[]))
    or users.user_id = $3::uuid
  )
  and users.user_id in (select user_search.user_id from user_search where user_search.names like '%' || search_text($4) || '%'
    and strpos(lower(user_search.last_name), lower($5::text)) <> 0)
order by users.user_id;
fetch 100 from texts;

-- openSkipped('example', operation_id, signal)
begin isolation level repeatable read, read only;
set local statement_timeout = 0;
set local jit = off;
set local lock_timeout = '5s';
set local tcp_user_timeout = '30s';
set local idle_in_transaction_session_timeout = '40s';
select pg_backend_pid() as pid;
select count(*)::integer as count
from operation_skipped where operation_id = $1::uuid;
declare texts no scroll cursor for
select line::text || ',' || csv_cell((
  select string_agg(ltrim(concat(error ->> 'pointer', ' ', error ->> 'detail')), '; ' order by place)
  from jsonb_array_elements(errors) with ordinality as faults (error, place)
)) || ',' || csv_cell(cells ->> 'user_id') || ',' || csv_cell(cells ->> 'user_type') || ',' || csv_cell(cells ->> 'name') || ',' || csv_cell(cells ->> 'email') || ',' || csv_cell(cells ->> 'email_verified_at') || ',' || csv_cell(cells ->> 'first_name') || ',' || csv_cell(cells ->> 'last_name') || ',' || csv_cell(cells ->> 'phone') || ',' || csv_cell(cells ->> 'job_title') || ',' || csv_cell(cells ->> 'department') || ',' || csv_cell(cells ->> 'locale') || ',' || csv_cell(cells ->> 'timezone') || ',' || csv_cell(cells ->> 'carrier_id') || ',' || csv_cell(cells ->> 'carrier_scope') || ',' || csv_cell(cells ->> 'roles') || ',' || csv_cell(cells ->> 'status') || ',' || csv_cell(cells ->> 'allowed_ips') || ',' || csv_cell(cells ->> 'attributes') || ',' || csv_cell(cells ->> 'must_change_password') || ',' || csv_cell(cells ->> 'created_at') || ',' || csv_cell(cells ->> 'last_login_at') || ',' || csv_cell(cells ->> 'last_login_ip') || ',' || csv_cell(cells ->> 'last_seen_at') || ',' || csv_cell(cells ->> 'password_changed_at') || ',' || csv_cell(cells ->> 'password_hash')
from operation_skipped
where operation_id = $1::uuid
order by line;
fetch 100 from texts;
