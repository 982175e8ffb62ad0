import { UsersBulkRepository } from '../../src/users-bulk/users-bulk.repository';
import { administrator, limited, named, other_id, sqlExamples } from '../support/sql-examples';

const carrier = named('carrier', { kind: 'field', field: 'carrier_id', operator: 'eq', value: 'c2' } as const);

export const usersBulk = sqlExamples(UsersBulkRepository, {
  fix: [
    [{ scope: limited, conditions: [carrier] }, 'seed', 10_001],
    [{ undo_of: other_id, undos: [other_id] }, 'seed', 10_001],
  ],
  fixInBatches: [[{ scope: administrator, conditions: [carrier] }, 'seed', other_id]],
});
