import type { Scope } from '../access/scope';
import type { ListSql } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
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
