import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module';
import { RateLimitsRepository } from './rate-limits.repository';
import { RateLimitsService } from './rate-limits.service';

/** Provides rate limits that all instances share. */
@Module({ imports: [JobsModule], providers: [RateLimitsService, RateLimitsRepository], exports: [RateLimitsService] })
export class RateLimitsModule {}
