import { namedEnum } from '../../platform/named-enum';
import type { ListSpec } from '../../http/lists/list-query';
import { operationKinds, operationStatuses } from './operation.entity';

/** Kind of actor of an operation. */
const actorTypes = namedEnum('OperationActorType', ['user', 'key']);

/** Filters and sort fields of operation lists. */
export const operationList: ListSpec = {
  name: 'operations',
  filter: {
    selects: 'operation',
    fields: {
      operation_id: { type: 'uuid', meaning: 'Id of the operation' },
      kind: { type: 'text', values: operationKinds, meaning: 'Kind of the operation' },
      status: { type: 'text', values: operationStatuses, meaning: 'State of the operation' },
      actor_type: { type: 'text', values: actorTypes, meaning: 'Kind of actor' },
      actor_id: { type: 'uuid', meaning: 'Id of the user or API key that requested the operation' },
      undo_of: { type: 'uuid', nullable: true, meaning: 'Id of the operation that this operation undoes' },
      created_at: { type: 'time', meaning: 'When the operation was requested' },
      finished_at: { type: 'time', nullable: true, meaning: 'When the operation ended' },
    },
  },
  sorts: { created_at: { type: 'time' } },
  defaultSort: 'created_at',
};

/** Sort fields of the rows that an operation skipped. */
export const skippedRowList: ListSpec = {
  name: 'skipped',
  filter: { fields: {} },
  sorts: { line: { type: 'integer' } },
  defaultSort: 'line',
  defaultDirection: 'asc',
};
