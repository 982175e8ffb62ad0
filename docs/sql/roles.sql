-- find('dispatcher')
SELECT "RoleEntity"."name" AS "RoleEntity_name", "RoleEntity"."description" AS "RoleEntity_description", "RoleEntity"."user_types" AS "RoleEntity_user_types", "RoleEntity"."permissions" AS "RoleEntity_permissions", "RoleEntity"."may_grant" AS "RoleEntity_may_grant", "RoleEntity"."second_factor_required_from" AS "RoleEntity_second_factor_required_from", "RoleEntity"."built_in" AS "RoleEntity_built_in", "RoleEntity"."version" AS "RoleEntity_version" FROM "roles" "RoleEntity" WHERE (("RoleEntity"."name" = $1)) LIMIT 1;

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
