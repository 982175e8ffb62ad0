import { Injectable, type OnModuleInit } from '@nestjs/common';
import { JobsService } from '../jobs/jobs.service';
import { SessionsRepository } from './sessions.repository';

/** How long one can see that there was a session. Its events stay for as long as all events. */
const keptDays = 90;
/** Removed in one short transaction. */
const removedAtOnce = 5_000;
/** Half a million an hour, a minute's work: the job ends before it is taken for abandoned. */
const batchesMax = 100;

/** Removes sessions that were over long ago, every hour. */
@Injectable()
export class SessionRetention implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly sessions: SessionsRepository,
  ) {}

  onModuleInit(): void {
    this.jobs.every('17 * * * *', 'remove-old-sessions', () => this.removeOld());
  }

  /** Removes what is too old; a batch that is not full was the last. */
  async removeOld(): Promise<void> {
    for (let batch = 0; batch < batchesMax; batch++) {
      if ((await this.sessions.removeOld(keptDays, removedAtOnce)) < removedAtOnce) return;
    }
  }
}
