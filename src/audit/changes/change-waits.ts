import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { systemActor } from '../../access/actor';
import { currentTime, monotonicMs } from '../../platform/clock';
import { Notifications } from '../../platform/database/notifications.service';
import { isBefore, nilId, type Place } from './change-cursors';
import type { ChangeMatcher } from './change-matcher';
import { type ChangeRecord, placeOf } from './changes.dto';
import { ChangesRepository } from './changes.repository';

/** A page of the feed. */
export interface FeedPage {
  changes: ChangeRecord[];
  /** the place up to which the reader has now seen all changes */
  place: Place;
  /** age in seconds of the oldest change after `place` */
  behind_seconds: number;
}

/** A request that waits for a change. */
export interface Wait {
  matches: ChangeMatcher;
  /** the place up to which no change matches */
  place: Place;
  per_page: number;
}

/** The last part of the feed: all changes after `since` and up to `place`. */
interface RecentChanges extends FeedPage {
  since: Place;
  /** when it was read, by `monotonicMs` */
  readAt: number;
}

/** Interval at which the horizon is polled. A poll takes 0.2 ms. */
const lookEveryMs = 10;
/** Age at which `behind_seconds` is read again even if the horizon did not move. */
const readEveryMs = 250;
const afterErrorMs = 1_000;
/** Age from which the memory does not tell that nothing has changed: the reads fail. */
const currentForMs = 1_000;
/** Changes per read, and per response after a wait. */
const batchMax = 100;
/** Changes in memory, about 0.5 kB each. */
const recentMax = 1_000;
/** Requests that are compared with changes, and woken, in one turn of the event loop. */
const waitsPerTurn = 25;
/** Time for which changes stay in memory after the last wait, for the next requests of callers. */
const idleMs = 5_000;

/**
 * Lets requests wait for changes without a database connection.
 * While requests wait, the instance polls the horizon on its listening connection. When the horizon
 * has moved, the instance reads the next changes once for all requests. Events therefore need no
 * notification, and the end of a transaction that held changes back also wakes requests. Before it
 * wakes a request, the instance waits for all revocations that were committed before the changes.
 */
@Injectable()
export class ChangeWaits implements OnModuleDestroy {
  private readonly logger = new Logger(ChangeWaits.name);
  private readonly waits = new Map<Wait, (page: FeedPage | null) => void>();
  private recent: RecentChanges | null = null;
  private idleAt = 0;
  /** whether the service is stopping */
  stopped = false;

  constructor(
    private readonly changes: ChangesRepository,
    private readonly notifications: Notifications,
  ) {}

  /** Ends all waits, so that the service can stop. */
  onModuleDestroy(): void {
    this.stopped = true;
    for (const [wait, end] of [...this.waits]) end(this.pageFor(wait));
  }

  /** Returns the number of waiting requests. */
  count(): number {
    return this.waits.size;
  }

  /** Returns whether all changes after a place are in memory. */
  remembers(place: Place): boolean {
    const recent = this.current();
    return recent !== null && !isBefore(place, recent.since) && !isBefore(recent.place, place);
  }

  /**
   * Returns the next changes after the place of `wait`, and waits for the first one. Returns an
   * empty page when the time has passed, and null if the feed must be read instead.
   */
  async next(wait: Wait, seconds: number, gone: AbortSignal): Promise<FeedPage | null> {
    this.idleAt = monotonicMs() + idleMs;
    if (this.recent === null && !this.stopped) void this.followFrom(wait.place);
    const page = this.pageFor(wait);
    if (page?.changes.length !== 0 || this.stopped || gone.aborted) return page;
    return new Promise((resolve) => {
      const end = (found: FeedPage | null) => {
        clearTimeout(timer);
        gone.removeEventListener('abort', giveUp);
        this.waits.delete(wait);
        this.idleAt = monotonicMs() + idleMs;
        resolve(found);
      };
      const giveUp = () => end(this.pageFor(wait));
      const timer = setTimeout(giveUp, seconds * 1_000).unref();
      gone.addEventListener('abort', giveUp);
      this.waits.set(wait, end);
    });
  }

  /** Returns the changes in memory, or null if the feed could not be read for a second. */
  private current(): RecentChanges | null {
    return this.recent !== null && monotonicMs() < this.recent.readAt + currentForMs ? this.recent : null;
  }

  /** Returns the next changes from memory, or null if it begins after the place or is old. */
  private pageFor({ matches, place, per_page }: Wait): FeedPage | null {
    const recent = this.current();
    if (recent === null || isBefore(place, recent.since)) return null;
    const max = Math.min(per_page, batchMax);
    const first = recent.changes.findLastIndex((change) => !isBefore(place, placeOf(change))) + 1;
    const changes: ChangeRecord[] = [];
    for (const change of recent.changes.slice(first)) {
      const last = changes[max - 1];
      if (!matches(change)) continue;
      if (last !== undefined) return { changes, ...endOfPage(placeOf(last)) };
      changes.push(change);
    }
    const end = isBefore(place, recent.place) ? recent.place : place;
    const { behind_seconds, readAt } = recent;
    const sinceRead = behind_seconds > 0 ? (monotonicMs() - readAt) / 1_000 : 0;
    return { changes, place: end, behind_seconds: behind_seconds + sinceRead };
  }

  /** Follows the feed while requests wait. Never throws. */
  private async followFrom(place: Place): Promise<void> {
    const recent = { since: place, place, changes: [], behind_seconds: 0, readAt: monotonicMs() };
    this.recent = recent;
    while (!this.stopped && (this.waits.size > 0 || monotonicMs() < this.idleAt)) {
      const pauseMs = await this.readNext(recent).catch((error: unknown) => {
        this.logger.warn(`could not read the next changes: ${(error as Error).message}`);
        return afterErrorMs;
      });
      if (pauseMs > 0) await delay(pauseMs, undefined, { ref: false });
    }
    this.recent = null;
  }

  /** Reads the next changes, and wakes the requests that match. Returns the next pause. */
  private async readNext(recent: RecentChanges): Promise<number> {
    const horizon = await this.notifications.nextHorizon();
    if (horizon === null) return lookEveryMs;
    const hasMoved = isBefore(recent.place, { ...horizon, event_id: nilId });
    if (!hasMoved && monotonicMs() < recent.readAt + readEveryMs) return lookEveryMs;
    const end = await this.changes.findEnd();
    const part = { after: recent.place, until: end.place, limit: batchMax };
    const changes = await this.changes.list(systemActor, [], part);
    // Revocations that were committed before these changes must have arrived (C1).
    await this.notifications.caughtUp();
    const last = changes[batchMax - 1];
    if (last !== undefined) Object.assign(recent, endOfPage(placeOf(last)));
    else Object.assign(recent, { place: end.place, behind_seconds: end.held_seconds });
    recent.readAt = monotonicMs();
    recent.changes.push(...changes);
    const removed = recent.changes.splice(0, recent.changes.length - recentMax).at(-1);
    if (removed !== undefined) recent.since = placeOf(removed);
    await this.wakeMatching();
    return last === undefined ? lookEveryMs : 0;
  }

  /** Lets the event loop turn between groups of requests, so that a burst blocks nothing. */
  private async wakeMatching(): Promise<void> {
    for (const [index, [wait, end]] of [...this.waits].entries()) {
      if (index % waitsPerTurn === waitsPerTurn - 1) await turn();
      const page = this.pageFor(wait);
      if (page?.changes.length === 0) wait.place = page.place;
      else end(page);
    }
  }
}

/** Returns the end of a page that further changes follow. */
export function endOfPage(place: Place): Omit<FeedPage, 'changes'> {
  return { place, behind_seconds: Math.max(0, (currentTime().getTime() - place.at.getTime()) / 1_000) };
}
