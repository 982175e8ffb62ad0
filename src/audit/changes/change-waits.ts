import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { type Actor, systemActor } from '../../access/actor';
import { holdersOf, workOwnerOf } from '../../access/admission';
import type { AppError } from '../../http/errors/app-error';
import { limitReached } from '../../http/errors/limit-reached';
import { currentTime, monotonicMs } from '../../platform/clock';
import { Notifications } from '../../platform/database/notifications.service';
import { shareOf } from '../../platform/instance';
import { SharedRuns } from '../../platform/shared-runs';
import { isBefore, nilId, type Place } from './change-cursors';
import type { ChangeMatcher } from './change-matcher';
import type { ChangeRecord } from './changes.dto';
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

/** The last part of the feed: all changes after `since` and not after `until`. */
interface RecentChanges {
  since: Place;
  until: Place;
  changes: ChangeRecord[];
  /** age in seconds of the oldest change after `until`, and when it was read, by `monotonicMs` */
  behind_seconds: number;
  readAt: number;
}

/** Waiting requests of an instance: a user with their keys, or a carrier, may have a sixth. */
const waitsMax = shareOf(6_000);
const waitsPerActorMax = Math.ceil(waitsMax / 12);
const waitsPerGroupMax = Math.ceil(waitsMax / 6);
const retryAfterSeconds = 5;
/** Pause between two looks at the feed. A look takes 0.2 ms. */
const lookEveryMs = 10;
const afterErrorMs = 1_000;
/** Changes per read, and per response after a wait. */
const batchMax = 100;
/** Changes in memory, about 0.5 kB each. */
const recentMax = 1_000;
/** Requests that are compared with changes, and woken, in one turn of the event loop. */
const waitsPerTurn = 25;
/** Time for which the changes stay in memory after the last wait: callers ask again. */
const idleMs = 5_000;
/** Time for which `behind_seconds` of the memory is used. */
const ageValidMs = 100;
/** Maximum age of a place at which this instance begins to follow the feed. */
const startAgeMaxMs = 60_000;

/**
 * Lets requests wait for changes without a database connection.
 * While requests wait, the instance follows the feed. It asks for the horizon on the listening
 * connection, and reads the next changes once for all requests when the horizon moves. Events need
 * no notification, and the end of a transaction that held changes back is seen too. Revocations
 * that were committed before a change arrive before its horizon.
 */
@Injectable()
export class ChangeWaits implements OnModuleDestroy {
  private readonly logger = new Logger(ChangeWaits.name);
  private readonly waits = new Map<Wait, () => void>();
  /** number of waiting requests of each actor, user and carrier */
  private readonly held = new Map<string, number>();
  private recent: RecentChanges | null = null;
  private idleAt = 0;
  private stopped = false;
  private readonly ages = new SharedRuns(() => this.readAge());

  constructor(
    private readonly changes: ChangesRepository,
    private readonly notifications: Notifications,
  ) {}

  /** Ends all waits, so that the service can stop. */
  onModuleDestroy(): void {
    this.stopped = true;
    for (const end of this.waits.values()) end();
  }

  /** Whether the service stops. */
  get isStopping(): boolean {
    return this.stopped;
  }

  /** Returns the number of waiting requests. */
  count(): number {
    return this.waits.size;
  }

  /** Runs a request that may wait. @throws request.rate_limited if too many requests wait */
  admit<Result>(actor: Actor, request: () => Promise<Result>): Promise<Result> {
    const [own, ...groups] = holdersOf(workOwnerOf(actor));
    const maxima = new Map([
      ['all', waitsMax],
      [own, waitsPerActorMax],
      ...groups.map((group) => [group, waitsPerGroupMax] as const),
    ]);
    for (const [holder, max] of maxima) if ((this.held.get(holder) ?? 0) >= max) throw tooMany(max);
    const hold = (change: 1 | -1) => {
      for (const holder of maxima.keys()) {
        const count = (this.held.get(holder) ?? 0) + change;
        if (count === 0) this.held.delete(holder);
        else this.held.set(holder, count);
      }
    };
    hold(1);
    return request().finally(() => hold(-1));
  }

  /** Returns whether all changes after a place are in memory, or will be. */
  follows(place: Place): boolean {
    if (this.recent !== null) return !isBefore(place, this.recent.since);
    return place.at.getTime() > currentTime().getTime() - startAgeMaxMs;
  }

  /** Waits until a change after the place of `wait` matches, or until the time is over. */
  async wait(wait: Wait, seconds: number, gone: AbortSignal): Promise<void> {
    this.start(wait.place);
    const isEmpty = this.pageAfter(wait)?.changes.length === 0;
    if (isEmpty && !this.stopped && !gone.aborted) await this.nextMatch(wait, seconds, gone);
    const { recent } = this;
    if (recent !== null && recent.readAt + ageValidMs < monotonicMs()) await this.ages.run();
  }

  private nextMatch(wait: Wait, seconds: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        gone.removeEventListener('abort', end);
        this.waits.delete(wait);
        this.idleAt = monotonicMs() + idleMs;
        resolve();
      };
      const timer = setTimeout(end, seconds * 1_000).unref();
      gone.addEventListener('abort', end);
      this.waits.set(wait, end);
    });
  }

  /** Returns the next changes from memory, or null if the memory begins after the place. */
  pageAfter({ matches, place, per_page }: Wait): FeedPage | null {
    const { recent } = this;
    if (recent === null || isBefore(place, recent.since)) return null;
    const first = recent.changes.findLastIndex((change) => !isBefore(place, placeOf(change))) + 1;
    const max = Math.min(per_page, batchMax);
    const changes: ChangeRecord[] = [];
    for (const change of recent.changes.slice(first)) {
      const last = changes[max - 1];
      if (!matches(change)) continue;
      if (last !== undefined) return { changes, ...endOfPage(placeOf(last)) };
      changes.push(change);
    }
    const { until, behind_seconds } = recent;
    return { changes, place: isBefore(place, until) ? until : place, behind_seconds };
  }

  private start(place: Place): void {
    if (this.recent !== null || this.stopped) return;
    this.recent = { since: place, until: place, changes: [], behind_seconds: 0, readAt: 0 };
    this.idleAt = monotonicMs() + idleMs;
    void this.follow(this.recent);
  }

  /** Follows the feed while requests wait. Never throws. */
  private async follow(recent: RecentChanges): Promise<void> {
    while (!this.stopped && (this.waits.size > 0 || monotonicMs() < this.idleAt)) {
      let pauseMs = lookEveryMs;
      try {
        if (await this.readNext(recent)) pauseMs = 0;
      } catch (error) {
        this.logger.warn(`could not read the next changes: ${(error as Error).message}`);
        pauseMs = afterErrorMs;
      }
      if (pauseMs > 0) await delay(pauseMs, undefined, { ref: false });
    }
    if (!this.stopped) this.recent = null;
  }

  /** Reads the next changes, and wakes the requests that match. Returns whether more follow. */
  private async readNext(recent: RecentChanges): Promise<boolean> {
    const horizon = await this.notifications.nextHorizon();
    const { until: after } = recent;
    if (horizon === null) return false;
    const end = { ...horizon, event_id: nilId };
    if (!isBefore(after, end)) return false;
    const changes = await this.changes.list(systemActor, [], { after, until: end, limit: batchMax });
    const last = changes[batchMax - 1];
    const reached =
      last === undefined
        ? { place: end, behind_seconds: await this.changes.findHeldSeconds(end) }
        : endOfPage(placeOf(last));
    recent.until = reached.place;
    recent.behind_seconds = reached.behind_seconds;
    recent.readAt = monotonicMs();
    recent.changes.push(...changes);
    const removed = recent.changes.splice(0, recent.changes.length - recentMax).at(-1);
    if (removed !== undefined) recent.since = placeOf(removed);
    await this.wakeMatching(changes, after, recent.until);
    return last !== undefined;
  }

  /** Lets the event loop turn between groups of requests, so that a burst blocks nothing. */
  private async wakeMatching(changes: ChangeRecord[], after: Place, until: Place): Promise<void> {
    for (const [index, [wait, end]] of [...this.waits].entries()) {
      if (index % waitsPerTurn === waitsPerTurn - 1) await turn();
      const { matches, place } = wait;
      const isAhead = isBefore(after, place);
      if (changes.some((change) => (!isAhead || isBefore(place, placeOf(change))) && matches(change))) end();
      else if (isBefore(place, until)) wait.place = until;
    }
  }

  private async readAge(): Promise<void> {
    const { recent } = this;
    if (recent === null) return;
    const { until } = recent;
    const seconds = await this.changes.findHeldSeconds(until).catch(() => null);
    // A place and the age of the next change belong together.
    if (seconds === null || recent.until !== until) return;
    recent.behind_seconds = seconds;
    recent.readAt = monotonicMs();
  }
}

function tooMany(max: number): AppError {
  const detail = 'Too many requests wait for changes at the same time. Wait until one ends, or omit `wait`.';
  return limitReached({ name: 'change-waits', max, detail }, retryAfterSeconds);
}

/** Returns the place of a change. */
export function placeOf({ tx, change_id, occurred_at }: ChangeRecord): Place {
  return { tx, event_id: change_id, at: new Date(occurred_at) };
}

/** Returns the end of a page that further changes follow. */
export function endOfPage(place: Place): Omit<FeedPage, 'changes'> {
  return { place, behind_seconds: Math.max(0, (currentTime().getTime() - place.at.getTime()) / 1_000) };
}
