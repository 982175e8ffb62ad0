-- The statements of RolesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/roles.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- listAll()
select name, description, user_types, permissions, may_grant, second_factor_required_from, built_in, version
from roles
order by name;

-- find('dispatcher')
SELECT "RoleEntity"."name" AS "RoleEntity_name", "RoleEntity"."description" AS "RoleEntity_description", "RoleEntity"."user_types" AS "RoleEntity_user_types", "RoleEntity"."permissions" AS "RoleEntity_permissions", "RoleEntity"."may_grant" AS "RoleEntity_may_grant", "RoleEntity"."second_factor_required_from" AS "RoleEntity_second_factor_required_from", "RoleEntity"."built_in" AS "RoleEntity_built_in", "RoleEntity"."version" AS "RoleEntity_version" FROM "roles" "RoleEntity" WHERE (("RoleEntity"."name" = $1)) LIMIT 1;

-- freeze()
select pg_advisory_xact_lock_shared($1::bigint);

-- freezeForBulk()
select set_config('lock_timeout', $1, true);
select pg_advisory_xact_lock_shared($1::bigint);
set local lock_timeout to default;
select pg_advisory_xact_lock_shared($1::bigint);

-- lock()
select set_config('lock_timeout', $1, true);
select pg_advisory_xact_lock($1::bigint);
select set_config('lock_timeout', $1, true);
select pg_advisory_xact_lock($1::bigint);

-- lockAdministrators()
select pg_advisory_xact_lock($1::bigint);

-- hasAdministrator()
select 1 from users where (
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
) limit 1;

-- userTypesOfHolders('dispatcher')
select user_type
from (values ('system'), ('carrier')) kind (user_type)
where exists (
  select 1
  from users
  where users.user_type = kind.user_type
    and users.roles @> array[$1::text]
    and users.deleted_at is null
);

-- insert(role)
insert into roles (name, description, user_types, permissions, may_grant, second_factor_required_from)
values (
  $1, $2, $3::text[], $4::text[], $5::text[],
  $6::timestamptz
);

-- update(role)
update roles
set description = $1,
  user_types = $2::text[],
  permissions = $3::text[],
  may_grant = $4::text[],
  second_factor_required_from = $5::timestamptz,
  version = $6
where name = $7;

-- delete('dispatcher')
delete from roles where name = $1;
