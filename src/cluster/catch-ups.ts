import type { Worker } from 'node:cluster';
import type { ToWorker } from './messages';

/** A request of one worker to catch up, to which not all other workers have responded yet. */
interface Round {
  asker: Worker;
  /** id of the request, unique in the worker that asked */
  id: number;
  waitsFor: Set<Worker>;
}

/**
 * Forwards a worker's request to catch up to all other workers, and responds once all of them have
 * caught up (ADR 0014). Runs in the primary process.
 * A worker that ends no longer uses its caches, so no round waits for it.
 */
export class CatchUps {
  /** workers that take part in each round */
  readonly members = new Set<Worker>();
  private readonly rounds = new Map<number, Round>();
  private last = 0;

  /** Adds a worker to all later rounds. */
  join(worker: Worker): void {
    this.members.add(worker);
  }

  /** Removes a worker from all rounds, including those that have begun. */
  leave(worker: Worker): void {
    this.members.delete(worker);
    for (const [id, { asker }] of this.rounds) {
      if (asker === worker) this.rounds.delete(id);
      else this.answer(worker, id);
    }
  }

  /** Starts a round: asks all other workers to catch up. */
  ask(asker: Worker, id: number): void {
    const waitsFor = new Set(this.members);
    waitsFor.delete(asker);
    if (waitsFor.size === 0) return send(asker, { kind: 'all-caught-up', id });
    this.rounds.set(++this.last, { asker, id, waitsFor });
    for (const worker of waitsFor) send(worker, { kind: 'catch-up', id: this.last });
  }

  /** Records that a worker has caught up. The last worker of a round ends the round. */
  answer(worker: Worker, round: number): void {
    const { asker, id, waitsFor } = this.rounds.get(round) ?? {};
    if (asker === undefined || id === undefined || waitsFor === undefined) return;
    waitsFor.delete(worker);
    if (waitsFor.size > 0) return;
    this.rounds.delete(round);
    send(asker, { kind: 'all-caught-up', id });
  }
}

/** Sends a message to a worker. Does nothing if the worker has ended. */
export function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
