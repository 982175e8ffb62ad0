import { OperationsRepository } from '../../src/operations/operations.repository';
import { administrator, limited, named, other_id, sqlExamples, user_id } from '../support/sql-examples';

const operation = named('operation', {
  operation_id: other_id,
  kind: 'change' as const,
  permission: 'user:update',
  status: 'waiting' as const,
  actor_type: 'user' as const,
  actor_id: user_id,
  session_id: null,
  ip: '192.0.2.1',
  request_id: null,
  request: { filters: { carrier_id: 'c1' }, change: { locale: 'fr' } },
  confirm_id: null,
  undo_of: null,
});
const outcome = named('outcome', {
  processed: 1,
  changed: 1,
  unchanged: 0,
  skipped_count: 0,
  skipped_reasons: {},
  skipped: [],
});
const permissions = ['user:update'];

export const operations = sqlExamples(OperationsRepository, {
  insert: [[operation]],
  overlaps: [[other_id, [user_id]]],
  find: [[other_id, { scope: limited, permissions }]],
  list: [[{ scope: administrator, permissions }, { status: 'running' }]],
  skippedOf: [[other_id]],
  findToRun: [[other_id]],
  lock: [
    [other_id, 'skip'],
    [other_id, 'wait'],
  ],
  accept: [[other_id, 12_000]],
  complete: [[other_id, outcome]],
  finish: [[other_id, 'done', null]],
  reopenUndone: [[other_id]],
  noteUndone: [[other_id, other_id]],
  undosOf: [[other_id]],
  remove: [[other_id]],
  eraseValues: [[['name', 'email'], ['ada']]],
});
