import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import type { RawQuery } from '../common/query/filter';
import type { Page } from '../common/query/page';
import type { SqlFragment } from '../common/query/sql';
import type { Answered } from '../common/times';
import { type EventResponse, toEventResponse } from './audit.dto';
import { eventBase } from './event-base';
import type { EventType, TargetType } from './event-catalogue';
import type { Changes } from './event.entity';
import { EventsRepository } from './events.repository';
import { recordEventsSql } from './events.sql';

export { eventBase, type EventBase } from './event-base';
export type { EventType } from './event-catalogue';
export type { Changes } from './event.entity';

/** What an event is about. */
export interface EventTarget {
  type: TargetType;
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

  /** Records one event. `changes` must not contain a secret. */
  async record(actor: Actor, event_type: EventType, target: EventTarget, changes: Changes = {}): Promise<void> {
    const { type, id = null, carrier_id = null, operation_id = null } = target;
    await this.events.insert(eventBase(actor, event_type, type, operation_id), { id, carrier_id, changes });
  }

  /** Renders the INSERT of one event per target. Replaced by `recordEventsSql`. */
  recordAll(
    actor: Actor,
    event_type: EventType,
    target_type: TargetType,
    targets: SqlFragment,
    operation_id: string | null = null,
  ): SqlFragment {
    return recordEventsSql(eventBase(actor, event_type, target_type, operation_id), targets);
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
