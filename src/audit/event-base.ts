import type { Actor } from '../access/actor';
import { type EventType, targetOf, type TargetType } from './event-catalogue';
import type { EventEntity } from './event.entity';

/** Values that all events of one action have in common. */
export interface EventBase extends Pick<
  EventEntity,
  'actor_id' | 'actor_type' | 'operation_id' | 'session_id' | 'ip' | 'request_id'
> {
  event_type: EventType;
  target_type: TargetType;
}

/**
 * Returns the common values of the events of one action by an actor.
 * The catalogue of events decides the target type.
 */
export function eventBase(
  actor: Actor,
  event_type: EventType,
  { operation_id = null }: { operation_id?: string | null } = {},
): EventBase {
  const { actor_type, session_id, ip, request_id } = actor;
  const actor_id = actor_type === 'system' ? null : actor.user_id;
  const target_type = targetOf(event_type);
  return { event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id };
}
