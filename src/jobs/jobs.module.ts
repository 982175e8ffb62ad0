import { Module } from '@nestjs/common';
import { JobsRepository } from './jobs.repository';
import { JobsService } from './jobs.service';

/** Provides the durable job queue (graphile-worker). */
@Module({ providers: [JobsService, JobsRepository], exports: [JobsService] })
export class JobsModule {}
