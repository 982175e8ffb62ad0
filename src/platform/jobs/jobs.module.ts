import { Module } from '@nestjs/common';
import { JobsRepository } from './jobs.repository';
import { JobsService } from './jobs.service';
import { RetentionService } from './retention.service';

/** Provides the durable job queue (graphile-worker), and the removal of old rows. */
@Module({ providers: [JobsService, JobsRepository, RetentionService], exports: [JobsService, RetentionService] })
export class JobsModule {}
