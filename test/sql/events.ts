import { eventBase } from '../../src/events/event-base';
import { EventsRepository } from '../../src/events/events.repository';
import { administrator, carrierUser, limited, named, sqlExamples, user_id } from '../support/sql-examples';

const base = named('eventBase', eventBase(administrator, 'user.invited'));

export const events = sqlExamples(EventsRepository, {
  insert: [[base, { id: user_id, carrier_id: 'c1', changes: {} }]],
  list: [
    [administrator, {}],
    [carrierUser, { event_type: 'login.failed', order_dir: 'asc' }],
    [limited, { ip: '192.0.2.0/24', occurred_at_gt: '2026-11-01T00:00:00Z', count: 'exact' }],
  ],
  eraseUsers: [[[user_id]]],
});
