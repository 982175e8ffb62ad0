import { OperationBatchesRepository } from '../../src/users/operations/operation-batches.repository';
import { named, operation_id, other_id, sqlExamples, times, user_id } from '../support/contract/sql-examples';

const batch = named('batch', { operation_id, number: 0, user_ids: Array<string>(200).fill(user_id), rows: null });

export const operationBatches = sqlExamples(OperationBatchesRepository, {
  findTurn: [[[other_id], [operation_id]]],
  findOwner: [[operation_id]],
  countOf: [[{ actor: user_id, user: user_id, carrier: 'c1' }, true]],
  endTurn: [[operation_id]],
  hasStalled: [[5]],
  findNext: [[operation_id]],
  overlaps: [
    [operation_id, [user_id]],
    [operation_id, [user_id], times.began_at],
  ],
  addRows: [[operation_id, 0, [{ name: 'jane' }]]],
  remove: [[batch]],
  halve: [[batch, 100]],
  countUnfinished: [[]],
  removeAbandoned: [[600]],
  analyze: [[]],
});
