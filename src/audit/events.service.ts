import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import type { ListQuery } from '../http/lists/list-query';
import type { Page } from '../http/lists/page';
import type { Answered } from '../platform/times';
import { RateLimitsService, selfChangeLimit, selfChangeOf } from '../access/rate-limits/rate-limits.service';
import { type EventResponse, toEventResponse } from './audit.dto';
import { eventBase } from './event-base';
import type { ChangesOf, EventType } from './event-catalogue';
import { type EventMonth, EventsRepository } from './events.repository';

/** The target of an event. The event type implies its kind. */
export interface EventTarget {
  id?: string | null;
  /** operation that the event is part of */
  operation_id?: string | null;
  /** carrier of the user concerned; decides who may see the event */
  carrier_id?: string | null;
}

/** Events of the limited changes that users make to themselves. */
const selfChanges: EventType[] = [
  'password.changed',
  'factor.enrolled',
  'factor.renamed',
  'factor.recovery_codes_renewed',
  'login.reauthenticated',
];

/**
 * The audit log.
 * An event is written in the transaction of the change, so neither exists without the other.
 */
@Injectable()
export class EventsService {
  constructor(
    private readonly events: EventsRepository,
    private readonly limits: RateLimitsService,
  ) {}

  /**
   * Records one event. `changes` must not contain a secret.
   * @throws request.rate_limited after too many changes that users made to themselves (B34)
   */
  async record<Type extends EventType>(
    actor: Actor,
    event_type: Type,
    { id = null, carrier_id = null, operation_id = null }: EventTarget,
    changes: ChangesOf<Type> = {},
  ): Promise<void> {
    if (selfChanges.includes(event_type))
      await this.limits.demand(selfChangeLimit, selfChangeOf(actor, id, event_type));
    await this.events.insert(eventBase(actor, event_type, { operation_id }), [{ id, carrier_id, changes }]);
  }

  /** Records one event without changes for each target. */
  async recordMany(
    actor: Actor,
    event_type: EventType,
    targets: { id: string; carrier_id: string | null }[],
  ): Promise<void> {
    const rows = targets.map(({ id, carrier_id }) => ({ id, carrier_id, changes: {} }));
    await this.events.insert(eventBase(actor, event_type), rows);
  }

  /** Returns one page of the events that the actor may see. */
  async list(actor: Actor, query: ListQuery): Promise<Page<Answered<EventResponse>>> {
    const page = await this.events.list(actor, query);
    return { ...page, items: page.items.map(toEventResponse) };
  }

  /** Returns the time of the last event; null = none. */
  findLastTime(): Promise<Date | null> {
    return this.events.findLastTime();
  }

  listMonths(): Promise<EventMonth[]> {
    return this.events.listMonths();
  }

  /** Erases the values of purged users from the audit log. @param month null = the whole log */
  async eraseUsers(user_ids: string[], month: EventMonth | null = null): Promise<void> {
    await this.events.eraseUsers(user_ids, month);
  }
}
