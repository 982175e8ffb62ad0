import { type Actor, selfOf } from '../../access/actor';
import { isOwn } from '../../access/scope.sql';
import { joinSql, rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import type { Grants } from '../../access/roles/roles.service';
import { type Assignment, assignmentsOf, differsSql, valueAfter } from '../user-assignments.sql';
import {
  type ChangeAction,
  type CheckedAction,
  invites,
  resetsFactors,
  secures,
  touchesPower,
  type UndoAction,
  type UserAction,
} from './user-change';
import type { UserEntity } from '../user.entity';
import { factorsWereReset, isTaken } from '../users.sql';

const rolesMax = 20;
const attributesMax = { bytes: 16_384, keys: 100 };
const powerColumns: (keyof UserEntity)[] = ['status', 'roles', 'carrier_scope', 'deleted_at'];
/**
 * Renders whether a user has a password, voided or not. Ignores an expired initial password.
 */
const hasPassword = sql`exists (
            select 1
            from credentials
            where credentials.user_id = users.user_id
              and (credentials.expires_at is null or credentials.expires_at > now())
          )`;

/**
 * Renders the reason why an actor may not apply an action to a user, or null.
 * The reason is an array: the code of the first rule that forbids the action and, with
 * `request.invalid`, the pointer to the field. These rules are defined only here. For a single
 * user, the code becomes the error; in a bulk change, it becomes the reason for skipping the user.
 * Needs a relation `users` with the columns of the row as it is and an `after_…` column per
 * assigned column; for an undo also `version_left`, the version that the undone operation left.
 */
export function refusalSql(actor: Actor, { action, grants }: CheckedAction): SqlFragment {
  const assignments = assignmentsOf(action);
  const isSelf = sql`users.user_id = ${selfOf(actor)}::uuid`;
  const rules = [
    ...versionRules(action),
    ...powerRules(action, assignments, isSelf),
    ...selfRules(actor, action, assignments, isSelf),
    sql`when not ${isOwn(actor, 'users.user_id')} and users.roles && ${grants.forbidden}::text[]
            then array['access.protected_user']`,
    ...(action.kind === 'undo' ? undoRules(action, grants) : []),
    ...(action.kind === 'delete' ? [] : valueRules(action, assignments, grants)),
  ];
  return sql`case
          ${joinSql(rules, '\n          ')}
        end`;
}

/** Renders whether a user who is an administrator remains one after an action. */
export function staysAdministrator(action: UserAction): SqlFragment {
  if (secures(action)) return sql`false`;
  const assignments = assignmentsOf(action);
  const after = (column: keyof UserEntity) => valueAfter(assignments, column);
  return sql`(
          ${after('status')} = 'active'
          and ${after('carrier_scope')} is null
          and ${after('deleted_at')} is null
          and ${after('roles')} && array(select name from roles where '*' = any(permissions))
        )`;
}

function versionRules(action: UserAction): SqlFragment[] {
  if (action.kind === 'undo')
    return [sql`when users.version is distinct from users.version_left then array['user.version_mismatch']`];
  const { versions = null } = action;
  return [
    ...(versions === null
      ? []
      : [sql`when users.version <> all(${versions}::integer[]) then array['user.version_mismatch']`]),
    ...(action.kind === 'delete' && action.unused_since !== undefined
      ? [sql`when ${hasLoggedInSince(action.unused_since)} then array['user.has_logged_in']`]
      : []),
  ];
}

/** Renders whether a user has logged in. A login does not change `version`. */
function hasLoggedInSince(time: Date): SqlFragment {
  return sql`exists (
            select
            from user_logins
            where user_logins.user_id = users.user_id and user_logins.last_login_at > ${time}::timestamptz
          )`;
}

/**
 * Renders the rule that actors cannot delete themselves or change their own status, roles or scope.
 * For an undo, the columns that would change decide.
 */
function powerRules(action: UserAction, assignments: Assignment[], isSelf: SqlFragment): SqlFragment[] {
  if (action.kind === 'undo') {
    const power = assignments.filter(({ column }) => powerColumns.includes(column));
    return [sql`when ${isSelf} and ${differsSql(power)} then array['user.self_protected']`];
  }
  const touches = action.kind === 'delete' || touchesPower(action.change);
  return touches ? [sql`when ${isSelf} then array['user.self_protected']`] : [];
}

/**
 * Renders the rules about the actor's own user. Actors cannot change their own e-mail address
 * without their password (OWASP ASVS 7.5.1), cannot exclude the IP address of the request, and
 * can neither reset their own second factors, change when they need one, nor clear their own
 * `must_change_password`. After a reset of their factors, they must enrol one before they can
 * change their address.
 */
function selfRules(actor: Actor, action: UserAction, assignments: Assignment[], isSelf: SqlFragment): SqlFragment[] {
  const rules: SqlFragment[] = [];
  if (action.kind === 'change' && action.change.email !== undefined && action.verified === undefined)
    rules.push(sql`when ${isSelf} and lower(users.email) <> lower(${action.change.email}::text)
            then array['user.self_protected']`);
  // The mailed code would go to the new address (M10).
  if (action.kind === 'change' && action.change.email !== undefined)
    rules.push(sql`when ${isSelf} and ${factorsWereReset} then array['auth.mail_code_required']`);
  const networks = assignments.filter(({ column }) => column === 'allowed_ips');
  if (networks.length > 0)
    rules.push(sql`when ${isSelf} and ${differsSql(networks)}
            and cardinality(users.after_allowed_ips) > 0
            and not coalesce(${actor.ip}::inet <<= any(users.after_allowed_ips), false)
            then array['user.self_protected']`);
  if (resetsFactors(action)) rules.push(sql`when ${isSelf} then array['user.self_protected']`);
  const requirement = assignments.filter(({ column }) => column === 'second_factor_required_from');
  if (requirement.length > 0)
    rules.push(sql`when ${isSelf} and ${differsSql(requirement)} then array['user.self_protected']`);
  if (assignments.some(({ column }) => column === 'must_change_password'))
    rules.push(sql`when ${isSelf} and users.must_change_password and not users.after_must_change_password
            then array['user.self_protected']`);
  return rules;
}

/** Renders the rules about new values, which must fit the kind and the state of the user. */
function valueRules(action: ChangeAction | UndoAction, assignments: Assignment[], grants: Grants): SqlFragment[] {
  const change = action.kind === 'change' ? action.change : {};
  const rules: SqlFragment[] = invites(action)
    ? [sql`when users.status <> 'invited' then array['user.not_invited']`]
    : [];
  if (action.kind === 'undo' || change.status !== undefined) {
    const changes = action.kind === 'undo' ? sql`users.status <> users.after_status and ` : sql``;
    rules.push(
      sql`when ${changes}users.after_status = 'active' and not ${hasPassword} then array['user.no_password']`,
      sql`when ${changes}users.after_status = 'invited' and ${hasPassword} then array['request.invalid', '/status']`,
    );
  }
  if (change.carrier_scope !== undefined && change.carrier_scope !== null)
    rules.push(sql`when users.user_type = 'carrier' then array['request.invalid', '/carrier_scope']`);
  // Only if the action assigns roles: for a million users the comparison takes a second.
  if (assignments.some(({ column }) => column === 'roles'))
    rules.push(sql`when cardinality(users.after_roles) > ${rolesMax}
            or not (${grantedRoles} <@ ${openRoles(grants)})
            then array['request.invalid', '/roles']`);
  if (change.attributes !== undefined)
    rules.push(sql`when ${exceedsAttributes} then array['request.invalid', '/attributes']`);
  return rules;
}

/** Renders the number of keys, including nested keys. */
const keysOf = (column: 'attributes' | 'after_attributes') => sql`(
                select count(*)
                from jsonb_path_query(
                  users.${rawSql(column)}, 'strict $.** ? (@.type() == "object").keyvalue().key'
                )
              )`;

/**
 * Renders whether new attributes exceed a limit. Attributes that exceeded the limit before may
 * shrink. A `":` follows each key in the text. Counts the keys only if the text contains more of
 * them than the maximum, because the count takes as long as the merge.
 */
const exceedsAttributes = sql`(
            select
              octet_length(text) > ${attributesMax.bytes} and octet_length(text) >= octet_length(users.attributes::text)
              or (octet_length(text) - octet_length(replace(text, '":', ''))) / 2 > ${attributesMax.keys}
              and ${keysOf('after_attributes')} > greatest(${attributesMax.keys}, ${keysOf('attributes')} - 1)
            from (select users.after_attributes::text as text offset 0) stored
          )`;

const grantedRoles = rawSql('array(select role from unnest(users.after_roles) role where role <> all(users.roles))');
const revokedRoles = rawSql('array(select role from unnest(users.roles) role where role <> all(users.after_roles))');

/**
 * Renders the rules of an undo. Names, addresses and roles that the undo restores must be
 * available, and the actor must be allowed to grant these roles now. Of several users with the same
 * former name, the first is restored. There is no rule about `carrier_scope`: an actor with a scope
 * sees no other System User.
 */
function undoRules({ restores }: UndoAction, grants: Grants): SqlFragment[] {
  const isRestored = sql`users.deleted_at is not null and users.after_deleted_at is null`;
  const isTakenNow = (column: 'name' | 'email') => {
    const own = rawSql(`users.${column}`);
    return sql`(
            ${isTaken(column, own)}
            or row_number() over (partition by lower(${own}) order by users.user_id) > 1
          )`;
  };
  const restoreRules = [
    sql`when ${isRestored} and ${isTakenNow('name')} then array['user.name_taken']`,
    sql`when ${isRestored} and ${isTakenNow('email')} then array['user.email_taken']`,
    sql`when ${isRestored} and not (users.after_roles <@ ${openRoles(grants)})
            then array['request.invalid', '/roles']`,
  ];
  return [
    ...(restores ? restoreRules : []),
    sql`when (${grantedRoles} || ${revokedRoles}) && ${grants.forbidden}::text[]
            then array['access.grant_exceeds_own']`,
  ];
}

function openRoles({ open_to_system, open_to_carrier }: Grants): SqlFragment {
  return sql`(
              case users.user_type when 'system' then ${open_to_system}::text[] else ${open_to_carrier}::text[] end
            )`;
}
