import type { ListSql } from '../common/query/page';
import { rawSql } from '../common/query/sql';
import { operationList } from './operation-list';

/** Renders operation lists. */
export const operationListSql: ListSql = {
  list: operationList,
  filter: { spec: operationList.filter, table: 'operations' },
  from: rawSql('operations'),
  id: 'operations.operation_id',
};
