import { Injectable, type OnModuleInit } from '@nestjs/common';
import { JobsService } from '../jobs/jobs.service';
import { retentionRemoved } from '../jobs/retention.metrics';
import { SessionsRepository } from './sessions.repository';

/** Days for which ended sessions are kept. Their events are kept as long as other events. */
const keptDays = 90;
/** Number of sessions that one short transaction deletes. */
const batchMax = 5_000;
/** Half a million sessions take a minute, so the job ends before it is considered abandoned. */
const batchesMax = 100;

/** Deletes old sessions every hour. */
@Injectable()
export class SessionRetention implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly sessions: SessionsRepository,
  ) {}

  onModuleInit(): void {
    this.jobs.every('17 * * * *', 'remove-old-sessions', () => this.removeOld());
  }

  /** Deletes old sessions in batches. The first batch that is not full is the last. */
  async removeOld(): Promise<void> {
    for (let batch = 0; batch < batchesMax; batch++) {
      const removed = await this.sessions.removeOld(keptDays, batchMax);
      retentionRemoved.inc({ kind: 'sessions' }, removed);
      if (removed < batchMax) return;
    }
  }
}
