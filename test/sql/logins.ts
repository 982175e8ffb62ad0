import { eventBase } from '../../src/audit/event-base';
import { LoginsRepository } from '../../src/auth/login/logins.repository';
import { administrator, named, sqlExamples, user_id } from '../support/contract/sql-examples';

const event = named('eventBase', eventBase(administrator, 'user.changed'));

export const logins = sqlExamples(LoginsRepository, {
  findClaimed: [[{ login: 'user@example.com' }]],
  find: [[user_id]],
  lockForLogin: [[user_id, null, '192.0.2.1']],
  findForLogin: [[user_id, null, '192.0.2.1']],
  lock: [[user_id]],
  noteLogin: [[{ user_id, ip: '192.0.2.1', unlocks: false }]],
  demandPasswordChange: [[user_id, event]],
  noteLock: [[user_id, new Date('2027-01-01T00:00:00Z')]],
});
