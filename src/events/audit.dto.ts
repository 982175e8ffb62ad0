import { PageResponse } from '../common/http/page.dto';
import type { Answered } from '../common/times';
import type { EventEntity } from './event.entity';

/** One event of the audit log. */
export class EventResponse {
  /** UUIDv7 */
  event_id!: string;
  /**
   * what happened, such as `user.changed`: the description of `GET /audit/list` explains each type.
   * Later versions may add types
   */
  event_type!: string;
  /** time of the event, RFC 3339 */
  occurred_at!: Date;
  /** id of the user or API key that acted; null if the service acted */
  actor_id!: string | null;
  /** kind of actor: a user, an API key or the service itself */
  actor_type!: 'user' | 'key' | 'system';
  /**
   * kind of target: `user`, `session`, `login`, `operation`, `role`, `key` or `signing_key`
   */
  target_type!: string | null;
  /** id of the target: what the event is about */
  target_id!: string | null;
  /** carrier of the user concerned */
  carrier_id!: string | null;
  /** bulk change that the event is part of */
  operation_id!: string | null;
  /** session of the request */
  session_id!: string | null;
  /** IP address of the request */
  ip!: string | null;
  /** id of the request */
  request_id!: string | null;
  /** `{ field: { before, after } }` of each changed field; never a secret */
  changes!: Record<string, unknown>;
}

/** A page of events. */
export class AuditListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: EventResponse[];
}

/** Returns the public fields of an event, from an allow-list. */
export function toEventResponse(event: Answered<EventEntity>): Answered<EventResponse> {
  const { event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id } = event;
  const { carrier_id, operation_id, session_id, ip, request_id, changes } = event;
  const what = { event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id };
  return { ...what, carrier_id, operation_id, session_id, ip, request_id, changes };
}
