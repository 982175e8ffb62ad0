import { Module } from '@nestjs/common';
import { JobsModule } from '../platform/jobs/jobs.module';
import { RateLimitsModule } from '../access/rate-limits/rate-limits.module';
import { AuditController } from './audit.controller';
import { EventPartitions } from './event-partitions.service';
import { EventsRepository } from './events.repository';
import { EventsService } from './events.service';

/** The append-only audit log. */
@Module({
  imports: [JobsModule, RateLimitsModule],
  controllers: [AuditController],
  providers: [EventsService, EventPartitions, EventsRepository],
  exports: [EventsService],
})
export class EventsModule {}
