import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { Admission, workOwnerOf } from '../../access/admission';
import { assertHolds } from '../../access/permissions';
import type { Scope } from '../../access/scope';
import { AppError } from '../../http/errors/app-error';
import { type Horizon, Notifications } from '../../platform/database/notifications.service';
import { MetricsService } from '../../platform/metrics/metrics.service';
import type { Answered } from '../../platform/times';
import { ChangeCursors, isBefore, nilId, type Place } from './change-cursors';
import { changeMatcher } from './change-matcher';
import type { ChangeQuery } from './change-query';
import { ChangeWaits, endOfPage, type FeedPage, placeOf } from './change-waits';
import { type ChangeListResponse, type ChangeResponse, toChangeResponse } from './changes.dto';
import { behindSeconds } from './changes.metrics';
import { ChangesRepository } from './changes.repository';

/** Returns users within the scope of an actor as changes show them, by id. */
export type ReadUsers = (actor: Actor, user_ids: string[]) => Promise<Map<string, object>>;

/** A page of changes as it is sent. */
export type ChangePage = Omit<ChangeListResponse, 'items'> & { items: Answered<ChangeResponse>[] };

/** The request for a page. */
export interface PageRequest {
  /** authorises the request again */
  reauthorize: () => Promise<Actor>;
  /** ends the wait */
  gone: AbortSignal;
}

/** Longest time that a request with `wait` queues for a connection. */
const patienceMs = 10_000;

/** The change feed: events of the audit log without gaps, in the order of their transactions. */
@Injectable()
export class ChangesService {
  private encoded: { horizon: Horizon; cursor: string } | null = null;
  private readUsers: ReadUsers = () => Promise.resolve(new Map<string, object>());
  /** reads of users that have not finished, by scope and ids */
  private readonly userReads = new Map<string, Promise<Map<string, object>>>();

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
   * Returns the next changes that the actor may see, or waits for one.
   * @throws page.cursor_invalid, change.cursor_expired, request.rate_limited
   */
  async list(actor: Actor, query: ChangeQuery, request: PageRequest): Promise<ChangePage> {
    const from = query.after === undefined ? null : this.cursors.decode(query.after);
    if (query.wait > 0) return this.waits.admit(actor, () => this.listOrWait(actor, query, from, request));
    const work = async () => this.respond(actor, query, await this.read(actor, query, from));
    return this.admission.run(workOwnerOf(actor), work, request.gone);
  }

  private async listOrWait(
    actor: Actor,
    query: ChangeQuery,
    from: Place | null,
    { reauthorize, gone }: PageRequest,
  ): Promise<ChangePage> {
    // The number of these requests is limited, so their queue is not.
    const admit = <Result>(work: () => Promise<Result>) =>
      this.admission.run(workOwnerOf(actor), work, gone, patienceMs);
    const finish = async (found: FeedPage | null) => {
      const current = await reauthorize();
      const page = isDeepStrictEqual(scopeOf(current), scopeOf(actor)) ? found : null;
      if (page !== null && (!query.values || page.changes.length === 0)) return this.toPage(page);
      return admit(async () => this.respond(current, query, page ?? (await this.read(current, query, from))));
    };
    let place = from;
    if (place === null || !this.waits.follows(place)) {
      const page = await admit(() => this.read(actor, query, from));
      // Revocations before the changes of the page must have arrived (C1).
      if (page.changes.length > 0 || page.isEnd !== true) return this.notifications.caughtUp().then(() => finish(page));
      place = page.place;
    } else await this.assertReached(place);
    const wait = { matches: changeMatcher(actor, query.conditions), place, per_page: query.per_page };
    await this.waits.wait(wait, query.wait, gone);
    if (gone.aborted || this.waits.isStopping) return this.toPage({ changes: [], place, behind_seconds: 0 });
    return finish(this.waits.pageAfter(wait));
  }

  /** The cursor of another server, or of an old primary, can be after the end of the feed. */
  private async assertReached(place: Place): Promise<void> {
    const horizon = await this.notifications.nextHorizon();
    if (horizon !== null && isBefore({ ...horizon, event_id: nilId }, place))
      throw new AppError('change.cursor_expired');
  }

  private async read(
    actor: Actor,
    { conditions, per_page }: ChangeQuery,
    from: Place | null,
  ): Promise<FeedPage & { isEnd?: boolean }> {
    await this.notifications.assertLease();
    const end = await this.changes.findEnd();
    const after = from ?? (await this.changes.findStart(end.place));
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
    if (!values) return this.toPage(page);
    assertHolds(actor, 'user:read');
    const user_ids = page.changes.filter(({ target_type }) => target_type === 'user').map(({ target_id }) => target_id);
    return this.toPage(page, await this.usersOnce(actor, [...new Set(user_ids)]));
  }

  /** Reads users once for all callers with the same scope who ask at the same time. */
  private usersOnce(actor: Actor, user_ids: string[]): Promise<Map<string, object>> {
    const key = JSON.stringify([scopeOf(actor), user_ids]);
    const running = this.userReads.get(key);
    if (running !== undefined) return running;
    const read = this.readUsers(actor, user_ids).finally(() => this.userReads.delete(key));
    this.userReads.set(key, read);
    return read;
  }

  private toPage({ changes, place, behind_seconds }: FeedPage, users?: Map<string, object>): ChangePage {
    return {
      items: changes.map((change) => toChangeResponse(change, users?.get(change.target_id))),
      next_cursor: this.cursors.encode(place),
      behind_seconds: Math.ceil(behind_seconds),
    };
  }
}

/** Returns the scope of an actor, without the identity. */
function scopeOf({ user_type, carrier_id, carrier_scope }: Scope): Omit<Scope, 'actor_type' | 'user_id'> {
  return { user_type, carrier_id, carrier_scope };
}
