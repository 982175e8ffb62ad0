import type { ListSpec } from '../common/query/list-query';

/** Sort fields of the rows that an operation skipped. */
export const skippedRowList: ListSpec = {
  name: 'skipped',
  filter: { fields: {} },
  sorts: { line: { type: 'integer' } },
  defaultSort: 'line',
  defaultDirection: 'asc',
};
