import { ValidationPipe } from '@nestjs/common';
import { invalid } from '../errors/app-error';
import { errorOf } from './field-rules';

/**
 * Creates the global pipe for bodies.
 * The pipe rejects fields that no DTO declares, and names each wrong field (OWASP ASVS 15.3.3).
 */
export function createValidationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: true,
    stopAtFirstError: true,
    transformOptions: { exposeUnsetFields: false },
    exceptionFactory: (errors) => invalid(...errors.map(({ property, constraints }) => errorOf(property, constraints))),
  });
}
