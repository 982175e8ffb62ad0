import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { ApiExtension, ApiExtraModels, ApiOperation, ApiQuery, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { ErrorCode } from '../errors/error-codes';
import type { ParameterDoc } from '../query/parameters';

/**
 * What a route promises: its text, its answer, its errors, its query parameters. The summary is the
 * docstring of the handler.
 */
export interface EndpointOptions {
  /** more, in Markdown */
  description?: string;
  /** the successful answer */
  answer: {
    status: number;
    /** several: one of them */
    type?: Type | Type[];
    description: string;
    headers?: Record<string, string>;
    /** it can also be 202 with `Location`, and goes on after the answer */
    accepted?: { type: Type; description: string };
    /** media types of an answer that is not JSON */
    media?: string[];
  };
  /** codes it can answer besides those that every route can */
  errors?: ErrorCode[];
  /** every query parameter it takes; all others are refused */
  query?: ParameterDoc[];
  /**
   * the handler reads the query by the filter grammar, which refuses unknown parameters by itself
   */
  grammar?: boolean;
  /** takes no body although its method is one that usually does */
  noBody?: boolean;
  /** works without a body too; on all other routes of POST and PATCH a missing body is rejected */
  optionalBody?: boolean;
}

/** Metadata key of the rules that the request-rules guard applies. */
export const endpointRules = 'endpoint:rules';
/** What the guard needs of `EndpointOptions`. */
export type EndpointRules = Pick<EndpointOptions, 'query' | 'grammar' | 'noBody' | 'optionalBody'>;

/**
 * Declares a route's part of the contract; the document and the strictness about query and body are
 * made from it.
 */
export function Endpoint(options: EndpointOptions): MethodDecorator {
  const { answer, query = [], grammar = false, noBody = false, optionalBody = false } = options;
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
      ...typeOf(answer.type),
      ...contentOf(answer.media),
    }),
    ...acceptedResponse(answer.accepted),
    ...(Array.isArray(answer.type) ? [ApiExtraModels(...answer.type)] : []),
    ApiExtension('x-error-codes', options.errors ?? []),
    SetMetadata(endpointRules, { query, grammar, noBody, optionalBody } satisfies EndpointRules),
    ...query.map(({ schema, ...parameter }) => ApiQuery({ ...parameter, required: false, schema: schema as never })),
  );
}

function typeOf(type: Type | Type[] | undefined): object {
  if (Array.isArray(type)) return { schema: { oneOf: type.map((one) => ({ $ref: getSchemaPath(one) })) } };
  return type === undefined ? {} : { type };
}

function contentOf(media: string[] | undefined): object {
  return media === undefined
    ? {}
    : { content: Object.fromEntries(media.map((type) => [type, { schema: { type: 'string' } }])) };
}

function acceptedResponse(accepted: EndpointOptions['answer']['accepted']): MethodDecorator[] {
  if (accepted === undefined) return [];
  const headers = { Location: { description: 'Path of the operation', schema: { type: 'string' as const } } };
  return [ApiResponse({ status: 202, ...accepted, headers })];
}
