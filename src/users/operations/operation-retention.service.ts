import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import { RetentionService } from '../../platform/jobs/retention.service';
import { skippedDays } from './operation-queues';
import { OperationsRepository } from './operations.repository';
import { SkippedRowsRepository } from './skipped-rows.repository';

/** Number of operations that one short transaction removes. */
const batchMax = 100;

/**
 * Removes finished operations after `OPERATION_DAYS`. Removes the skipped rows of operations
 * earlier, because they contain personal values.
 */
@Injectable()
export class OperationRetention implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly retention: RetentionService,
    private readonly operations: OperationsRepository,
    private readonly rows: SkippedRowsRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('37 * * * *', 'remove-old-skipped-rows', () => this.removeOldRows());
    this.jobs.every('57 * * * *', 'remove-old-operations', () => this.removeOld());
  }

  /** Removes the skipped rows of one operation after the other. */
  async removeOldRows(): Promise<void> {
    await this.retention.remove('skipped_rows', () => this.rows.removeOld(skippedDays));
  }

  async removeOld(): Promise<void> {
    const { OPERATION_DAYS } = this.config;
    if (OPERATION_DAYS === 0) return;
    await this.retention.remove('operations', () => this.operations.removeOld(OPERATION_DAYS, batchMax));
  }
}
