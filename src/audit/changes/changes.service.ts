import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { AppError } from '../../http/errors/app-error';
import type { Condition } from '../../http/lists/filter';
import { readValue } from '../../http/lists/filter-value';
import { currentTime } from '../../platform/clock';
import { type Horizon, Notifications } from '../../platform/database/notifications.service';
import { MetricsService } from '../../platform/metrics/metrics.service';
import type { Answered } from '../../platform/times';
import { ChangeCursors, isBefore, nilId, type Place } from './change-cursors';
import type { ChangeQuery } from './change-query';
import {
  type ChangeListResponse,
  type ChangeRecord,
  type ChangeResponse,
  placeOf,
  toChangeResponse,
} from './changes.dto';
import { behindSeconds } from './changes.metrics';
import { ChangesRepository } from './changes.repository';

/** Returns users within the scope of an actor as changes show them, by id. */
export type ReadUsers = (actor: Actor, user_ids: string[]) => Promise<Map<string, object>>;

/** A page of changes as it is sent. */
export type ChangePage = Omit<ChangeListResponse, 'items'> & { items: Answered<ChangeResponse>[] };

/** A page of the feed. */
export interface FeedPage {
  changes: ChangeRecord[];
  /** the place up to which the reader has now seen all changes */
  place: Place;
  /** age in seconds of the oldest change after `place` */
  behind_seconds: number;
}

/** The change feed: events of the audit log without gaps, in the order of their transactions. */
@Injectable()
export class ChangesService {
  private encoded: { horizon: Horizon; cursor: string } | null = null;
  private readUsers: ReadUsers = () => Promise.resolve(new Map<string, object>());

  constructor(
    private readonly changes: ChangesRepository,
    private readonly cursors: ChangeCursors,
    private readonly notifications: Notifications,
    metrics: MetricsService,
  ) {
    metrics.sample(
      [behindSeconds],
      async () => [await this.changes.findEnd()],
      ([end]) => behindSeconds.set({ cause: 'transaction' }, end?.held_seconds ?? 0),
    );
  }

  /** Registers the function that reads users. Call it before the service starts. */
  readUsersWith(readUsers: ReadUsers): void {
    this.readUsers = readUsers;
  }

  /**
   * Returns the cursor for a copy that is read afterwards: the feed after it has all changes that
   * the copy lacks. Sends no query while notifications arrive.
   */
  async cursorForCopy(): Promise<string> {
    const horizon = this.notifications.horizon ?? (await this.changes.findEnd()).place;
    if (horizon !== this.encoded?.horizon)
      this.encoded = { horizon, cursor: this.cursors.encode({ event_id: nilId, ...horizon }) };
    return this.encoded.cursor;
  }

  /**
   * Returns the next changes that the actor may see.
   * @throws page.cursor_invalid, change.cursor_expired
   */
  async list(actor: Actor, query: ChangeQuery): Promise<ChangePage> {
    const from = query.after === undefined ? null : this.cursors.decode(query.after);
    const { changes, place, behind_seconds } = await this.read(actor, query.conditions, from, query.per_page);
    return {
      items: await this.describe(actor, changes, query.values),
      next_cursor: this.cursors.encode(place),
      behind_seconds: Math.ceil(behind_seconds),
    };
  }

  /** Returns changes as they are sent. @param values whether to read the users of the changes */
  async describe(actor: Actor, changes: ChangeRecord[], values: boolean): Promise<Answered<ChangeResponse>[]> {
    const user_ids = changes.filter(({ target_type }) => target_type === 'user').map(({ target_id }) => target_id);
    const users = values ? await this.readUsers(actor, [...new Set(user_ids)]) : null;
    return changes.map((change) => toChangeResponse(change, users?.get(change.target_id)));
  }

  /** Returns a change that the actor may see, or null. */
  find(actor: Actor, change_id: string): Promise<ChangeRecord | null> {
    return this.changes.find(actor, change_id);
  }

  /** Returns the end of the feed: the place after all changes that it shows now. */
  async findEnd(): Promise<Place> {
    return (await this.changes.findEnd()).place;
  }

  /**
   * Returns the place of a cursor, or before the first change since a time.
   * @throws page.cursor_invalid, change.cursor_expired
   */
  async placeOf(after: string): Promise<Place> {
    const time = readValue(after, { type: 'time' });
    if (!('value' in time)) return this.cursors.decode(after);
    return this.changes.findStart(await this.findEnd(), new Date(String(time.value)));
  }

  /**
   * Reads the next changes that the actor may see.
   * @param from null = from the oldest change
   * @throws change.cursor_expired
   */
  async read(actor: Actor, conditions: Condition[], from: Place | null, per_page: number): Promise<FeedPage> {
    await this.notifications.assertLease();
    const end = await this.changes.findEnd();
    const after = from ?? (await this.changes.findStart(end.place, null));
    // The cursor is from another server, or from an old primary with changes that are lost.
    if (isBefore(end.place, after)) throw new AppError('change.cursor_expired');
    const isNarrow = conditions.length > 0 || actor.user_type !== 'system' || actor.carrier_scope !== null;
    const stop = isNarrow ? await this.changes.findStop({ after, until: end.place }) : null;
    const changes = await this.changes.list(actor, conditions, {
      after,
      until: stop ?? end.place,
      limit: per_page + 1,
    });
    const last = changes[per_page - 1];
    if (changes.length > per_page && last !== undefined) {
      const place = placeOf(last);
      return { changes: changes.slice(0, per_page), place, behind_seconds: secondsSince(place.at) };
    }
    if (stop !== null) return { changes, place: stop, behind_seconds: secondsSince(stop.at) };
    return { changes, place: end.place, behind_seconds: end.held_seconds };
  }
}

function secondsSince(time: Date): number {
  return Math.max(0, (currentTime().getTime() - time.getTime()) / 1_000);
}
