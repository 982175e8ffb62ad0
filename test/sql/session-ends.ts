import { eventBase } from '../../src/audit/event-base';
import { SessionEndsRepository } from '../../src/auth/sessions/session-ends.repository';
import { administrator, limited, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const event = named('eventBase', eventBase(administrator, 'session.ended'));

export const sessionEnds = sqlExamples(SessionEndsRepository, {
  endOne: [[other_id, { scope: limited, others: true }, ['administrator'], event]],
  endFound: [
    [
      [{ kind: 'field', field: 'user_id', operator: 'eq', value: user_id }],
      { scope: limited, others: true },
      ['administrator'],
      event,
      1_000,
    ],
  ],
  endById: [[other_id, 'logout', event]],
  endOfUsers: [[[user_id], 'password_changed', other_id, event]],
  endForbidden: [[[user_id], event]],
  endSurplus: [[user_id, 4, event]],
  endNext: [[other_id, 5_000]],
  endReused: [[other_id]],
});
