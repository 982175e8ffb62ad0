import { SkippedRowsRepository } from '../../src/operations/skipped-rows.repository';
import { named, operation_id, sqlExamples, user_id } from '../support/sql-examples';

const row = named('row', {
  line: 2,
  errors: [{ pointer: '/email', code: 'field.malformed', detail: 'must be an e-mail address' }],
  cells: { name: 'jane', email: 'jane' },
  identities: ['jane'],
});

export const skippedRows = sqlExamples(SkippedRowsRepository, {
  add: [[operation_id, [row], { rows: 100_000, bytes: 67_108_864 }]],
  list: [[operation_id, user_id, { per_page: '100' }]],
  erase: [[['jane', 'jane@example.com']]],
  removeOld: [[30]],
});
