import { operationList } from '../../src/users/operations/operation-list';
import { OperationsRepository } from '../../src/users/operations/operations.repository';
import { listQuery } from '../support/contract/list-queries';
import {
  limited,
  named,
  operation_id,
  other_id,
  outcome,
  sqlExamples,
  user_id,
} from '../support/contract/sql-examples';

const operation = named('operation', {
  operation_id: other_id,
  kind: 'undo' as const,
  permission: 'user:update',
  status: 'waiting' as const,
  actor_type: 'user' as const,
  actor_id: user_id,
  session_id: null,
  ip: '192.0.2.1',
  request_id: null,
  request: {},
  confirm_id: null,
  undo_of: operation_id,
});
const permissions = ['user:update'];

export const operations = sqlExamples(OperationsRepository, {
  insert: [[operation]],
  find: [
    [operation_id, { scope: limited, permissions }],
    [operation_id, null],
  ],
  list: [
    [
      { scope: limited, permissions },
      listQuery(operationList, { kind_in: 'change,undo', status: 'done', order_dir: 'asc' }),
    ],
  ],
  lock: [
    [operation_id, 'skip'],
    [operation_id, 'wait'],
  ],
  accept: [[operation_id, 1_000]],
  complete: [[operation_id, outcome]],
  addOutcome: [[operation_id, outcome]],
  finish: [[operation_id, 'done', null]],
  reopenUndone: [[operation_id]],
  noteUndone: [[operation_id, other_id]],
  undosOf: [[operation_id]],
  remove: [[operation_id]],
  findTimes: [[operation_id]],
  eraseValues: [[['name', 'email'], ['user@example.com']]],
  removeOld: [[90, 100]],
});
