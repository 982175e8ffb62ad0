import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { Admission, workOwnerOf } from '../../access/admission';
import { assertHolds } from '../../access/permissions';
import type { Scope } from '../../access/scope';
import { AppError } from '../../http/errors/app-error';
import type { CursorPosition } from '../../http/lists/cursor';
import type { Condition } from '../../http/lists/filter';
import { readValue } from '../../http/lists/filter-value';
import { Notifications } from '../../platform/database/notifications.service';
import type { Reads } from '../../platform/database/reads';
import { shareOf } from '../../platform/instance';
import { MetricsService } from '../../platform/metrics/metrics.service';
import type { Answered } from '../../platform/times';
import { ChangeCursors, isBefore, nilId, type Place } from './change-cursors';
import { changeMatcher } from './change-matcher';
import type { ChangeQuery } from './change-query';
import { ChangeWaits, endOfPage, type FeedPage } from './change-waits';
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

/** The request for a page. */
export interface PageRequest {
  /** authorizes the request again */
  reauthorize: () => Promise<Actor>;
  /** ends the wait */
  gone: AbortSignal;
}

/** Requests of an instance that wait for changes. */
const waitLimits = {
  name: 'change-waits',
  work: 'requests that wait for changes',
  placesMax: shareOf(6_000),
  shares: { actor: 1 / 12, alone: 1 / 12, group: 1 / 6 },
  waitingPerActorMax: 0,
  patienceMs: 0,
};
/** Time that a request with `wait` queues for a connection. */
const patienceMs = 10_000;

/** The change feed: events of the audit log without gaps, in the order of their transactions. */
@Injectable()
export class ChangesService {
  private readonly waitPlaces = new Admission(waitLimits);
  private readUsers: ReadUsers = () => Promise.resolve(new Map<string, object>());

  constructor(
    private readonly changes: ChangesRepository,
    private readonly cursors: ChangeCursors,
    private readonly waits: ChangeWaits,
    private readonly admission: Admission,
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
   * Chooses the server of a copy that is read afterwards, and returns the cursor: the feed after it
   * has all changes that the copy lacks. Sends no query while notifications arrive.
   * @param actor null = the primary
   * @param after position of the earlier page; the pages of a copy are never older than the first
   */
  async beginCopy(actor: Actor | null, after?: CursorPosition): Promise<{ reads: Reads; changes_cursor: string }> {
    const reads = this.changes.reads(actor, after);
    const { tx, at } = reads.horizon ?? this.notifications.horizon ?? (await this.changes.findEnd()).place;
    return { reads: { ...reads, since: tx }, changes_cursor: this.cursors.encode({ event_id: nilId, tx, at }) };
  }

  /**
   * Returns the next changes that the actor may see, or waits for one.
   * @throws page.cursor_invalid, change.cursor_expired, request.rate_limited
   */
  async list(actor: Actor, query: ChangeQuery, request: PageRequest): Promise<ChangePage> {
    const from = query.after === undefined ? null : this.cursors.decode(query.after);
    const work = async () => this.respond(actor, query, await this.read(actor, query.conditions, from, query.per_page));
    if (query.wait === 0) return this.admission.run(workOwnerOf(actor), work, request.gone);
    return this.waitPlaces.run(workOwnerOf(actor), () => this.listOrWait(actor, query, from, request));
  }

  private async listOrWait(
    actor: Actor,
    query: ChangeQuery,
    from: Place | null,
    { reauthorize, gone }: PageRequest,
  ): Promise<ChangePage> {
    const owner = workOwnerOf(actor);
    const readNow = (by: Actor) =>
      this.admission.run(owner, () => this.read(by, query.conditions, from, query.per_page), gone, patienceMs);
    /** Authorizes the request as the last step: the rights may be revoked until then (C1). */
    const finish = async (by: Actor, page: FeedPage, wasRead: boolean): Promise<ChangePage> => {
      const hasValues = query.values && page.changes.length > 0;
      const response = () => this.respond(by, query, page);
      const answer = await (hasValues ? this.admission.run(owner, response, gone, patienceMs) : this.toPage(page));
      if (hasValues || wasRead) await this.notifications.caughtUp();
      const current = await reauthorize();
      if (query.values) assertHolds(current, 'user:read');
      return isDeepStrictEqual(scopeOf(current), scopeOf(by)) ? answer : finish(current, await readNow(current), true);
    };
    let place = from;
    if (place === null || !this.waits.remembers(place)) {
      const page = await readNow(actor);
      if (page.changes.length > 0 || page.isEnd !== true) return finish(actor, page, true);
      place = page.place;
    }
    const wait = { matches: changeMatcher(actor, query.conditions), place, per_page: query.per_page };
    const page = await this.waits.next(wait, query.wait, gone);
    if (page === null) return finish(actor, await readNow(actor), true);
    if (page.changes.length === 0 && (gone.aborted || this.waits.stopped)) return this.toPage(page);
    return finish(actor, page, false);
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
  async read(
    actor: Actor,
    conditions: Condition[],
    from: Place | null,
    per_page: number,
  ): Promise<FeedPage & { isEnd?: boolean }> {
    await this.notifications.assertLease();
    const end = await this.changes.findEnd();
    const after = from ?? (await this.changes.findStart(end.place, null));
    // The cursor is from another server, or from an old primary with changes that are lost.
    if (isBefore(end.place, after)) throw new AppError('change.cursor_expired');
    const isNarrow = conditions.length > 0 || actor.user_type !== 'system' || actor.carrier_scope !== null;
    const stop = isNarrow ? await this.changes.findStop({ after, until: end.place }) : null;
    const part = { after, until: stop ?? end.place, limit: per_page + 1 };
    const changes = await this.changes.list(actor, conditions, part);
    const last = changes[per_page - 1];
    if (changes.length > per_page && last !== undefined)
      return { changes: changes.slice(0, per_page), ...endOfPage(placeOf(last)) };
    if (stop !== null) return { changes, ...endOfPage(stop) };
    return { changes, place: end.place, behind_seconds: end.held_seconds, isEnd: true };
  }

  private async respond(actor: Actor, { values }: ChangeQuery, page: FeedPage): Promise<ChangePage> {
    return this.toPage(page, await this.describe(actor, page.changes, values));
  }

  private toPage(
    { changes, place, behind_seconds }: FeedPage,
    items = changes.map((change) => toChangeResponse(change)),
  ): ChangePage {
    return { items, next_cursor: this.cursors.encode(place), behind_seconds: Math.ceil(behind_seconds) };
  }
}

/** Returns the scope of an actor, without the identity. */
function scopeOf({ user_type, carrier_id, carrier_scope }: Scope): Omit<Scope, 'actor_type' | 'user_id'> {
  return { user_type, carrier_id, carrier_scope };
}
