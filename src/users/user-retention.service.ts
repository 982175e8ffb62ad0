import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config';
import { JobsService } from '../jobs/jobs.service';
import { RetentionService } from '../jobs/retention.service';
import { UserPurgeService } from './user-purge.service';

/** Number of users that one short transaction purges. */
const batchMax = 100;

/** Purges users `DELETED_USER_DAYS` days after their deletion, in an hourly job. */
@Injectable()
export class UserRetention implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly retention: RetentionService,
    private readonly purges: UserPurgeService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('27 * * * *', 'purge-deleted-users', () => this.removeOld());
  }

  /**
   * Purges deleted users. Until then, they are listed and can be restored.
   * If a batch fails, purges one user at a time: erasing the events of many active users may take
   * longer than a statement may, and each attempt would fail again.
   */
  async removeOld(): Promise<void> {
    const { DELETED_USER_DAYS } = this.config;
    if (DELETED_USER_DAYS === 0) return;
    let max = batchMax;
    await this.retention.remove('users', async () => {
      try {
        return await this.purges.purgeOld(DELETED_USER_DAYS, max);
      } catch (error) {
        if (max === 1) throw error;
        max = 1;
        return 0;
      }
    });
  }
}
