import type { ListSpec } from '../common/query/list-query';

/** What the audit log can be filtered and sorted by. */
export const auditList: ListSpec = {
  name: 'audit',
  filter: {
    fields: {
      event_id: { type: 'uuid', meaning: 'Id of the event' },
      event_type: { type: 'text', meaning: 'What happened, such as `user.changed`' },
      occurred_at: { type: 'time', meaning: 'When it happened' },
      actor_id: { type: 'uuid', nullable: true, meaning: 'Who did it' },
      actor_type: {
        type: 'text',
        values: ['user', 'key', 'system'],
        meaning: 'Kind of actor',
      },
      target_type: {
        type: 'text',
        nullable: true,
        meaning: 'Kind of thing it happened to',
      },
      target_id: {
        type: 'uuid',
        nullable: true,
        meaning: 'Id of the thing it happened to',
      },
      carrier_id: {
        type: 'text',
        nullable: true,
        meaning: 'Carrier of the user concerned',
      },
      operation_id: {
        type: 'uuid',
        nullable: true,
        meaning: 'Bulk change it was part of',
      },
      session_id: {
        type: 'uuid',
        nullable: true,
        meaning: 'Session in which it was done',
      },
      ip: { type: 'address', nullable: true, meaning: 'Address it came from (address or CIDR)' },
      request_id: {
        type: 'text',
        nullable: true,
        meaning: 'Request in which it was done',
      },
    },
  },
  sorts: { occurred_at: { type: 'time' } },
  defaultSort: 'occurred_at',
};
