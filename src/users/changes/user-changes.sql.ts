import type { Actor } from '../../access/actor';
import { isAdministrator } from '../../access/administrators.sql';
import { activeKey } from '../../access/api-keys/api-key-list.sql';
import { digestSql } from '../../http/lists/digest';
import type { Condition } from '../../http/lists/filter';
import { filterSql } from '../../http/lists/filter.sql';
import { joinSql, rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import type { EventBase } from '../../audit/event-base';
import { recordEventsSql } from '../../audit/events.sql';
import {
  afterColumns,
  type Assignment,
  assignmentsOf,
  beforeOperationJoins,
  differsSql,
} from '../user-assignments.sql';
import { type CheckedAction, invites, resetsFactors, secures, type UserAction } from './user-change';
import { userFilterSql } from '../user-list.sql';
import { refusalSql, staysAdministrator } from './user-rules.sql';
import { visibleUsers } from '../users.sql';

const skippedMax = 100;
const sampleMax = 20;
const invitedTargets = rawSql(`(
      select user_id as id, carrier_id, '{}'::jsonb as changes, null::integer as version
      from judged
      where verdict is null
    ) target`);
const hasKeys = sql`users.user_id in (select created_by from keys where ${activeKey})`;

/**
 * Renders the statement that applies an action to one or many users, and records each changed field
 * with its values before and after.
 * Returns one row, an `AppliedAction`.
 */
export function applyActionSql(
  actor: Actor,
  checked: CheckedAction,
  user_ids: string[],
  event: EventBase | null,
): SqlFragment {
  const assignments = assignmentsOf(checked.action);
  return sql`
    with
    ${foundSql(actor, checked, targetSql(actor, checked.action, user_ids), 'lock')},
    ${lastAdministratorSql},
    ${judgedSql},
    -- changed: the users that no rule protects and whose values differ.
    changed as (
      update users
      set
        ${setSql(assignments)}
        updated_at = now(),
        version = users.version + 1
      from judged
      where users.user_id = judged.user_id
        and judged.verdict is null
        and judged.differs
      returning
        users.user_id as id,
        users.carrier_id,
        users.version,
        ${changesSql(assignments)} as changes,
        ${isOutSql(assignments, 'users.')} as shut_out,
        ${isOutSql(assignments, 'judged.before_')} as was_out
    ),
    ${
      event === null
        ? sql``
        : sql`-- recorded: one event for each changed or invited user.
    recorded as (${recordEventsSql(event, invites(checked.action) ? invitedTargets : rawSql('changed target'))}
    ),`
    }
    -- skipped: the users that a rule protects, and the ids for which no user was found.
    skipped as not materialized (${forbiddenSql}
      union all
      select user_id, 'user.not_found', null
      from unnest(${user_ids}::uuid[]) wanted (user_id)
      where user_id not in (select user_id from judged)
    )
    select
      ${outcomeSql(checked.action)},
      array(
        select id from changed
        union
        select user_id from judged where verdict is null and acts
      ) as changed_ids,
      array(
        select user_id
        from judged
        where verdict is null and acts and ${resetsFactors(checked.action)}::boolean
        order by user_id
      ) as reset_ids,
      array(select id from changed where shut_out) as shut_out_ids,
      array(select id from changed where was_out and not shut_out order by id) as let_in_ids,
      (select changes from changed limit 1) as changes`;
}

/**
 * Renders the statement that previews an action on the users that match a filter. Writes and locks
 * nothing. Shares the parts that find and judge users with `applyActionSql`.
 * Returns one row, a `PreviewedAction`.
 * @param seed seed of the digest of the ids
 */
export function previewActionSql(
  actor: Actor,
  checked: CheckedAction,
  conditions: Condition[],
  seed: string,
): SqlFragment {
  const target = sql`users.deleted_at is null
          and ${visibleUsers(actor)}
          and ${filterSql(conditions, userFilterSql)}`;
  return sql`
    with
    ${foundSql(actor, checked, target, 'read')},
    ${lastAdministratorSql},
    ${judgedSql},
    -- skipped: the users that a rule protects.
    skipped as not materialized (${forbiddenSql}
    )
    select
      ${outcomeSql(checked.action)},
      (select count(*)::integer from judged where verdict is null and (differs or acts)) as would_change,
      (select ${digestSql('user_id', seed)} from judged) as digest,
      now() as previewed_at,
      array(
        select user_id
        from judged
        where verdict is null and (differs or acts)
        order by user_id
        limit ${sampleMax}::integer
      ) as sample_ids`;
}

/**
 * Renders the condition that finds users by their ids.
 * Finds users that are not deleted by `num_nulls(deleted_at) = 1` on purpose: the planner must not
 * pick a partial index on stale statistics (ADR 8). An undo compares versions instead, because the
 * users that it restores are deleted.
 */
export function targetSql(actor: Actor, action: UserAction, user_ids: string[]): SqlFragment {
  const findsDeleted = action.kind === 'undo' || (action.kind === 'delete' && action.purge === true);
  const conditions = [sql`users.user_id = any(${user_ids}::uuid[])`, visibleUsers(actor)];
  if (!findsDeleted) conditions.push(sql`num_nulls(users.deleted_at) = 1`);
  if (action.kind === 'change' && action.verified !== undefined)
    conditions.push(
      sql`users.password_changed_at is not distinct from ${action.verified.password_changed_at}::timestamptz`,
    );
  return joinSql(conditions, '\n          and ');
}

/**
 * Renders the CTE `found`.
 * `lock` locks the users in the order of their ids, so that two statements never deadlock, and adds
 * the values before and after the action. `read` omits both, because a preview would sort and carry
 * the values of a million users. `offset 0` computes each new value only once.
 */
function foundSql(actor: Actor, checked: CheckedAction, target: SqlFragment, mode: 'lock' | 'read'): SqlFragment {
  const { action } = checked;
  const assignments = assignmentsOf(action);
  const undo =
    action.kind === 'undo'
      ? { columns: rawSql(', before.target_version as version_left'), joins: beforeOperationJoins(action) }
      : { columns: sql``, joins: sql`` };
  return sql`-- found: the users, each with the rule that forbids the action, and whether the action would
    -- change the fields of the user, or act on the user without a change: remove the second factors
    -- or mail an invitation.
    found as materialized (
      select
        users.user_id,
        users.carrier_id,${mode === 'lock' ? beforeAndAfterSql(assignments) : sql``}
        ${refusalSql(actor, checked)} as refusal,
        ${differsSql(assignments)} as differs,
        ${resetsFactors(action) ? rawSql(`users.second_factors <> '{}'`) : rawSql(String(invites(action)))} as acts,
        ${secures(action) ? rawSql(`users.second_factors <> '{}'`) : rawSql('false')} as has_factors,
        ${secures(action) ? hasKeys : rawSql('false')} as has_keys,
        (${isAdministrator} and not ${staysAdministrator(action)}) as leaves_administrators
      from (
        select users.*${undo.columns}${afterColumns(assignments)}
        from users${undo.joins}
        where ${target}
        ${rawSql(mode === 'lock' ? 'order by users.user_id for update of users' : 'offset 0')}
      ) users
    )`;
}

const lastAdministratorSql = sql`-- last_administrator: an administrator who must stay, if the action would remove all.
    last_administrator as (
      select user_id
      from found
      where leaves_administrators and refusal is null
        and (select count(*) from users where ${isAdministrator})
          <= (select count(*) from found where leaves_administrators and refusal is null)
      order by user_id
      limit 1
    )`;

/**
 * Counts the administrators only if the action would remove one: `and` stops at the first false.
 */
const judgedSql = sql`-- judged: the users with the verdict: the rule that forbids the action, or null.
    judged as materialized (
      select
        found.*,
        case
          when refusal is null and leaves_administrators and user_id = (select user_id from last_administrator)
            then array['user.last_administrator']
          else refusal
        end as verdict
      from found
    )`;

/** The users that a rule protects. */
const forbiddenSql = sql`
      select user_id, verdict[1] as reason, verdict[2] as pointer
      from judged
      where verdict is not null`;

/** The columns of an `ActionOutcome`. Needs the relations `judged` and `skipped`. */
const outcomeSql = (action: UserAction) => sql`(select count(*)::integer from judged) as matched,
      (select count(*)::integer from judged where verdict is null and not (differs or acts)) as unchanged,
      ${countSql(action, 'has_factors')} as with_factors,
      ${countSql(action, 'has_keys')} as with_keys,
      (
        select coalesce(jsonb_object_agg(reason, count), '{}')
        from (select reason, count(*)::integer as count from skipped group by reason) counted
      ) as skipped_reasons,
      (
        select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(first_skipped)) order by user_id), '[]')
        from (select * from skipped order by user_id limit ${skippedMax}::integer) first_skipped
      ) as skipped`;

/** Renders how many users keep something although their accounts are secured. */
function countSql(action: UserAction, kept: 'has_factors' | 'has_keys'): SqlFragment {
  if (!secures(action)) return rawSql('0');
  return sql`(select count(*)::integer from judged where verdict is null and ${rawSql(kept)})`;
}

function beforeAndAfterSql(assignments: Assignment[]): SqlFragment {
  return joinSql(
    assignments.map(({ column }) => rawSql(`\n        users.${column} as before_${column}, users.after_${column},`)),
    '',
    '',
  );
}

function setSql(assignments: Assignment[]): SqlFragment {
  return joinSql(
    assignments.map(({ column }) => rawSql(`${column} = judged.after_${column},`)),
    '\n        ',
    '',
  );
}

/** Renders `{ field: { before, after } }` for the fields whose values differ. */
function changesSql(assignments: Assignment[]): SqlFragment {
  const changes = assignments.map(({ column }) => {
    const change = `jsonb_build_object('before', judged.before_${column}, 'after', users.${column})`;
    return rawSql(`case when judged.before_${column} is distinct from users.${column}
          then jsonb_build_object('${column}', ${change})
          else '{}' end`);
  });
  return joinSql(changes, '\n        || ', `'{}'::jsonb`);
}

/**
 * Renders whether a changed user is disabled or deleted, if the action decides it.
 * @param row prefix of the columns before or after the action
 */
function isOutSql(assignments: Assignment[], row: 'users.' | 'judged.before_'): SqlFragment {
  const columns = assignments.map(({ column }) => column);
  const conditions = [
    ...(columns.includes('status') ? [rawSql(`${row}status = 'disabled'`)] : []),
    ...(columns.includes('deleted_at') ? [rawSql(`${row}deleted_at is not null`)] : []),
  ];
  return sql`(${joinSql(conditions, ' or ', 'false')})`;
}
