import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { AppError, type FieldError, invalid, limitFault } from '../errors/app-error';
import { readBoolean } from '../lists/boolean-parameter';
import type { RawQuery } from '../lists/filter';
import type { ParameterDoc } from '../lists/parameters';
import { parseBody } from '../bodies/body-parsers';
import { assertDecoded } from '../bodies/query-string';
import { hasBody } from '../bodies/receiving';
import { endpointRules, type EndpointRules } from '../endpoint.decorator';
import { takesUpload } from '../bodies/upload';

/**
 * Rejects unknown, repeated and empty query parameters, and malformed and unexpected bodies.
 * Runs after the authentication guard, so that callers without access learn nothing.
 */
@Injectable()
export class RequestRulesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const rules = this.reflector.get<EndpointRules | undefined>(endpointRules, context.getHandler());
    rejectEncoding(request);
    parseBody(request);
    if (request.bodyFault !== undefined) throw request.bodyFault;
    assertDecoded(request.query);
    if (rules?.parsed !== true) rejectQuery(request.query as RawQuery, rules?.query ?? []);
    const takesBody = rules?.withoutBody !== true && (request.method === 'POST' || request.method === 'PATCH');
    if (takesBody && rules?.optionalBody !== true && isMissing(request))
      throw invalid({ pointer: '', code: 'field.required', detail: 'the operation requires a body' });
    if (!takesBody && hasFields(request.body))
      throw invalid({ pointer: '', code: 'field.unknown', detail: 'the operation takes no body' });
    return true;
  }
}

/** Rejects encoded bodies. The service decompresses nothing, so no zip bomb can expand (H16). */
function rejectEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity' || !hasBody(headers)) return;
  throw new AppError('request.unsupported_media_type', {
    detail: 'Send the body without `Content-Encoding`.',
    headers: { 'accept-encoding': 'identity' },
  });
}

/** An empty JSON object or form counts as a body. Handlers of uploads reject a missing file. */
function isMissing(request: FastifyRequest): boolean {
  const { routeOptions } = request;
  if (request.body !== undefined || takesUpload(routeOptions)) return false;
  const type = request.headers['content-type'] ?? '';
  return routeOptions.config.form === undefined || !type.startsWith('application/x-www-form-urlencoded');
}

function hasFields(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.keys(body).length > 0;
}

function rejectQuery(query: RawQuery, known: ParameterDoc[]): void {
  const errors: FieldError[] = [];
  for (const [parameter, value] of Object.entries(query)) {
    const doc = known.find(({ name }) => name === parameter);
    if (doc === undefined)
      errors.push({ parameter, code: 'parameter.unknown', detail: 'is not a parameter of this operation' });
    else if (typeof value !== 'string' || value === '')
      errors.push({ parameter, code: 'parameter.malformed', detail: 'must be given once, with a value' });
    else if (doc.schema['type'] === 'boolean') readBoolean(query, parameter, errors);
    else if (Array.isArray(doc.schema['enum']) && !doc.schema['enum'].includes(value))
      errors.push({ parameter, ...limitFault('parameter.malformed', { allowed: doc.schema['enum'] }) });
  }
  if (errors.length > 0) throw invalid(...errors);
}
