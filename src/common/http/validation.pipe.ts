import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { type FieldError, invalid } from '../errors/app-error';

const codes: Record<string, string> = {
  whitelistValidation: 'field.unknown',
  wrongType: 'field.wrong_type',
  isBoolean: 'field.wrong_type',
  isObject: 'field.wrong_type',
  tooLong: 'field.too_long',
  tooShort: 'field.too_short',
  tooMany: 'field.too_many',
  tooDeep: 'field.too_deep',
  notAllowed: 'field.not_allowed',
  malformed: 'field.malformed',
};

/** The global pipe for bodies: what no DTO declares is refused, and each wrong field is named (OWASP ASVS 15.3.3). */
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
  const pointer = `/${error.property.replace(/~/g, '~0').replace(/\//g, '~1')}`;
  if (constraint === 'whitelistValidation') return { pointer, code: 'field.unknown', detail: 'is not a field of this operation' };
  if (error.value === undefined) return { pointer, code: 'field.required', detail: 'is required' };
  return { pointer, code: codes[constraint.replace(/\d+$/, '')] ?? 'field.malformed', detail: message };
}
