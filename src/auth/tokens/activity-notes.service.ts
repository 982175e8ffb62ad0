import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../../platform/clock';
import { CONFIG, type Config } from '../../platform/config/config';
import { LiveLoginsRepository } from './live-logins.repository';

const writeEveryMs = 1_000;
const batchMax = 1_000;

/** Persists the activity of sessions in batches, in the background. No request waits for it. */
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
   * Notes that a session is in use. Persists the activity within a second, or at once if the
   * session expires within three seconds.
   */
  add(session_id: string, user_id: string, endsInMs: number): void {
    this.pending.set(session_id, { user_id, at: monotonicMs() });
    if (endsInMs < 3 * writeEveryMs) void this.write();
    else this.timer ??= setTimeout(() => void this.write(), writeEveryMs);
  }

  /** Persists all notes if one of them is about the session. Call it before reading the session. */
  async writeBefore(session_id: string): Promise<void> {
    if (this.pending.has(session_id)) await this.write();
  }

  async onModuleDestroy(): Promise<void> {
    await this.write();
  }

  /** Persists all notes. Logs and drops a batch that fails: the sessions are noted again later. */
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
          this.logger.warn(`activity of ${batch.length} sessions was not persisted: ${String(error)}`),
        );
    }
  }
}
