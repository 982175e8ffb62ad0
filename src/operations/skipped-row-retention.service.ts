import { Injectable, type OnModuleInit } from '@nestjs/common';
import { JobsService } from '../jobs/jobs.service';
import { skippedDays } from './operation-queues';
import { SkippedRowsRepository } from './skipped-rows.repository';

/** Maximum number of operations per run, so that the job ends before it counts as abandoned. */
const operationsMax = 100;

/** Removes the skipped rows of old operations every hour, because they contain personal values. */
@Injectable()
export class SkippedRowRetention implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly rows: SkippedRowsRepository,
  ) {}

  onModuleInit(): void {
    this.jobs.every('37 * * * *', 'remove-old-skipped-rows', () => this.removeOld());
  }

  /** Removes the rows of one operation after the other. */
  async removeOld(): Promise<void> {
    for (let operation = 0; operation < operationsMax; operation++) {
      if (!(await this.rows.removeOld(skippedDays))) return;
    }
  }
}
