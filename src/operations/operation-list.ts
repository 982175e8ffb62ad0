import type { ListSpec } from '../common/query/list-query';
import { operationKinds, operationStatuses } from './operation.entity';

/** What operations can be filtered and sorted by. */
export const operationList: ListSpec = {
  name: 'operations',
  filter: {
    fields: {
      operation_id: { type: 'uuid', meaning: 'Id of the operation' },
      kind: { type: 'text', values: operationKinds, meaning: 'What it does' },
      status: { type: 'text', values: operationStatuses, meaning: 'How it stands' },
      actor_type: { type: 'text', values: ['user', 'key'], meaning: 'Kind of actor' },
      actor_id: { type: 'uuid', meaning: 'Who asked for it' },
      undo_of: { type: 'uuid', nullable: true, meaning: 'Operation that it undoes' },
      created_at: { type: 'time', meaning: 'When it was asked for' },
      finished_at: {
        type: 'time',
        nullable: true,
        meaning: 'When it came to its end',
      },
    },
  },
  sorts: { created_at: { type: 'time' } },
  defaultSort: 'created_at',
};
