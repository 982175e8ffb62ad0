import { PageResponse } from '../common/http/page.dto';
import type { Answered } from '../common/times';
import type { Changes, EventEntity } from './event.entity';

/** One event of the audit log. */
export class EventResponse {
  /** UUIDv7 */
  event_id!: string;
  /**
   * what happened: `user.` `created`, `changed`, `deleted`, `restored`, `purged`, `invited`,
   * `exported`, `import_previewed`, `email_confirmed`; `login.` `succeeded`, `failed`, `locked`;
   * `password.` `reset_requested`, `changed`, `reset`; `session.` `ended`, `token_reused`;
   * `operation.` `accepted`, `canceled`; `role.` `created`, `changed`, `deleted`;
   * `key.` `created`, `revoked`; `signing_key.rotated`. Later versions may add more
   */
  event_type!: string;
  /** when, RFC 3339 */
  occurred_at!: Date;
  /** user or key that did it; null when the service did */
  actor_id!: string | null;
  /** kind of actor */
  actor_type!: 'user' | 'key' | 'system';
  /**
   * kind of thing it happened to: `user`, `session`, `login`, `operation`, `role`, `key` or
   * `signing_key`
   */
  target_type!: string | null;
  /** id of the thing it happened to */
  target_id!: string | null;
  /** carrier of the user concerned */
  carrier_id!: string | null;
  /** bulk change it was part of */
  operation_id!: string | null;
  /** session in which it was done */
  session_id!: string | null;
  /** address it came from */
  ip!: string | null;
  /** request in which it was done */
  request_id!: string | null;
  /** `{ field: { before, after } }` of each changed field; never a secret */
  changes!: Record<string, unknown>;
}

/** A page of events. */
export class AuditListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: EventResponse[];
}

/** The public form of an event: an allow-list. */
export function toEventResponse(event: Answered<EventEntity>): Answered<EventResponse> {
  const { event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id } = event;
  const { carrier_id, operation_id, session_id, ip, request_id } = event;
  const changes: Changes = event.changes;
  return {
    event_id,
    event_type,
    occurred_at,
    actor_id,
    actor_type,
    target_type,
    target_id,
    carrier_id,
    operation_id,
    session_id,
    ip,
    request_id,
    changes,
  };
}
