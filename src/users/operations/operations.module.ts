import { Module } from '@nestjs/common';
import { EventsModule } from '../../audit/events.module';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { OperationBatchesRepository } from './operation-batches.repository';
import { OperationRetention } from './operation-retention.service';
import { OperationRunner } from './operation-runner.service';
import { OperationsController } from './operations.controller';
import { OperationsRepository } from './operations.repository';
import { OperationsService } from './operations.service';
import { SkippedRowsRepository } from './skipped-rows.repository';

/** Provides durable background work on many users. */
@Module({
  imports: [EventsModule, JobsModule],
  controllers: [OperationsController],
  providers: [
    OperationsService,
    OperationRunner,
    OperationRetention,
    OperationsRepository,
    OperationBatchesRepository,
    SkippedRowsRepository,
  ],
  exports: [OperationsService, OperationRunner],
})
export class OperationsModule {}
