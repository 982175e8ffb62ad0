import type { Scope } from '../../access/scope';
import type { ListSql } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { operationList } from './operation-list';

/** The reader of operations. */
export interface OperationReader {
  scope: Scope;
  /** permissions of the reader; operations that require one of them are visible */
  permissions: string[];
}

/** Renders operation lists. */
export const operationListSql: ListSql = {
  list: operationList,
  filter: { spec: operationList.filter, table: 'operations' },
  from: rawSql('operations'),
  id: 'operations.operation_id',
};

/** Columns of an `OperationRecord`. */
export const operationColumns = rawSql(`
        operations.operation_id, operations.kind, operations.permission, operations.status, operations.actor_type,
        operations.actor_id, operations.session_id, host(operations.ip) as ip, operations.request_id,
        operations.request, operations.total, operations.processed, operations.changed, operations.unchanged,
        operations.skipped_count, operations.skipped_reasons, operations.skipped, operations.counts,
        operations.error_code, operations.undo_of, operations.undone_by, operations.created_at, operations.started_at,
        operations.progressed_at, operations.finished_at, operations.undo_until`);

/**
 * Renders whether a reader sees an operation. Readers see their own operations. System Users
 * without a carrier scope see the operations of all actors.
 */
export function visibleOperations({ scope, permissions }: OperationReader): SqlFragment {
  const seesAll = scope.user_type === 'system' && scope.carrier_scope === null;
  return sql`operations.permission = any(${permissions}::text[])
        and (
          ${seesAll}::boolean
          or (operations.actor_type = ${scope.actor_type} and operations.actor_id = ${scope.user_id}::uuid)
        )`;
}

/**
 * Users per batch: few enough to release the locks soon, and many enough to make the overhead of a
 * transaction small.
 */
const batchSize = 5_000;

/**
 * Renders the INSERT that stores the users of an operation in batches, by id.
 * Use it as a data-modifying CTE of the statement that selects the users.
 * @param users FROM item with the column `user_id` uuid
 */
export function storeBatchesSql(operation_id: string, users: SqlFragment): SqlFragment {
  return sql`
      insert into operation_batches (operation_id, number, user_ids)
      select ${operation_id}::uuid, number, array_agg(user_id order by user_id)
      from (
        select user_id, (row_number() over (order by user_id) - 1) / ${batchSize}::integer as number
        from ${users}
      ) numbered
      group by number`;
}

/** Joins the actor of `operations`, for `ownerOfOperation`. */
export const joinOwner = rawSql(`left join keys on actor_type = 'key' and key_id = actor_id
        left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end`);

/**
 * Renders the carrier of `operations` joined with `joinOwner`. Without a carrier, renders the user,
 * or the creator of the API key.
 */
export const ownerOfOperation = rawSql(
  `coalesce(keys.carrier_id, users.carrier_id, keys.created_by::text, actor_id::text)`,
);
