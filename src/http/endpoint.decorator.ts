import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import {
  ApiExtension,
  ApiExtraModels,
  ApiOperation,
  ApiQuery,
  ApiResponse,
  type ApiResponseOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import type { ErrorCode } from './errors/error-codes';
import type { ParameterDoc } from './lists/parameters';

/** A response body of one of several classes. The value of a common field identifies the class. */
export interface Union {
  /** name of the schema in the OpenAPI document */
  name: string;
  description: string;
  /** name of the field that identifies the class */
  discriminator: string;
  /** the class for each value of the field */
  types: Record<string, Type>;
}

/**
 * Documentation and rules of a route: its texts, response, errors and query parameters.
 * The docstring of the handler is the summary, its name is the `operationId`.
 */
export interface EndpointOptions {
  /** description in Markdown */
  description?: string;
  /** the success response */
  answer: {
    status: number;
    /** class of the body */
    type?: Type | Union;
    description: string;
    headers?: Record<string, string>;
    /** 202 response with `Location`, sent if the work continues in the background */
    accepted?: { type: Type | Union; description: string };
    /** media types of a response that is not JSON; with `type`, alternatives to JSON */
    media?: string[];
  };
  /** error codes besides those of every route */
  errors?: ErrorCode[];
  /** all query parameters, unless a parameter decorator declares them; others are rejected */
  query?: ParameterDoc[];
  /** a POST or PATCH without a body */
  withoutBody?: boolean;
  /** the body is optional; other POST and PATCH routes reject a missing body */
  optionalBody?: boolean;
}

/** Metadata key of the rules of `RequestRulesGuard`. */
export const endpointRules = 'endpoint:rules';
/** The options that `RequestRulesGuard` enforces. */
export type EndpointRules = Pick<EndpointOptions, 'query' | 'withoutBody' | 'optionalBody'> & {
  /** a parameter decorator parses the query, so `RequestRulesGuard` does not check it */
  parsed: boolean;
};

/** Metadata key of the query that a parameter decorator parses. */
export const declaredQuery = 'endpoint:query';
/** The parameters of a parsed query, and the error codes of its parser. */
export type DeclaredQuery = Required<Pick<EndpointOptions, 'query' | 'errors'>>;

/**
 * Documents a route, and declares which query parameters and body the route accepts. Includes the
 * query that a parameter decorator of the handler declares: parameter decorators run first.
 */
export function Endpoint(options: EndpointOptions): MethodDecorator {
  return (target, name, descriptor) => {
    const declared = Reflect.getMetadata(declaredQuery, descriptor.value as object) as DeclaredQuery | undefined;
    const errors = [...(options.errors ?? []), ...(declared?.errors ?? [])];
    describe({ ...options, query: declared?.query ?? options.query ?? [], errors }, declared !== undefined)(
      target,
      name,
      descriptor,
    );
  };
}

function describe(options: EndpointOptions & DeclaredQuery, parsed: boolean): MethodDecorator {
  const { answer, query, errors, withoutBody = false, optionalBody = false } = options;
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
  return applyDecorators(
    ApiOperation({ description: options.description ?? '' }),
    ...response(answer.type, {
      status: answer.status,
      description: answer.description,
      headers,
      ...(answer.media === undefined ? {} : contentOf(answer.media, answer.type)),
    }),
    ...acceptedResponse(answer.accepted),
    ApiExtension('x-error-codes', errors),
    SetMetadata(endpointRules, { query, parsed, withoutBody, optionalBody } satisfies EndpointRules),
    ...query.map(({ schema, ...parameter }) => ApiQuery({ ...parameter, required: false, schema: schema as never })),
  );
}

function response(type: Type | Union | undefined, options: ApiResponseOptions): MethodDecorator[] {
  if (type === undefined) return [ApiResponse(options)];
  if (typeof type === 'function')
    return [ApiExtraModels(type), ApiResponse('content' in options ? options : { ...options, type })];
  const classes = [...new Set(Object.values(type.types))];
  const schema = {
    // `createDocument` moves the schema to the components, under its title.
    title: type.name,
    description: type.description,
    oneOf: classes.map((one) => ({ $ref: getSchemaPath(one) })),
    discriminator: {
      propertyName: type.discriminator,
      mapping: Object.fromEntries(Object.entries(type.types).map(([value, one]) => [value, getSchemaPath(one)])),
    },
  };
  return [ApiExtraModels(...classes), ApiResponse({ ...options, schema })];
}

function contentOf(media: string[], type: Type | Union | undefined): object {
  const texts = media.map((name) => [name, { schema: { type: 'string' } }] as const);
  const json = typeof type === 'function' ? { 'application/json': { schema: { $ref: getSchemaPath(type) } } } : {};
  return { content: { ...json, ...Object.fromEntries(texts) } };
}

function acceptedResponse(accepted: EndpointOptions['answer']['accepted']): MethodDecorator[] {
  if (accepted === undefined) return [];
  const headers = { Location: { description: 'Path of the operation', schema: { type: 'string' as const } } };
  return response(accepted.type, { status: 202, description: accepted.description, headers });
}
