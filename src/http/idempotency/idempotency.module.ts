import { Module } from '@nestjs/common';
import { RateLimitsModule } from '../../access/rate-limits/rate-limits.module';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotencyService } from './idempotency.service';

/** Provides idempotency keys. */
@Module({
  imports: [RateLimitsModule],
  providers: [IdempotencyService, IdempotencyRepository],
  exports: [IdempotencyService],
})
export class IdempotencyModule {}
