import { LRUCache } from 'lru-cache';
import { monotonicMs } from '../common/clock';
import type { AppError } from '../common/errors/app-error';
import { limitReached } from '../common/errors/limit-reached';
import { type Actor, identityOf, selfOf } from './actor';

/** The identities whose shares limit long work. */
export interface WorkOwner {
  /** the acting user or API key */
  actor: string;
  /** the acting user, or the creator of the API key */
  user: string | null;
  /** the carrier of a Carrier User, or of an API key of a carrier */
  carrier: string | null;
}

/** Returns the owner of an actor's work. */
export function workOwnerOf(actor: Actor): WorkOwner {
  return { actor: identityOf(actor), user: selfOf(actor), carrier: actor.carrier_id };
}

/** Limits of an `Admission`. */
export interface AdmissionLimits {
  /** places: long work that runs at the same time, on one database connection each */
  placesMax: number;
  /** requests of one actor that wait for a place */
  waitingPerActorMax: number;
  /** milliseconds that a request waits for a place */
  patienceMs: number;
  /** maximum average milliseconds of short work */
  shortMs: number;
}

/** Work that waits for a place. */
interface Waiting {
  owner: WorkOwner;
  admit: () => void;
}

const retryAfterSeconds = 5;
const tooMuchWork =
  'Too many lists, bulk changes or imports at the same time. Send the next one when an earlier one is done.';
/** Weight of the latest work in the average duration. One outlier changes little. */
const latestWeight = 0.1;

/**
 * Admits long work to the database connections, so that no caller takes them from the others.
 * An actor has at most half of the places. The users of a carrier together, and a user together
 * with their API keys, have at most three quarters. Waiting work gets places in turn by actor.
 * An actor who is alone and whose work is short borrows all places but one, which the next actor
 * gets.
 * Take a place before a transaction, and never inside another place: the inner work would wait for
 * the outer work. Work with a place uses one connection at a time.
 */
export class Admission {
  /** number of taken places */
  private taken = 0;
  /** number of places that each actor, user and carrier holds */
  private readonly held = new Map<string, number>();
  /** waiting work by actor; the actor who got a place last comes last */
  private readonly queues = new Map<string, Waiting[]>();
  /** average milliseconds of the recent work of each actor */
  private readonly averages = new LRUCache<string, number>({ max: 1_000 });

  constructor(private readonly limits: AdmissionLimits) {}

  /** Returns how much work waits for a place. */
  get waiting(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /**
   * Runs the work of a request as soon as a place is free.
   * @param gone ends the wait, for example because the client disconnected; never ends the work
   * @throws request.rate_limited if too many requests of the actor wait, or if no place becomes
   * free in time
   */
  async run<Result>(owner: WorkOwner, work: () => Promise<Result>, gone?: AbortSignal): Promise<Result> {
    const waiting = this.queues.get(owner.actor)?.length ?? 0;
    if (gone?.aborted === true || waiting >= this.limits.waitingPerActorMax) throw this.tooMany();
    return this.runAdmitted(owner, work, gone, this.limits.patienceMs);
  }

  /** Runs work without a client, such as a batch of an operation. It waits without limit. */
  runInBackground<Result>(owner: WorkOwner, work: () => Promise<Result>): Promise<Result> {
    return this.runAdmitted(owner, work);
  }

  private async runAdmitted<Result>(
    owner: WorkOwner,
    work: () => Promise<Result>,
    ...limits: [gone?: AbortSignal, patienceMs?: number]
  ): Promise<Result> {
    if (this.hasPlaceFor(owner)) this.hold(owner, 1);
    else await this.wait(owner, ...limits);
    const since = monotonicMs();
    try {
      return await work();
    } finally {
      this.judge(owner, monotonicMs() - since);
      this.hold(owner, -1);
      this.admitNext();
    }
  }

  private wait(owner: WorkOwner, gone?: AbortSignal, patienceMs?: number): Promise<void> {
    const queue = this.queues.get(owner.actor) ?? [];
    this.queues.set(owner.actor, queue);
    return new Promise((resolve, reject) => {
      const endWait = () => {
        clearTimeout(late);
        gone?.removeEventListener('abort', giveUp);
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.queues.delete(owner.actor);
      };
      const giveUp = () => {
        endWait();
        reject(this.tooMany());
      };
      const admit = () => {
        endWait();
        resolve();
      };
      const waiting = { owner, admit };
      const late = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs).unref();
      gone?.addEventListener('abort', giveUp);
      queue.push(waiting);
    });
  }

  private admitNext(): void {
    // An actor who gets a place moves to the end, where this loop reaches the actor again.
    for (const [actor, queue] of this.queues) {
      const [next] = queue;
      if (next === undefined || !this.hasPlaceFor(next.owner)) continue;
      this.queues.delete(actor);
      if (queue.length > 1) this.queues.set(actor, queue);
      // Holds the place before the work continues, because `admit` takes effect later.
      this.hold(next.owner, 1);
      next.admit();
    }
  }

  private hasPlaceFor(owner: WorkOwner): boolean {
    const { placesMax } = this.limits;
    const shares = sharesOf(owner);
    if (this.taken >= placesMax) return false;
    if (shares.every(([holder, part]) => this.heldBy(holder) < share(placesMax, part))) return true;
    const holdsAll = shares.every(([holder]) => this.heldBy(holder) === this.taken);
    const isAlone = holdsAll && [...this.queues.keys()].every((actor) => actor === owner.actor);
    return isAlone && this.taken < placesMax - 1 && (this.averages.get(owner.actor) ?? Infinity) <= this.limits.shortMs;
  }

  private judge({ actor }: WorkOwner, ms: number): void {
    const average = this.averages.get(actor) ?? ms;
    this.averages.set(actor, average + (ms - average) * latestWeight);
  }

  private hold(owner: WorkOwner, change: 1 | -1): void {
    this.taken += change;
    for (const [holder] of sharesOf(owner)) {
      const places = this.heldBy(holder) + change;
      if (places === 0) this.held.delete(holder);
      else this.held.set(holder, places);
    }
  }

  private heldBy(holder: string): number {
    return this.held.get(holder) ?? 0;
  }

  private tooMany(): AppError {
    const max = share(this.limits.placesMax, 1 / 2);
    return limitReached({ name: 'long-work', max, detail: tooMuchWork }, retryAfterSeconds);
  }
}

/** Returns the holders of a place for work, each with its part of the places. */
function sharesOf({ actor, user, carrier }: WorkOwner): [holder: string, part: number][] {
  const groups = [user === null ? null : `user ${user}`, carrier === null ? null : `carrier ${carrier}`];
  return [
    [`actor ${actor}`, 1 / 2],
    ...groups.flatMap((group): [string, number][] => (group === null ? [] : [[group, 3 / 4]])),
  ];
}

function share(places: number, part: number): number {
  return Math.max(1, Math.floor(places * part));
}
