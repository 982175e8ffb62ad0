import type { ListSpec } from '../common/query/list-query';
import { operationKinds, operationStatuses } from './operation.entity';

/** What operations can be filtered and sorted by. */
export const operationList: ListSpec = {
  name: 'operations',
  filter: {
    fields: {
      operation_id: { column: 'operations.operation_id', type: 'uuid', meaning: 'Id of the operation' },
      kind: { column: 'operations.kind', type: 'text', values: operationKinds, meaning: 'What it does' },
      status: { column: 'operations.status', type: 'text', values: operationStatuses, meaning: 'How it stands' },
      actor_type: { column: 'operations.actor_type', type: 'text', values: ['user', 'key'], meaning: 'Kind of actor' },
      actor_id: { column: 'operations.actor_id', type: 'uuid', meaning: 'Who asked for it' },
      undo_of: { column: 'operations.undo_of', type: 'uuid', nullable: true, meaning: 'Operation that it undoes' },
      created_at: { column: 'operations.created_at', type: 'time', meaning: 'When it was asked for' },
      finished_at: {
        column: 'operations.finished_at',
        type: 'time',
        nullable: true,
        meaning: 'When it came to its end',
      },
    },
  },
  sorts: { created_at: { column: 'operations.created_at', type: 'timestamptz' } },
  defaultSort: 'created_at',
};
