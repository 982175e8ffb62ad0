import type { Listener } from '../common/http/drain';
import { SharedRuns } from '../common/shared-runs';
import type { Notifications } from '../database/notifications.service';
import type { MetricsService } from '../metrics/metrics.service';
import type { ToPrimary, ToWorker } from './messages';

/** Maximum time to wait. A worker that hangs longer distrusts its caches (`Notifications`). */
const timeoutMs = 1_000;

/** The other workers of this instance, reached through the primary process. */
export class Siblings implements Listener {
  private readonly rounds = new SharedRuns(() => this.ask());
  private notifications: Notifications | null = null;
  private metrics: MetricsService | null = null;
  private asked = 0;
  private caughtUp: (() => void) | null = null;
  private settled: (() => void)[] = [];
  private allClosed: (() => void) | null = null;
  private rendered: ((text: string) => void) | null = null;

  /** Joins the other workers. Call it before this worker uses its caches. */
  join(notifications: Notifications, metrics: MetricsService): void {
    this.notifications = notifications;
    this.metrics = metrics;
    metrics.mergeWith(() => this.render());
    notifications.alsoAwait(() => this.rounds.run());
    toPrimary({ kind: 'joined' });
  }

  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.settled.push(resolve);
      toPrimary({ kind: 'settle' });
    });
  }

  closed(): Promise<void> {
    return new Promise((resolve) => {
      this.allClosed = resolve;
      toPrimary({ kind: 'closed' });
    });
  }

  /** Handles a message of the primary process. */
  receive(message: ToWorker): void {
    if (message.kind === 'settled') this.settled.shift()?.();
    if (message.kind === 'all-closed') this.allClosed?.();
    if (message.kind === 'all-caught-up' && message.id === this.asked) this.caughtUp?.();
    if (message.kind === 'catch-up') void this.catchUp(message.id);
    if (message.kind === 'collect') void this.collect(message.id);
    if (message.kind === 'rendered') this.rendered?.(message.text);
  }

  private async collect(id: number): Promise<void> {
    toPrimary({ kind: 'collected', id, metrics: (await this.metrics?.collect()) ?? [] });
  }

  /** Supports one call at a time, because `MetricsService` shares the result of a render. */
  private render(): Promise<string> {
    return new Promise((resolve) => {
      this.rendered = resolve;
      toPrimary({ kind: 'render' });
    });
  }

  private async catchUp(id: number): Promise<void> {
    await this.notifications?.caughtUpHere();
    toPrimary({ kind: 'caught-up', id });
  }

  private async ask(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.caughtUp = resolve;
      timer = setTimeout(resolve, timeoutMs);
      toPrimary({ kind: 'catch-up', id: ++this.asked });
    });
    clearTimeout(timer);
  }
}

/** Sends a message to the primary process. */
export function toPrimary(message: ToPrimary): void {
  process.send?.(message);
}
