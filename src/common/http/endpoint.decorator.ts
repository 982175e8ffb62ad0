import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { ApiExtension, ApiExtraModels, ApiOperation, ApiQuery, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes';
import type { ParameterDoc } from '../query/parameters';

/**
 * Documentation and rules of a route: its texts, response, errors and query parameters.
 * The docstring of the handler is the summary.
 */
export interface EndpointOptions {
  /** description in Markdown */
  description?: string;
  /** the success response */
  answer: {
    status: number;
    /** class of the body; an array lists alternatives */
    type?: Type | Type[];
    description: string;
    headers?: Record<string, string>;
    /** 202 response with `Location`, sent if the work continues in the background */
    accepted?: { type: Type; description: string };
    /** media types of a response that is not JSON; with `type`, alternatives to JSON */
    media?: string[];
  };
  /** error codes besides those of every route */
  errors?: ErrorCode[];
  /** all query parameters; others are rejected */
  query?: ParameterDoc[];
  /** the handler parses the query with the filter grammar, which rejects unknown parameters */
  grammar?: boolean;
  /** a POST or PATCH without a body */
  withoutBody?: boolean;
  /** the body is optional; other POST and PATCH routes reject a missing body */
  optionalBody?: boolean;
}

/** Metadata key of the rules of `RequestRulesGuard`. */
export const endpointRules = 'endpoint:rules';
/** The options that `RequestRulesGuard` enforces. */
export type EndpointRules = Pick<EndpointOptions, 'query' | 'grammar' | 'withoutBody' | 'optionalBody'>;

/** Documents a route, and declares which query parameters and body the route accepts. */
export function Endpoint(options: EndpointOptions): MethodDecorator {
  const { answer, query = [], grammar = false, withoutBody = false, optionalBody = false } = options;
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
  return applyDecorators(
    ApiOperation({ description: options.description ?? '' }),
    ApiResponse({
      status: answer.status,
      description: answer.description,
      headers,
      ...(answer.media === undefined ? typeOf(answer.type) : contentOf(answer.media, answer.type)),
    }),
    ...acceptedResponse(answer.accepted),
    ...(answer.type === undefined ? [] : [ApiExtraModels(...[answer.type].flat())]),
    ApiExtension('x-error-codes', options.errors ?? []),
    SetMetadata(endpointRules, { query, grammar, withoutBody, optionalBody } satisfies EndpointRules),
    ...query.map(({ schema, ...parameter }) => ApiQuery({ ...parameter, required: false, schema: schema as never })),
  );
}

function typeOf(type: Type | Type[] | undefined): object {
  if (Array.isArray(type)) return { schema: schemaOf(type) };
  return type === undefined ? {} : { type };
}

function contentOf(media: string[], type: Type | Type[] | undefined): object {
  const texts = media.map((name) => [name, { schema: { type: 'string' } }] as const);
  const json = type === undefined ? {} : { 'application/json': { schema: schemaOf(type) } };
  return { content: { ...json, ...Object.fromEntries(texts) } };
}

function schemaOf(type: Type | Type[]): object {
  return Array.isArray(type)
    ? { oneOf: type.map((one) => ({ $ref: getSchemaPath(one) })) }
    : { $ref: getSchemaPath(type) };
}

function acceptedResponse(accepted: EndpointOptions['answer']['accepted']): MethodDecorator[] {
  if (accepted === undefined) return [];
  const headers = { Location: { description: 'Path of the operation', schema: { type: 'string' as const } } };
  return [ApiResponse({ status: 202, ...accepted, headers })];
}
