import { namedEnum } from '../platform/named-enum';
import type { ListSpec } from '../http/lists/list-query';

/** Kind of actor: a user, an API key or the service. */
const actorTypes = namedEnum('ActorType', ['user', 'key', 'system']);

/** Filters and sort fields of the audit log. */
export const auditList: ListSpec = {
  name: 'audit',
  filter: {
    selects: 'event',
    fields: {
      event_id: { type: 'uuid', meaning: 'Id of the event' },
      event_type: { type: 'text', meaning: 'What happened, such as `user.changed`' },
      occurred_at: { type: 'time', meaning: 'Time of the event' },
      actor_id: { type: 'uuid', nullable: true, meaning: 'Id of the user or API key that acted' },
      actor_type: { type: 'text', values: actorTypes, meaning: 'Kind of actor' },
      target_type: { type: 'text', nullable: true, meaning: 'Kind of target' },
      target_id: { type: 'uuid', nullable: true, meaning: 'Id of the target, such as the user' },
      carrier_id: { type: 'text', nullable: true, meaning: 'Carrier of the user concerned' },
      operation_id: { type: 'uuid', nullable: true, meaning: 'Bulk change that the event is part of' },
      session_id: { type: 'uuid', nullable: true, meaning: 'Session of the request' },
      ip: { type: 'address', nullable: true, meaning: 'IP address of the request (address or CIDR)' },
      request_id: { type: 'text', nullable: true, meaning: 'Id of the request' },
    },
  },
  sorts: { occurred_at: { type: 'time' } },
  defaultSort: 'occurred_at',
};
