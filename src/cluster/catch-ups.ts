import type { Worker } from 'node:cluster';
import type { ToWorker } from './messages';

/** A question of one worker that the others have not all answered. */
interface Round {
  asker: Worker;
  /** id in the worker that asked */
  id: number;
  waitsFor: Set<Worker>;
}

/**
 * Passes the question of a worker, whether a change has arrived, to all other workers, and the
 * common response back (ADR 0014). Runs in the primary process.
 * A worker that ends no longer uses its caches, so no round waits for it.
 */
export class CatchUps {
  /** the workers that are asked */
  readonly members = new Set<Worker>();
  private readonly rounds = new Map<number, Round>();
  private last = 0;

  /** Asks a worker from now on. */
  join(worker: Worker): void {
    this.members.add(worker);
  }

  /** Asks a worker no longer, and ends its part in all rounds. */
  leave(worker: Worker): void {
    this.members.delete(worker);
    for (const [id, { asker }] of this.rounds) {
      if (asker === worker) this.rounds.delete(id);
      else this.answer(worker, id);
    }
  }

  /** Asks all other workers. */
  ask(asker: Worker, id: number): void {
    const waitsFor = new Set(this.members);
    waitsFor.delete(asker);
    if (waitsFor.size === 0) return send(asker, { kind: 'all-caught-up', id });
    this.rounds.set(++this.last, { asker, id, waitsFor });
    for (const worker of waitsFor) send(worker, { kind: 'catch-up', id: this.last });
  }

  /** Takes the response of a worker. */
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
