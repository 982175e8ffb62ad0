import { UsersBulkRepository } from '../../src/users/bulk/users-bulk.repository';
import { lastNameLike, limited, operation_id, other_id, sqlExamples, times } from '../support/contract/sql-examples';

export const usersBulk = sqlExamples(UsersBulkRepository, {
  fix: [
    [{ scope: limited, conditions: [lastNameLike] }, 'seed', 1_000],
    [{ undo_of: operation_id, times, undos: [other_id] }, 'seed', 1_000],
  ],
  fixInBatches: [[{ scope: limited, conditions: [] }, 'seed', operation_id]],
});
