import { Module } from '@nestjs/common';
import { IdempotencyRepository } from './idempotency.repository';
import { IdempotencyService } from './idempotency.service';

/** Requests that may be repeated. */
@Module({ providers: [IdempotencyService, IdempotencyRepository], exports: [IdempotencyService] })
export class IdempotencyModule {}
