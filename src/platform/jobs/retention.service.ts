import { Injectable, Logger } from '@nestjs/common';
import { monotonicMs } from '../clock';
import { retentionRemoved } from './retention.metrics';

/** Time after which a run ends, below the five minutes after which a job counts as hung. */
const runMaxMs = 60_000;

/** Kinds of rows that are removed after some time. */
export type RetentionKind = 'users' | 'events' | 'operations' | 'skipped_rows' | 'webhook_deliveries';

/** Removes old rows in batches, each in a short transaction. */
@Injectable()
export class RetentionService {
  private readonly logger = new Logger(RetentionService.name);

  /**
   * Removes batches until none is left or a minute has passed; the next run continues. A run may be
   * killed at any time. Logs the number of removed rows.
   * @param removeBatch returns the number of rows that it removed, or null if none was left
   */
  async remove(kind: RetentionKind, removeBatch: () => Promise<number | null>): Promise<void> {
    const beganAt = monotonicMs();
    let removed = 0;
    try {
      while (monotonicMs() - beganAt < runMaxMs) {
        const count = await removeBatch();
        if (count === null) break;
        removed += count;
        retentionRemoved.inc({ kind }, count);
      }
    } finally {
      if (removed > 0) this.logger.log({ msg: `retention: removed ${removed} ${kind}`, kind, removed });
    }
  }
}
