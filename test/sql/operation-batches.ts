import { OperationBatchesRepository } from '../../src/operations/operation-batches.repository';
import { operation_id, outcome, sqlExamples } from '../support/sql-examples';

export const operationBatches = sqlExamples(OperationBatchesRepository, {
  findOldest: [[['change', 'delete', 'undo']]],
  findStalled: [[5]],
  findNext: [[operation_id]],
  userIdsOf: [[operation_id, 0]],
  rowsOf: [[operation_id, 0]],
  addRows: [[operation_id, 0, [{ name: 'jane' }]]],
  finish: [[operation_id, 0, outcome, 100]],
  countUnfinished: [[]],
  removeAbandoned: [[600]],
  analyze: [[]],
});
