-- lock(user_id, other_id)
select
  users.user_id, users.name, users.carrier_id, users.second_factors,
  (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  ) as requires_factor
from users
join sessions on sessions.user_id = users.user_id
where users.user_id = $1::uuid
  and users.deleted_at is null
  and sessions.session_id = $2::uuid
  and (sessions.ended_at is null and sessions.expires_at > now());

-- recordResets(eventBase, [ { user_id: user_id, changes: { kinds: { before: [ 'totp' ], after: [...
insert into events (
  event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
  target_id, carrier_id, changes, target_version
)
select
  $1, $2::uuid, $3, $4, $5::uuid, $6::uuid,
  $7::inet, $8,
  target.id, target.carrier_id, target.changes, target.version
from (
  select users.user_id as id, users.carrier_id, reset.changes, null::integer as version
  from jsonb_to_recordset($9::jsonb) as reset (user_id uuid, changes jsonb)
  join users on users.user_id = reset.user_id
) target;
