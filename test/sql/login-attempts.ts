import { LoginAttemptsRepository } from '../../src/auth/passwords/login-attempts.repository';
import { named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const attempt = named('attempt', {
  attempt_id: other_id,
  account: user_id,
  address: '192.0.2.1',
  began_at: new Date('2026-11-01T00:00:00Z'),
});

export const loginAttempts = sqlExamples(LoginAttemptsRepository, {
  begin: [[other_id, { account: user_id, user_id, address: '192.0.2.1' }]],
  pass: [[attempt, '192.0.2.1']],
  know: [[user_id, '192.0.2.1']],
  fail: [[attempt]],
  release: [[attempt]],
  clear: [[[user_id]]],
  clearAt: [[{ account: `codes:${user_id}`, user_id, address: '192.0.2.1' }]],
  listLocks: [[user_id]],
  remove: [[[user_id]]],
  removeOld: [[100]],
});
