import { OperationBatchesRepository } from '../../src/operations/operation-batches.repository';
import { named, other_id, sqlExamples } from '../support/sql-examples';

const outcome = named('outcome', {
  processed: 2,
  changed: 1,
  unchanged: 0,
  skipped_count: 1,
  skipped_reasons: { 'user.self_protected': 1 },
  skipped: [{ user_id: other_id, reason: 'user.self_protected' }],
});

export const operationBatches = sqlExamples(OperationBatchesRepository, {
  findOldest: [[['change', 'delete', 'undo']]],
  findStalled: [[5]],
  findNext: [[other_id]],
  userIdsOf: [[other_id, 0]],
  rowsOf: [[other_id, 0]],
  addRows: [[other_id, 0, []]],
  finish: [[other_id, 0, outcome, 100]],
  removeAbandoned: [[600]],
  analyze: [[]],
});
