import { Module } from '@nestjs/common';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { AddressLimitsService } from './address-limits.service';
import { ConflictLimitService } from './conflict-limit.service';
import { RateLimitsRepository } from './rate-limits.repository';
import { RateLimitsService } from './rate-limits.service';

/** Provides rate limits per address in memory, and rate limits that all instances share. */
@Module({
  imports: [JobsModule],
  providers: [AddressLimitsService, ConflictLimitService, RateLimitsService, RateLimitsRepository],
  exports: [AddressLimitsService, ConflictLimitService, RateLimitsService],
})
export class RateLimitsModule {}
