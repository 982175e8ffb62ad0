import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Actor, selfOf, systemActor } from '../../access/actor';
import { mayReach } from '../../access/scope';
import type { AppError } from '../../http/errors/app-error';
import { limitReached } from '../../http/errors/limit-reached';
import type { Condition } from '../../http/lists/filter';
import { monotonicMs } from '../../platform/clock';
import { Notifications } from '../../platform/database/notifications.service';
import { isBefore, type Place } from './change-cursors';
import { ChangesRepository } from './changes.repository';
import type { ChangeRecord } from './changes.dto';

/** A request that waits for a change. */
export interface ChangeWait {
  actor: Actor;
  conditions: Condition[];
  per_page: number;
  /** the place up to which the caller has seen all changes */
  place: Place;
}

/** The end of a wait. */
export interface WaitResult {
  /** none if the wait ended without a change */
  changes: ChangeRecord[];
  /** the place up to which the caller has now seen all changes */
  place: Place;
  /** age of the oldest change that the caller has not seen */
  behind_seconds: number;
}

interface Waiting extends ChangeWait {
  end: (result: WaitResult) => void;
  fail: (error: Error) => void;
}

/** The last part of the feed, in memory. */
interface Recent {
  /** the part has all changes after this place */
  since: Place;
  /** and until this place */
  until: Place;
  records: ChangeRecord[];
  held_seconds: number;
}

const waitsMax = 5_000;
const waitsPerUserMax = 1_000;
/** Changes per read, and in memory: about 1 kB each. */
const recentMax = 1_000;
/** Time for which the reader continues after the last wait: callers ask again after each change. */
const idleMs = 5_000;
/** Pause between reads while a transaction holds changes back, and its part of their age. */
const heldPauseMs = 5;
const heldPausePart = 0.05;
/** Longest pause: in case that a notification is lost. */
const pauseMaxMs = 1_000;

/**
 * Lets requests wait for changes without a database connection. While requests wait, one reader
 * follows the feed: after each notification, and at short intervals while a transaction holds
 * changes back. It compares each change with the waiting requests in memory, and keeps the last
 * changes for callers who ask again.
 * A wait ends as soon as the rights of its caller may have changed. The next request of the caller
 * passes the guard again (C1).
 */
@Injectable()
export class ChangeWaits implements OnModuleDestroy {
  private readonly waits = new Set<Waiting>();
  /** the waits of each user and the user's API keys */
  private readonly byUser = new Map<string, Set<Waiting>>();
  /** null while the reader does not run */
  private recent: Recent | null = null;
  private idleAt = 0;
  private wake: () => void = () => undefined;
  private isAwake = false;
  private stopped = false;

  constructor(
    private readonly changes: ChangesRepository,
    private readonly notifications: Notifications,
  ) {
    notifications.on('changes_added', () => this.wakeReader());
    notifications.on('user_changed', (user_id) => endAll(this.byUser.get(user_id) ?? []));
    notifications.on('roles_changed', () => endAll(this.waits));
    notifications.on('keys_changed', () => endAll(this.waits));
    notifications.onGap(() => this.stopReader());
  }

  /** Ends all waits, so that the service can stop. */
  onModuleDestroy(): void {
    this.stopped = true;
    this.stopReader();
  }

  /** Returns the number of waiting requests. */
  count(): number {
    return this.waits.size;
  }

  /** Starts the reader at a place near the end of the feed, unless it runs. */
  startAt(place: Place): void {
    if (this.recent !== null || this.stopped) return;
    this.recent = { since: place, until: place, records: [], held_seconds: 0 };
    void this.follow(this.recent);
  }

  /**
   * Waits for a change after a place. Returns null if the caller must read the feed, because the
   * reader does not run or began after the place.
   * @param signal ends the wait
   * @throws request.rate_limited if too many requests of the user wait
   */
  async wait(wait: ChangeWait, signal: AbortSignal): Promise<WaitResult | null> {
    if (this.stopped || signal.aborted) return endOf(wait);
    if (this.recent === null || isBefore(wait.place, this.recent.since)) return null;
    const user = selfOf(wait.actor);
    const own = this.byUser.get(user) ?? new Set();
    if (own.size >= waitsPerUserMax || this.waits.size >= waitsMax) throw tooMany();
    const { recent } = this;
    return new Promise((resolve, reject) => {
      const settle = (settled: () => void) => {
        signal.removeEventListener('abort', giveUp);
        this.waits.delete(waiting);
        own.delete(waiting);
        if (own.size === 0) this.byUser.delete(user);
        this.idleAt = monotonicMs() + idleMs;
        settled();
      };
      const end = (result: WaitResult) => settle(() => resolve(result));
      const waiting: Waiting = { ...wait, end, fail: (error) => settle(() => reject(error)) };
      const giveUp = () => end(endOf(waiting));
      signal.addEventListener('abort', giveUp);
      this.waits.add(waiting);
      this.byUser.set(user, own.add(waiting));
      compare(waiting, recent.since, recent.records, recent);
    });
  }

  /** Follows the feed while requests wait. Never throws. */
  private async follow(recent: Recent): Promise<void> {
    this.idleAt = monotonicMs() + idleMs;
    while (this.recent === recent && (this.waits.size > 0 || monotonicMs() < this.idleAt)) {
      this.isAwake = false;
      try {
        await this.pause(await this.readNext(recent));
      } catch (error) {
        if (this.recent === recent) this.stopReader(error as Error);
      }
    }
    if (this.recent === recent) this.recent = null;
  }

  /** Compares the next changes with the waiting requests. Returns the pause in milliseconds. */
  private async readNext(recent: Recent): Promise<number> {
    const after = recent.until;
    await this.notifications.assertLease();
    const end = await this.changes.findEnd();
    const part = { after, until: end.place, limit: recentMax, values: true };
    const records = isBefore(after, end.place) ? await this.changes.list(systemActor, [], part) : [];
    if (this.recent !== recent) return 0;
    const last = records.at(-1);
    const isFull = records.length === recentMax && last !== undefined;
    recent.until = isFull ? placeOf(last) : later(after, end.place);
    recent.held_seconds = end.held_seconds;
    recent.records.push(...records);
    const removed = recent.records.splice(0, recent.records.length - recentMax).at(-1);
    if (removed !== undefined) recent.since = placeOf(removed);
    for (const waiting of [...this.waits]) compare(waiting, after, records, recent);
    if (isFull) return 0;
    const heldPause = Math.max(heldPauseMs, end.held_seconds * 1_000 * heldPausePart);
    return end.held_seconds > 0 ? Math.min(heldPause, pauseMaxMs) : pauseMaxMs;
  }

  private async pause(ms: number): Promise<void> {
    if (this.isAwake || ms === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private wakeReader(): void {
    this.isAwake = true;
    this.wake();
  }

  private stopReader(error?: Error): void {
    this.recent = null;
    if (error === undefined) endAll(this.waits);
    else for (const waiting of [...this.waits]) waiting.fail(error);
    this.wakeReader();
  }
}

/** Returns the place of a change. */
export function placeOf({ tx, change_id, occurred_at }: ChangeRecord): Place {
  return { tx, event_id: change_id, at: new Date(occurred_at) };
}

/**
 * Ends a wait if one of the next changes is for its caller.
 * @param after place before the first of `records`
 */
function compare(waiting: Waiting, after: Place, records: ChangeRecord[], { until, held_seconds }: Recent): void {
  const { actor, conditions, per_page } = waiting;
  const isAhead = isBefore(after, waiting.place);
  const changes: ChangeRecord[] = [];
  for (const record of records) {
    if (isAhead && !isBefore(waiting.place, placeOf(record))) continue;
    if (isVisible(actor, record) && matches(record, conditions)) changes.push(record);
    if (changes.length > per_page) break;
  }
  const last = changes.length > per_page ? changes[per_page - 1] : undefined;
  waiting.place = last === undefined ? later(waiting.place, until) : placeOf(last);
  if (changes.length === 0) return;
  waiting.end({ changes: changes.slice(0, per_page), place: waiting.place, behind_seconds: held_seconds });
}

function endOf({ place }: ChangeWait): WaitResult {
  return { changes: [], place, behind_seconds: 0 };
}

function endAll(waits: Iterable<Waiting>): void {
  for (const waiting of [...waits]) waiting.end(endOf(waiting));
}

function tooMany(): AppError {
  const detail = 'Too many requests wait for changes at the same time.';
  return limitReached({ name: 'change-waits', max: waitsPerUserMax, detail }, 5);
}

function later(one: Place, other: Place): Place {
  return isBefore(one, other) ? other : one;
}

/** Returns whether an actor sees a change, as `visibleChanges` renders it in SQL (C1). */
function isVisible(actor: Actor, { target_type, carrier_id }: ChangeRecord): boolean {
  if (actor.user_type === 'system' && actor.carrier_scope === null) return true;
  const isOfUser = target_type === 'user' || target_type === 'session';
  return isOfUser && carrier_id !== null && mayReach(actor, { user_type: 'carrier', carrier_id });
}

/** Returns whether a change matches all conditions of `changeFilter`. */
function matches(record: ChangeRecord, conditions: Condition[]): boolean {
  return conditions.every((condition) => {
    if (condition.kind !== 'field') return false;
    const own = record[condition.field as 'type' | 'target_type' | 'carrier_id'];
    return condition.operator === 'in' ? (condition.value as unknown[]).includes(own) : own === condition.value;
  });
}
