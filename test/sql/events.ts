import { auditList } from '../../src/audit/audit-list';
import { eventBase } from '../../src/audit/event-base';
import { EventsRepository } from '../../src/audit/events.repository';
import { listQuery } from '../support/contract/list-queries';
import { administrator, limited, named, sqlExamples, user_id } from '../support/contract/sql-examples';

const base = named('eventBase', eventBase(administrator, 'user.invited'));

export const events = sqlExamples(EventsRepository, {
  insert: [[base, [{ id: user_id, carrier_id: 'c1', changes: {} }]]],
  list: [
    [limited, listQuery(auditList, { ip: '192.0.2.0/24', occurred_at_gt: '2026-11-01T00:00:00Z', count: 'exact' })],
  ],
  eraseUsers: [[[user_id], { from: new Date(0), until: new Date(1) }]],
  findLastTime: [[]],
  listMonths: [[]],
  addMonths: [[]],
  removeOld: [[400, 5_000]],
});
