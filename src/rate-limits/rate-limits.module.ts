import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module';
import { AddressLimitsService } from './address-limits.service';
import { ConflictLimitService } from './conflict-limit.service';
import { RateLimitsRepository } from './rate-limits.repository';
import { RateLimitsService } from './rate-limits.service';
import { SelfChangeLimitService } from './self-change-limit.service';

/** Provides rate limits per address in memory, and rate limits that all instances share. */
@Module({
  imports: [JobsModule],
  providers: [
    AddressLimitsService,
    ConflictLimitService,
    SelfChangeLimitService,
    RateLimitsService,
    RateLimitsRepository,
  ],
  exports: [AddressLimitsService, ConflictLimitService, SelfChangeLimitService, RateLimitsService],
})
export class RateLimitsModule {}
