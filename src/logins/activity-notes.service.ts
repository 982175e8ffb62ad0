import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../common/clock';
import { CONFIG, type Config } from '../config/config';
import { LiveLoginsRepository } from './live-logins.repository';

const writeEveryMs = 1_000;
const batchMax = 1_000;

/**
 * When which session was used, written behind the requests, in batches: no request waits for it,
 * and none is the slower for it.
 */
@Injectable()
export class ActivityNotes implements OnModuleDestroy {
  private readonly logger = new Logger(ActivityNotes.name);
  private readonly idle_seconds: Record<'system' | 'carrier', number>;
  private pending = new Map<string, { user_id: string; at: number }>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly logins: LiveLoginsRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.idle_seconds = {
      system: config.SYSTEM_USER_SESSION_IDLE_SECONDS,
      carrier: config.CARRIER_USER_SESSION_IDLE_SECONDS,
    };
  }

  /**
   * Notes that a session is used at this moment; it is in the database a second later, or at once
   * where it would have run out by then.
   */
  add(session_id: string, user_id: string, endsInMs: number): void {
    this.pending.set(session_id, { user_id, at: monotonicMs() });
    if (endsInMs < 3 * writeEveryMs) void this.write();
    else this.timer ??= setTimeout(() => void this.write(), writeEveryMs);
  }

  /**
   * Writes what there is, if the session is among it: before it is asked whether it has run out.
   */
  async writeBefore(session_id: string): Promise<void> {
    if (this.pending.has(session_id)) await this.write();
  }

  /** Writes what there is: when the service stops, nothing is lost. */
  async onModuleDestroy(): Promise<void> {
    await this.write();
  }

  /** What cannot be written is dropped: the next use of the session is noted again. */
  private async write(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const used = [...this.pending];
    this.pending = new Map();
    for (let from = 0; from < used.length; from += batchMax) {
      const batch = used.slice(from, from + batchMax);
      const now = monotonicMs();
      const activities = batch.map(([session_id, { user_id, at }]) => ({ session_id, user_id, ago_ms: now - at }));
      await this.logins
        .note(activities, this.idle_seconds)
        .catch((error: unknown) =>
          this.logger.warn(`activity of ${batch.length} sessions was not noted: ${String(error)}`),
        );
    }
  }
}
