import { skippedRowList } from '../../src/users/operations/operation-list';
import { SkippedRowsRepository } from '../../src/users/operations/skipped-rows.repository';
import { listQuery } from '../support/contract/list-queries';
import { named, operation_id, sqlExamples } from '../support/contract/sql-examples';

const row = named('row', {
  line: 2,
  errors: [{ pointer: '/email', code: 'field.malformed', detail: 'must be an e-mail address' }],
  cells: { name: 'jane', email: 'jane' },
  identities: ['jane'],
});

export const skippedRows = sqlExamples(SkippedRowsRepository, {
  add: [[operation_id, [row]]],
  list: [[operation_id, listQuery(skippedRowList, { per_page: '100' })]],
  erase: [[['jane', 'jane@example.com']]],
  removeOld: [[30]],
});
