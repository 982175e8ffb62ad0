import { IdempotencyRepository } from '../../src/http/idempotency/idempotency.repository';
import { hash, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const scope = named('scope', {
  user_id,
  actor_type: 'user' as const,
  method: 'POST',
  path: '/user/create',
  key_hash: hash,
});

export const idempotency = sqlExamples(IdempotencyRepository, {
  reserve: [[{ ...scope, actor_scope: 'all', reservation_id: other_id }, hash, 60]],
  sweep: [[]],
  find: [[scope]],
  renew: [[scope, other_id, 60]],
  keep: [[scope, other_id, { status: 201, answer: '{}', replace: true }, hash]],
  release: [[scope, other_id]],
  eraseUsers: [[[user_id]]],
});
