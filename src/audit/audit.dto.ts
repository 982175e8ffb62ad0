import { PageResponse } from '../http/lists/page.dto';
import type { Answered } from '../platform/times';
import type { EventEntity } from './event.entity';

/** One event of the audit log. */
export class EventResponse {
  /** UUIDv7 @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f */
  event_id!: string;
  /**
   * what happened, such as `user.changed`: the description of `GET /audit/list` explains each type.
   * Later versions may add types
   * @example user.changed
   */
  event_type!: string;
  /** time of the event, RFC 3339 */
  occurred_at!: Date;
  /** id of the user or API key that acted; null if the service acted */
  actor_id!: string | null;
  /** kind of actor: a user, an API key or the service itself */
  actor_type!: 'user' | 'key' | 'system';
  /** kind of target, such as `user`, `session`, `role` or `webhook` @example user */
  target_type!: string | null;
  /** id of the target: what the event is about @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e */
  target_id!: string | null;
  /** carrier of the user concerned */
  carrier_id!: string | null;
  /** bulk change that the event is part of */
  operation_id!: string | null;
  /** session of the request */
  session_id!: string | null;
  /** IP address of the request @example 203.0.113.7 */
  ip!: string | null;
  /** id of the request @example a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95 */
  request_id!: string | null;
  /**
   * `{ field: { before, after } }` of each changed field; never a secret
   * @example {"locale": {"before": "de", "after": "en-GB"}}
   */
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
