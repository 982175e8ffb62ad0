import type { AppError } from '../http/errors/app-error';
import { limitReached } from '../http/errors/limit-reached';
import { type Actor, identityOf, selfOf } from './actor';

/** The identities with a limited share of the places of an `Admission`. */
export interface WorkOwner {
  /** the acting user or API key */
  actor: string;
  /** the acting user, or the creator of the API key */
  user: string;
  /** the carrier of a Carrier User, or of an API key of a carrier */
  carrier: string | null;
}

/** Returns the owner of an actor's work. */
export function workOwnerOf(actor: Actor): WorkOwner {
  return { actor: identityOf(actor), user: selfOf(actor), carrier: actor.carrier_id };
}

/** Name of the `Admission` of requests that change one user, session, key or operation. */
export const singleWrites = Symbol('singleWrites');

/** Limits of an `Admission`. */
export interface AdmissionLimits {
  /** name in the rate-limit headers */
  name: string;
  /** name of the limited work in the 429 response */
  work: string;
  /** places: work that runs at the same time, on one database connection each */
  placesMax: number;
  /** largest shares of an actor, of an actor alone, and of a user with their keys or a carrier */
  shares?: { actor: number; alone: number; group: number };
  /** requests of one actor that wait for a place */
  waitingPerActorMax: number;
  /** milliseconds that a request waits for a place */
  patienceMs: number;
}

/** Work that waits for a place. */
interface Waiting {
  owner: WorkOwner;
  admit: () => void;
}

const retryAfterSeconds = 5;
const defaultShares = { actor: 1 / 2, alone: 3 / 4, group: 3 / 4 };

/**
 * Admits work to the database connections, so that no caller takes them from the others.
 * An actor has at most half of the places. The users of a carrier together, and a user together
 * with their API keys, have at most three quarters. While no other actor has or waits for a place,
 * an actor has up to three quarters too, so that a place is left for the next actor. Waiting work
 * gets places in turn by actor.
 * Take a place before a transaction, and never while holding another place: the inner work would
 * wait for the outer work. Work with a place uses one connection at a time.
 */
export class Admission {
  /** number of taken places */
  private taken = 0;
  /** number of places that each actor, user and carrier holds */
  private readonly held = new Map<string, number>();
  /** waiting work by actor; the actor who got a place last comes last */
  private readonly queues = new Map<string, Waiting[]>();

  constructor(readonly limits: AdmissionLimits) {}

  /** Returns how much work waits for a place. */
  get waiting(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /**
   * Runs work as soon as a place is free.
   * @param gone ends the wait, for example because the client disconnected; never ends the work
   * @param patienceMs milliseconds that background work waits; its queue is not limited
   * @throws request.rate_limited if too many requests of the actor wait, or if no place becomes
   * free in time
   */
  async run<Result>(
    owner: WorkOwner,
    work: () => Promise<Result>,
    gone?: AbortSignal,
    patienceMs?: number,
  ): Promise<Result> {
    const waiting = this.queues.get(owner.actor)?.length ?? 0;
    const isFull = patienceMs === undefined && waiting >= this.limits.waitingPerActorMax;
    if (gone?.aborted === true) throw this.tooMany();
    if (this.hasPlaceFor(owner)) this.hold(owner, 1);
    else if (isFull) throw this.tooMany();
    else await this.wait(owner, patienceMs ?? this.limits.patienceMs, gone);
    try {
      return await work();
    } finally {
      this.hold(owner, -1);
      this.admitNext();
    }
  }

  private wait(owner: WorkOwner, patienceMs: number, gone?: AbortSignal): Promise<void> {
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
      const late = setTimeout(giveUp, patienceMs).unref();
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
      // `admit` removes the queue if it is empty.
      this.queues.set(actor, queue);
      // Holds the place before the work continues, because `admit` takes effect later.
      this.hold(next.owner, 1);
      next.admit();
    }
  }

  private hasPlaceFor(owner: WorkOwner): boolean {
    const { placesMax, shares = defaultShares } = this.limits;
    if (this.taken >= placesMax) return false;
    const [own, ...groups] = holdersOf(owner);
    const isAlone = this.heldBy(own) === this.taken && [...this.queues.keys()].every((actor) => actor === owner.actor);
    const isFree = (holder: string, part: number) => this.heldBy(holder) < share(placesMax, part);
    return isFree(own, isAlone ? shares.alone : shares.actor) && groups.every((group) => isFree(group, shares.group));
  }

  private hold(owner: WorkOwner, change: 1 | -1): void {
    this.taken += change;
    for (const holder of holdersOf(owner)) {
      const places = this.heldBy(holder) + change;
      if (places === 0) this.held.delete(holder);
      else this.held.set(holder, places);
    }
  }

  private heldBy(holder: string): number {
    return this.held.get(holder) ?? 0;
  }

  private tooMany(): AppError {
    const { name, work, placesMax, shares = defaultShares } = this.limits;
    const detail = `Too many ${work} at the same time. Wait until an earlier request is done.`;
    return limitReached({ name, max: share(placesMax, shares.actor), detail }, retryAfterSeconds);
  }
}

/** Returns the holders of a place for work: the actor, and the groups of the actor. */
function holdersOf({ actor, user, carrier }: WorkOwner): [actor: string, ...groups: string[]] {
  return [`actor ${actor}`, `user ${user}`, ...(carrier === null ? [] : [`carrier ${carrier}`])];
}

function share(places: number, part: number): number {
  return Math.max(1, Math.floor(places * part));
}
