import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Assignment } from './user-change';
import type { UserEntity } from './user.entity';
import type { Deed } from './user-rules';

/** What a change of many can have changed, and an undo puts back. */
const columns: (keyof UserEntity)[] = [
  ...(['status', 'roles', 'carrier_scope', 'allowed_ips', 'locale', 'timezone', 'attributes'] as const),
  ...(['must_change_password', 'deleted_at'] as const),
];

const ofUsers = rawSql(`in ('user.changed', 'user.deleted')`);

/** The users whom an operation has changed or deleted, as a query that gives `user_id`. */
export function changedBy(operation_id: string): SqlFragment {
  return sql`select target_id as user_id from events where operation_id = ${operation_id}::uuid and event_type ${ofUsers}`;
}

/**
 * Renders the query for the `user_id`s of an operation's users whom none of `undos` has restored.
 */
export function leftToUndo(operation_id: string, undos: string[]): SqlFragment {
  if (undos.length === 0) return changedBy(operation_id);
  return sql`${changedBy(operation_id)} except select target_id from events
    where operation_id = any(${undos}::uuid[]) and event_type in ('user.changed', 'user.restored')`;
}

/**
 * Puts back what an operation has changed: the before-images of the audit log, read into a row of
 * `users`, give every column its type again. `offset 0`: always looked up user by user. The
 * statistics may not know of the operation yet; taken for one of a single event it would be read
 * whole for each batch.
 */
export function undoOf(operation_id: string): Pick<Deed, 'assignments' | 'before'> {
  const assignments = columns.map((column): Assignment => ({ column, value: rawSql(`restored.${column}`) }));
  const joins = sql`cross join lateral (select changes, target_version from events
      where operation_id = ${operation_id}::uuid and target_id = users.user_id and event_type ${ofUsers} offset 0) before
    cross join lateral jsonb_populate_record(users, (select jsonb_object_agg(key, value -> 'before') from jsonb_each(before.changes))) restored`;
  return { assignments, before: { joins, columns: rawSql(', before.target_version as version_left') } };
}
