import { applyDecorators, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { patternOf } from '../../platform/text-forms';
import { idempotencyKeyForm, IdempotencyInterceptor } from './idempotency.interceptor';

/**
 * Adds `Idempotency-Key` to an operation. Its module must import `IdempotencyModule`, and the
 * transaction of its change must end with `IdempotencyService.keep`.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not ' +
        'carried out again but gets the first response. A different query or body is rejected with 422. A repeated ' +
        'request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and ' +
        'dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in ' +
        '24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.',
      example: '5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: patternOf(idempotencyKeyForm) },
    }),
  );
}
