import type { Actor } from '../access/actor';
import { isOwn } from '../access/scope.sql';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Grants } from '../roles/roles.service';
import { type Assignment, differsSql, touchesPower, type UserChange, valueAfter } from './user-change';
import type { UserEntity } from './user.entity';

/** What is to be done to users, and what the rules need to know besides. */
export interface Deed {
  kind: 'change' | 'delete' | 'undo';
  /** empty for a deletion and an undo */
  change: UserChange;
  assignments: Assignment[];
  roles: Grants;
  /** the actor has just proven their own password */
  reauthenticated?: boolean;
  /** versions that are meant (`If-Match`); null = any */
  versions?: number[] | null;
  /** an undo of deletions */
  restores?: boolean;
  /** what an undo looks up for each user */
  before?: { joins: SqlFragment; columns: SqlFragment };
}

const rolesMax = 20;
const attributesMax = 16_384;
const powerColumns: (keyof UserEntity)[] = ['status', 'roles', 'carrier_scope', 'deleted_at'];
/** An initial password that died unused is none: whoever has only that cannot log in. */
const hasPassword = rawSql(`exists (select 1 from credentials where credentials.user_id = users.user_id
  and (credentials.expires_at is null or credentials.expires_at > now()))`);

/**
 * Why a user may not be changed or deleted by an actor, as a code; null when they may. The one
 * place of these rules: for a single user it becomes the refusal, in a bulk change the reason for
 * skipping. `users` stands for the row as it is, `users.after_…` for what it would be.
 */
export function refusalSql(actor: Actor, deed: Deed): SqlFragment {
  const isSelf = isOwn(actor, 'users.user_id');
  const versions = deed.versions ?? null;
  return sql`case
    ${versions === null ? rawSql('') : sql`when users.version <> all(${versions}::integer[]) then 'user.version_mismatch'`}
    ${deed.kind === 'undo' ? rawSql(`when users.version is distinct from users.version_left then 'user.version_mismatch'`) : rawSql('')}
    when ${powerSql(deed)} and ${isSelf} then 'user.self_protected'
    ${deed.kind === 'delete' ? rawSql('') : selfRefusals(actor, deed, isSelf)}
    when not ${isSelf} and users.roles && ${deed.roles.forbidden}::text[] then 'access.protected_user'
    ${deed.kind === 'undo' ? undoRefusals(deed) : rawSql('')}
    ${deed.kind === 'delete' ? rawSql('') : changeRefusals(deed)}
    end`;
}

/** Whether an administrator is one still after the deed. */
export function staysAdministrator({ assignments }: Deed): SqlFragment {
  const after = (column: keyof UserEntity) => valueAfter(assignments, column);
  return sql`(${after('status')} = 'active' and ${after('carrier_scope')} is null and ${after('deleted_at')} is null
    and ${after('roles')} && array(select name from roles where '*' = any(permissions)))`;
}

/**
 * Whether the deed touches what nobody may change on themselves: for an undo that depends on what
 * was changed of this user.
 */
function powerSql({ kind, change, assignments }: Deed): SqlFragment {
  if (kind === 'undo') return differsSql(assignments.filter(({ column }) => powerColumns.includes(column)));
  return sql`${kind === 'delete' || touchesPower(change)}::boolean`;
}

/**
 * On oneself: no other address without the password (OWASP ASVS 7.5.1), and nobody shuts themselves
 * out.
 */
function selfRefusals(
  actor: Actor,
  { change, assignments, reauthenticated = false }: Deed,
  isSelf: SqlFragment,
): SqlFragment {
  const allowed = assignments.filter(({ column }) => column === 'allowed_ips');
  const after = valueAfter(assignments, 'allowed_ips');
  return sql`
    when ${!reauthenticated}::boolean and ${isSelf} and lower(users.email) <> lower(${change.email ?? null}::text) then 'user.self_protected'
    when ${isSelf} and ${differsSql(allowed)} and cardinality(${after}) > 0 and not coalesce(${actor.ip}::inet <<= any(${after}), false)
      then 'user.self_protected'`;
}

function changeRefusals({ kind, change, assignments, roles: grants }: Deed): SqlFragment {
  const [roles, status] = [valueAfter(assignments, 'roles'), valueAfter(assignments, 'status')];
  const scoped = change.carrier_scope !== undefined && change.carrier_scope !== null;
  const statusAsked = kind === 'undo' ? sql`users.status <> ${status}` : sql`${change.status !== undefined}::boolean`;
  // only where roles are assigned: of a million users it takes a second
  const rolesRefused = assignments.some(({ column }) => column === 'roles')
    ? sql`when not (array(select role from unnest(${roles}) role where role <> all(users.roles)) <@ (${openRoles(grants)})) or cardinality(${roles}) > ${rolesMax} then 'request.invalid/roles'`
    : rawSql('');
  return sql`
    when ${statusAsked} and ${status} = 'active' and not ${hasPassword} then 'user.no_password'
    when ${statusAsked} and ${status} = 'invited' and ${hasPassword} then 'request.invalid/status'
    when ${scoped}::boolean and users.user_type = 'carrier' then 'request.invalid/carrier_scope'
    ${rolesRefused}
    when ${change.attributes !== undefined}::boolean and octet_length((${valueAfter(assignments, 'attributes')})::text) > ${attributesMax} then 'request.invalid/attributes'`;
}

/**
 * What an undo puts back must be free and be there, and the actor's to give as of now. Of two who
 * would come back to the same name the first does; whoever had a role that is gone meanwhile, or
 * not open to their kind any more, does not. Their scope is nobody's to ask about: who has one sees
 * no System User but themselves.
 */
function undoRefusals({ assignments, restores = false, roles: grants }: Deed): SqlFragment {
  const roles = valueAfter(assignments, 'roles');
  const given = sql`array(select role from unnest(${roles}) role where role <> all(users.roles))`;
  const taken = sql`array(select role from unnest(users.roles) role where role <> all(${roles}))`;
  return sql`
    ${restores ? comebackRefusals(assignments, grants) : rawSql('')}
    when ${joinSql([given, taken], ' || ')} && ${grants.forbidden}::text[] then 'access.grant_exceeds_own'`;
}

function comebackRefusals(assignments: Assignment[], grants: Grants): SqlFragment {
  const comesBack = sql`users.deleted_at is not null and ${valueAfter(assignments, 'deleted_at')} is null`;
  const isTakenFrom = (column: 'name' | 'email') => {
    const own = rawSql(`users.${column}`);
    return sql`(${isTaken(column, own)} or row_number() over (partition by lower(${own}) order by users.user_id) > 1)`;
  };
  return sql`
    when ${comesBack} and ${isTakenFrom('name')} then 'user.name_taken'
    when ${comesBack} and ${isTakenFrom('email')} then 'user.email_taken'
    when ${comesBack} and not (${valueAfter(assignments, 'roles')} <@ (${openRoles(grants)})) then 'request.invalid/roles'`;
}

/**
 * What no time is: said of a column's unique index, and of no other. See the migration
 * `KeepNamesFindable`.
 */
const never = { name: rawSql(`other.deleted_at > 'infinity'`), email: rawSql(`other.deleted_at < '-infinity'`) };

/** Whether a user who is not deleted has a name or address, in any case. */
export function isTaken(column: 'name' | 'email', value: SqlFragment): SqlFragment {
  return sql`exists (select 1 from users other
    where (other.deleted_at is null or ${never[column]}) and lower(other.${rawSql(column)}) = lower(${value}))`;
}

/**
 * Renders a value of the living user who has a name or address, or null. The value stands in the
 * select list, so that the planner chooses the same index as for `isTaken`.
 * @param value SQL about `other`
 */
export function ofHolder(column: 'name' | 'email', text: SqlFragment, value: SqlFragment): SqlFragment {
  return sql`(select ${value} from users other
    where (other.deleted_at is null or ${never[column]}) and lower(other.${rawSql(column)}) = lower(${text}))`;
}

/** Renders whether a user, a purged user or an API key has an id. No new user may get it (Z24). */
export function isIdTaken(user_id: SqlFragment): SqlFragment {
  return sql`(exists (select 1 from users other where other.user_id = ${user_id})
    or exists (select 1 from user_tombstones where user_tombstones.user_id = ${user_id})
    or exists (select 1 from keys where keys.key_id = ${user_id}))`;
}

/** The roles that a user of their kind can have. */
function openRoles({ open_to_system, open_to_carrier }: Grants): SqlFragment {
  return sql`case users.user_type when 'system' then ${open_to_system}::text[] else ${open_to_carrier}::text[] end`;
}
