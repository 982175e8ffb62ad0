import { eventBase } from '../../src/events/event-base';
import { LoginsRepository } from '../../src/logins/logins.repository';
import { administrator, named, sqlExamples, user_id } from '../support/sql-examples';

const event = named('eventBase', eventBase(administrator, 'user.changed'));

export const logins = sqlExamples(LoginsRepository, {
  findClaimed: [[{ login: 'user@example.com' }], [{ login: 'example' }], [{ user_id }]],
  find: [[user_id], [null]],
  lockForLogin: [
    [user_id, null, '192.0.2.1'],
    [user_id, undefined, '192.0.2.1'],
  ],
  findForLogin: [[user_id, null, '192.0.2.1']],
  lock: [[user_id]],
  noteLogin: [[{ user_id, ip: '192.0.2.1', unlocks: false }]],
  demandPasswordChange: [[user_id, event]],
  noteLock: [
    [user_id, new Date('2027-01-01T00:00:00Z')],
    [user_id, null],
  ],
});
