import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../platform/config/config';
import { JobsService } from '../platform/jobs/jobs.service';
import { RetentionService } from '../platform/jobs/retention.service';
import { EventsRepository } from './events.repository';

/** Number of events that one short transaction deletes from the first partition. */
const batchMax = 5_000;

/** Adds the partitions of the coming months, and removes events past their age. */
@Injectable()
export class EventPartitions implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly retention: RetentionService,
    private readonly events: EventsRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    // Runs often: after a jump of the clock, no event can be recorded until the month exists.
    this.jobs.every('*/5 * * * *', 'add-event-months', () => this.events.addMonths());
    this.jobs.every('47 * * * *', 'remove-old-events', () => this.removeOld());
  }

  /** Removes the events that are older than `AUDIT_DAYS` days. */
  async removeOld(): Promise<void> {
    const { AUDIT_DAYS } = this.config;
    if (AUDIT_DAYS === 0) return;
    await this.retention.remove('events', () => this.events.removeOld(AUDIT_DAYS, batchMax));
  }
}
