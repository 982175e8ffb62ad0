import type { Actor } from '../access/actor';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Grants } from '../roles/roles.service';
import { type Assignment, touchesPower, type UserChange, valueAfter } from './user-change';

/** What is to be done to users, and what the rules need to know besides. */
export interface Deed {
  kind: 'change' | 'delete';
  /** empty for a deletion */
  change: UserChange;
  assignments: Assignment[];
  roles: Grants;
  /** the actor has just proven their own password */
  reauthenticated?: boolean;
}

const rolesMax = 20;
const attributesMax = 16_384;
/** An initial password that died unused is none: whoever has only that cannot log in. */
const hasPassword = rawSql(`exists (select 1 from credentials where credentials.user_id = users.user_id
  and (credentials.expires_at is null or credentials.expires_at > now()))`);

/**
 * Why a user may not be changed or deleted by an actor, as a code; null when they may. The one place of these rules:
 * for a single user it becomes the refusal, in a bulk change the reason for skipping.
 */
export function refusalSql(actor: Actor, deed: Deed): SqlFragment {
  const isSelf = sql`users.user_id = ${actor.user_id}::uuid`;
  const power = deed.kind === 'delete' || touchesPower(deed.change);
  return sql`case
    when ${power}::boolean and ${isSelf} then 'user.self_protected'
    ${deed.kind === 'delete' ? rawSql('') : selfRefusals(actor, deed, isSelf)}
    when not ${isSelf} and users.roles && ${deed.roles.forbidden}::text[] then 'access.protected_user'
    ${deed.kind === 'delete' ? rawSql('') : changeRefusals(deed)}
    end`;
}

/** Whether a user is an administrator: an active System User with a password that does not die unused, everything permitted, no scope. */
export const isAdministrator = sql`(users.user_type = 'system' and users.status = 'active' and users.carrier_scope is null and users.deleted_at is null
  and exists (select 1 from credentials where credentials.user_id = users.user_id and credentials.expires_at is null)
  and users.roles && array(select name from roles where '*' = any(permissions)))`;

/** Whether an administrator is one still after the deed. */
export function staysAdministrator({ kind, assignments }: Deed): SqlFragment {
  if (kind === 'delete') return rawSql('false');
  return sql`(${valueAfter(assignments, 'status')} = 'active' and ${valueAfter(assignments, 'carrier_scope')} is null
    and ${valueAfter(assignments, 'roles')} && array(select name from roles where '*' = any(permissions)))`;
}

/** On oneself: no other address without the password (OWASP ASVS 7.5.1), and nobody shuts themselves out. */
function selfRefusals(actor: Actor, { change, assignments, reauthenticated = false }: Deed, isSelf: SqlFragment): SqlFragment {
  const { email = null, allowed_ips = [] } = change;
  return sql`
    when ${!reauthenticated}::boolean and ${isSelf} and lower(users.email) <> lower(${email}::text) then 'user.self_protected'
    when ${allowed_ips.length > 0}::boolean and ${isSelf} and not coalesce(${actor.ip}::inet <<= any(${valueAfter(assignments, 'allowed_ips')}), false)
      then 'user.self_protected'`;
}

function changeRefusals({ change, assignments, roles: grants }: Deed): SqlFragment {
  const roles = valueAfter(assignments, 'roles');
  const open = sql`case users.user_type when 'system' then ${grants.open_to_system}::text[] else ${grants.open_to_carrier}::text[] end`;
  const scoped = change.carrier_scope !== undefined && change.carrier_scope !== null;
  return sql`
    when ${change.status === 'active'}::boolean and not ${hasPassword} then 'user.no_password'
    when ${change.status === 'invited'}::boolean and ${hasPassword} then 'request.invalid/status'
    when ${scoped}::boolean and users.user_type = 'carrier' then 'request.invalid/carrier_scope'
    when not (array(select role from unnest(${roles}) role where role <> all(users.roles)) <@ (${open})) or cardinality(${roles}) > ${rolesMax} then 'request.invalid/roles'
    when ${change.attributes !== undefined}::boolean and octet_length((${valueAfter(assignments, 'attributes')})::text) > ${attributesMax} then 'request.invalid/attributes'`;
}
