import { applyDecorators, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { patternOf } from '../common/text-forms';
import { idempotencyKeyForm, IdempotencyInterceptor } from './idempotency.interceptor';

/**
 * Makes an operation honour `Idempotency-Key`. Its module imports `IdempotencyModule`, and the
 * transaction of its change ends with `IdempotencyService.keep`.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Any text of your own, such as a UUID. The same request with the same key within 24 hours is not carried out again, but gets the first answer; another query or body = 422, while the first is still running = 409. 429 and 5xx are not kept',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: patternOf(idempotencyKeyForm) },
    }),
  );
}
