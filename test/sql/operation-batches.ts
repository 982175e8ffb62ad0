import { OperationBatchesRepository } from '../../src/operations/operation-batches.repository';
import { operation_id, other_id, outcome, sqlExamples, user_id } from '../support/sql-examples';

export const operationBatches = sqlExamples(OperationBatchesRepository, {
  findTurn: [[[other_id], [operation_id]]],
  findOwner: [[operation_id]],
  countOf: [[{ actor: user_id, user: user_id, carrier: 'c1' }, true]],
  endTurn: [[operation_id]],
  hasStalled: [[5]],
  findNext: [[operation_id]],
  userIdsOf: [[operation_id, 0]],
  rowsOf: [[operation_id, 0]],
  addRows: [[operation_id, 0, [{ name: 'jane' }]]],
  finish: [[operation_id, 0, outcome, 100]],
  halve: [[operation_id, 0, 100]],
  countUnfinished: [[]],
  removeAbandoned: [[600]],
  analyze: [[]],
});
