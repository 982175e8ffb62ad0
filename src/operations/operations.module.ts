import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { OperationRunner } from './operation-runner.service';
import { OperationsController } from './operations.controller';
import { OperationsRepository } from './operations.repository';
import { OperationsService } from './operations.service';

/** Work on many users that outlives the request. */
@Module({
  imports: [EventsModule, JobsModule],
  controllers: [OperationsController],
  providers: [OperationsService, OperationRunner, OperationsRepository],
  exports: [OperationsService, OperationRunner],
})
export class OperationsModule {}
