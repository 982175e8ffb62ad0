import { eventBase } from '../../src/events/event-base';
import { EventsRepository } from '../../src/events/events.repository';
import { administrator, limited, named, sqlExamples, user_id } from '../support/sql-examples';

const base = named('eventBase', eventBase(administrator, 'user.invited'));

export const events = sqlExamples(EventsRepository, {
  insert: [[base, { id: user_id, carrier_id: 'c1', changes: {} }]],
  insertMany: [[base, [{ id: user_id, carrier_id: 'c1' }]]],
  list: [
    [administrator, {}],
    [limited, { ip: '192.0.2.0/24', occurred_at_gt: '2026-11-01T00:00:00Z', count: 'exact' }],
    [administrator, { event_id: '01a2035f-8a2f-7897-9812-3de3119431c7', count: 'none' }],
  ],
  eraseUsers: [[[user_id], { from: new Date(0), until: new Date(1) }]],
  listMonths: [[]],
  addMonths: [[]],
  removeOld: [[400, 5_000]],
});
