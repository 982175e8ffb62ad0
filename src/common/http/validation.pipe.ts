import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { type FieldError, invalid } from '../errors/app-error';
import { pointerTo } from './field-rules';

/**
 * The global pipe for bodies: what no DTO declares is refused, and each wrong field is named (OWASP
 * ASVS 15.3.3).
 */
export function createValidationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: true,
    stopAtFirstError: true,
    transformOptions: { exposeUnsetFields: false },
    exceptionFactory: (errors) => invalid(...errors.map(toFieldError)),
  });
}

function toFieldError(error: ValidationError): FieldError {
  const [constraint, message] = Object.entries(error.constraints ?? {})[0] ?? ['malformed', 'is not valid'];
  const pointer = pointerTo(error.property);
  if (constraint === 'whitelistValidation')
    return { pointer, code: 'field.unknown', detail: 'is not a field of this operation' };
  if (error.value === undefined) return { pointer, code: 'field.required', detail: 'is required' };
  return {
    pointer,
    code: constraint.startsWith('field.') ? constraint.replace(/\d+$/, '') : 'field.malformed',
    detail: message,
  };
}
