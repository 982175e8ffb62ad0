import { Module } from '@nestjs/common';
import { JobsModule } from '../platform/jobs/jobs.module';
import { RateLimitsModule } from '../access/rate-limits/rate-limits.module';
import { AuditController } from './audit.controller';
import { ChangeCursors } from './changes/change-cursors';
import { ChangeWaits } from './changes/change-waits';
import { ChangesController } from './changes/changes.controller';
import { ChangesRepository } from './changes/changes.repository';
import { ChangesService } from './changes/changes.service';
import { EventPartitions } from './event-partitions.service';
import { EventsRepository } from './events.repository';
import { EventsService } from './events.service';

/** The append-only audit log and the change feed. */
@Module({
  imports: [JobsModule, RateLimitsModule],
  controllers: [AuditController, ChangesController],
  providers: [
    EventsService,
    EventPartitions,
    EventsRepository,
    ChangesService,
    ChangesRepository,
    ChangeCursors,
    ChangeWaits,
  ],
  exports: [EventsService, ChangesService],
})
export class EventsModule {}
