import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import type { RawQuery } from '../common/query/filter';
import type { Page } from '../common/query/page';
import { sql, type SqlFragment } from '../common/query/sql';
import type { Answered } from '../common/times';
import { type EventResponse, toEventResponse } from './audit.dto';
import type { Changes } from './event.entity';

export type { Changes } from './event.entity';
import { EventsRepository, insertEventsSql } from './events.repository';

/** What can happen. The past tense of a verb after the noun it happened to. */
export type EventType =
  | 'user.created'
  | 'user.changed'
  | 'user.deleted'
  | 'user.restored'
  | 'user.purged'
  | 'user.invited'
  | 'user.exported'
  | 'user.import_previewed'
  | 'user.email_confirmed'
  | 'login.succeeded'
  | 'login.failed'
  | 'login.locked'
  | 'password.reset_requested'
  | 'password.changed'
  | 'password.reset'
  | 'operation.accepted'
  | 'operation.canceled'
  | 'role.created'
  | 'role.changed'
  | 'role.deleted'
  | 'key.created'
  | 'key.revoked'
  | 'session.ended'
  | 'session.token_reused'
  | 'signing_key.rotated';

/** What an event is about. */
export interface EventTarget {
  type: 'user' | 'session' | 'login' | 'operation' | 'role' | 'key' | 'signing_key';
  id?: string | null;
  /** operation that it is part of */
  operation_id?: string | null;
  /** carrier of the user concerned; decides who may see the event */
  carrier_id?: string | null;
}

/**
 * The audit log. Written in the transaction of the change, so that there is no change without its
 * event, nor an event without its change.
 */
@Injectable()
export class EventsService {
  constructor(private readonly events: EventsRepository) {}

  /** Records that something happened. `changes` must hold no secret. */
  async record(actor: Actor, event_type: EventType, target: EventTarget, changes: Changes = {}): Promise<void> {
    const { type, id = null, carrier_id = null, operation_id = null } = target;
    const targets = sql`(select ${id}::uuid as id, ${carrier_id}::text as carrier_id, ${JSON.stringify(changes)}::jsonb as changes, null::integer as version) target`;
    await this.events.insert(this.recordAll(actor, event_type, type, targets, operation_id));
  }

  /**
   * The SQL that records the same of many, to be part of the statement that does it to them.
   * @param targets what comes after FROM: a relation called `target` with `id`, `carrier_id`,
   * `changes` and `version` (of the user after a change, else null)
   */
  recordAll(
    actor: Actor,
    event_type: EventType,
    target_type: EventTarget['type'],
    targets: SqlFragment,
    operation_id: string | null = null,
  ): SqlFragment {
    const actor_id = actor.actor_type === 'system' ? null : actor.user_id;
    const { actor_type, session_id, ip, request_id } = actor;
    return insertEventsSql(
      { event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id },
      targets,
    );
  }

  /** One page of the events that the actor may see. */
  async list(actor: Actor, query: RawQuery): Promise<Page<Answered<EventResponse>>> {
    const page = await this.events.list(actor, query);
    return { ...page, items: page.items.map(toEventResponse) };
  }

  /** Takes the values of purged persons out of the log. */
  async eraseUsers(user_ids: string[]): Promise<void> {
    await this.events.eraseUsers(user_ids);
  }
}
