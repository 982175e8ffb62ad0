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
   * Erasing the events of active users may take longer than a statement may, and each attempt would
   * fail again. After a failed batch, purges one user at a time. If that fails too, first erases
   * the events of the user month by month.
   */
  async removeOld(): Promise<void> {
    const { DELETED_USER_DAYS } = this.config;
    if (DELETED_USER_DAYS === 0) return;
    let max = batchMax;
    let isDivided = false;
    await this.retention.remove('users', async () => {
      try {
        const purged = await this.purges.purgeOld(DELETED_USER_DAYS, max);
        isDivided = false;
        return purged;
      } catch (error) {
        if (isDivided) throw error;
        if (max === 1) {
          isDivided = true;
          await this.purges.eraseOldest(DELETED_USER_DAYS);
        }
        max = 1;
        return 0;
      }
    });
  }
}
